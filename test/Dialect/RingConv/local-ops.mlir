// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The program of one rank survives text, generic text and bytecode, on tensors
// and on memrefs.
// RUN: ringconv-opt %s | FileCheck %s
// RUN: ringconv-opt %s | ringconv-opt | FileCheck %s
// RUN: ringconv-opt %s -mlir-print-op-generic | ringconv-opt | FileCheck %s
// RUN: ringconv-opt %s -emit-bytecode | ringconv-opt | FileCheck %s

ringconv.mesh @grid = <["dp" = 2, "sp" = 4]>

// CHECK-LABEL: func.func @numbers
// CHECK: %[[PART:.*]] = ringconv.coord @grid ["dp", "sp"]
// CHECK: ringconv.coord @grid []
// CHECK: ringconv.lookup %[[PART]] <3>
// CHECK: ringconv.lookup %[[PART]] <0: 56 + -4, 2: 5, 7: -3 + 1>
func.func @numbers() -> (index, index) {
  %part = ringconv.coord @grid ["dp", "sp"]
  %none = ringconv.coord @grid []
  %a = ringconv.lookup %part <3>
  %b = ringconv.lookup %part <0: 56 + -4, 2: 5, 7: -3 + 1>
  return %a, %b : index, index
}

// A constant table, or a constant part, is a constant.
// CHECK-LABEL: func.func @exchange
// CHECK: ringconv.halo_exchange %{{.*}} @grid [#ringconv.halo_dim<1, ["dp", "sp"], low = 1, high = 2, edges = [1, 2, 4],
// CHECK-SAME: [<own copy from <0: 0 + 1> at <0> extended <1> size <4> to <0: 0 + 1> source <0> count <4>>,
// CHECK-SAME: <low reverse from <0: -1 + 1> at <0> extended <0> size <1> to <0: 1 + 1, 7: -1> source <3> count <1>>,
// CHECK-SAME: <high copy step 2 from <0: 1 + 1, 7: -1> at <0> extended <5> size <1> to <0: -1 + 1> source <0> count <1>>],
// CHECK-SAME: fills = [<low from own at <0> extended <0> source <3> source_extended <4> size <0: 1, 1: 0>>,
// CHECK-SAME: <high from high step -1 source_step 0 ordered at <0> extended <0> source <3> source_extended <4> size <1>>]>,
// CHECK-SAME: #ringconv.halo_dim<2, [], low = 0, high = 0, []>]
// CHECK-SAME: {report = 3 : i64} : tensor<2x4x?xf32> -> tensor<2x1x?xf32>, tensor<2x2x?xf32>
func.func @exchange(%x: tensor<2x4x?xf32>) -> tensor<2x1x?xf32> {
  %s:2 = ringconv.halo_exchange %x @grid
    [#ringconv.halo_dim<1, ["dp", "sp"], low = 1, high = 2, edges = [1, 2, 4], [
       <own copy from <0: 0 + 1> at <0> extended <1> size <4> to <0: 0 + 1> source <0> count <4>>,
       <low reverse from <0: -1 + 1> at <0> extended <0> size <1> to <0: 1 + 1, 7: -1> source <3> count <1>>,
       <high copy step 2 from <0: 1 + 1, 7: -1> at <0> extended <5> size <1> to <0: -1 + 1> source <0> count <1>>],
      fills = [<low from own at <0> extended <0> source <3> source_extended <4> size <0: 1, 1: 0>>,
               <high from high step -1 source_step 0 ordered at <0> extended <0> source <3> source_extended <4> size <1>>]>,
     #ringconv.halo_dim<2, [], low = 0, high = 0, []>] {report = 3 : i64}
    : tensor<2x4x?xf32> -> tensor<2x1x?xf32>, tensor<2x2x?xf32>
  return %s#0 : tensor<2x1x?xf32>
}

// CHECK-LABEL: func.func @flight
// CHECK: %[[SLABS:.*]]:2, %[[TOKEN:.*]] = ringconv.start @grid
// CHECK-SAME: ins(%{{.*}}, %{{.*}} : tensor<4x6xf32>, tensor<8xf32>) outs(%{{.*}}, %{{.*}} : tensor<1x6xf32>, tensor<0x6xf32>) {report = array<i64: 1>} -> tensor<1x6xf32>, tensor<0x6xf32>{{$}}
// CHECK: ringconv.wait %[[TOKEN]] ins(%{{.*}}, %{{.*}} : tensor<4x6xf32>, tensor<8xf32>) outs(%[[SLABS]]#0, %[[SLABS]]#1 : tensor<1x6xf32>, tensor<0x6xf32>) -> tensor<1x6xf32>, tensor<0x6xf32>
func.func @flight(%x: tensor<4x6xf32>, %v: tensor<8xf32>) -> tensor<1x6xf32> {
  %low = tensor.empty() : tensor<1x6xf32>
  %high = tensor.empty() : tensor<0x6xf32>
  %slabs:2, %token = ringconv.start @grid [[#ringconv.halo_dim<0, ["sp"], low = 1, high = 0, []>], []]
    ins(%x, %v : tensor<4x6xf32>, tensor<8xf32>) outs(%low, %high : tensor<1x6xf32>, tensor<0x6xf32>)
    {report = array<i64: 1>} -> tensor<1x6xf32>, tensor<0x6xf32>
  %there:2 = ringconv.wait %token ins(%x, %v : tensor<4x6xf32>, tensor<8xf32>)
    outs(%slabs#0, %slabs#1 : tensor<1x6xf32>, tensor<0x6xf32>) -> tensor<1x6xf32>, tensor<0x6xf32>
  return %there#0 : tensor<1x6xf32>
}

// CHECK-LABEL: func.func @local_conv
// CHECK: ringconv.local_conv ins(%{{.*}}, %{{.*}} bias %{{.*}} : tensor<1x4x?xf16>, tensor<6x2x3xf16>, tensor<6xf32>)
// CHECK-SAME: halos(%{{.*}}, %{{.*}} : tensor<1x4x1xf16>, tensor<1x4x2xf16>) outs(%{{.*}} : tensor<1x6x?xf32>)
// CHECK-SAME: dims [b, f, 0] x [o, i, 0] -> [b, f, 0] at [-1] valid [%{{.*}}] to [%{{.*}}]
// CHECK-SAME: feature_group_outputs = 3 : i64, halo_dims = array<i64: 2>, lhs_dilate = array<i64: 2>
// CHECK-SAME: report = 0 : i64, reverse = array<i1: true>, rhs_dilate = array<i64: 1>, stride = array<i64: 3>
// CHECK-SAME: -> tensor<1x6x?xf32>
func.func @local_conv(%x: tensor<1x4x?xf16>, %w: tensor<6x2x3xf16>, %b: tensor<6xf32>, %l: tensor<1x4x1xf16>,
                      %h: tensor<1x4x2xf16>, %y: tensor<1x6x?xf32>, %i: index, %j: index) -> tensor<1x6x?xf32> {
  %r = ringconv.local_conv ins(%x, %w bias %b : tensor<1x4x?xf16>, tensor<6x2x3xf16>, tensor<6xf32>)
    halos(%l, %h : tensor<1x4x1xf16>, tensor<1x4x2xf16>) outs(%y : tensor<1x6x?xf32>)
    dims [b, f, 0] x [o, i, 0] -> [b, f, 0] at [-1] valid [%i] to [%j]
    {feature_group_outputs = 3 : i64, halo_dims = array<i64: 2>,
     lhs_dilate = array<i64: 2>, report = 0 : i64, reverse = array<i1: true>, rhs_dilate = array<i64: 1>,
     stride = array<i64: 3>} -> tensor<1x6x?xf32>
  return %r : tensor<1x6x?xf32>
}

// CHECK-LABEL: func.func @local_pools
// CHECK: ringconv.local_pool max ins(%{{.*}} : memref<2x8xi8>) outs(%{{.*}} : memref<2x4xi8>) dims [b, 0] -> [b, 0] at [%{{.*}}] valid [0] to [8]
// CHECK: ringconv.local_pool avg count_padding ins(%{{.*}} : memref<2x8xf64>) halos(%{{.*}}, %{{.*}} : memref<2x1xf64, strided<[4, 1], offset: ?>>, memref<2x0xf64>)
func.func @local_pools(%x: memref<2x8xi8>, %y: memref<2x4xi8>, %i: index, %a: memref<2x8xf64>,
                       %l: memref<2x1xf64, strided<[4, 1], offset: ?>>, %h: memref<2x0xf64>, %b: memref<2x8xf64>) {
  ringconv.local_pool max ins(%x : memref<2x8xi8>) outs(%y : memref<2x4xi8>) dims [b, 0] -> [b, 0]
    at [%i] valid [0] to [8] {halo_dims = array<i64>, lhs_dilate = array<i64: 1>, rhs_dilate = array<i64: 1>,
                              size = array<i64: 2>, stride = array<i64: 2>}
  ringconv.local_pool avg count_padding ins(%a : memref<2x8xf64>)
    halos(%l, %h : memref<2x1xf64, strided<[4, 1], offset: ?>>, memref<2x0xf64>) outs(%b : memref<2x8xf64>)
    dims [b, 0] -> [b, 0] at [0] valid [0] to [9]
    {halo_dims = array<i64: 1>, lhs_dilate = array<i64: 1>, rhs_dilate = array<i64: 1>, size = array<i64: 2>,
     stride = array<i64: 1>}
  return
}

// CHECK-LABEL: func.func @sums
// CHECK: ringconv.all_reduce outs(%{{.*}} : tensor<4xi32>) over @grid ["dp", "sp"] -> tensor<4xi32>
// CHECK: ringconv.reduce_scatter ins(%{{.*}} : tensor<4xi32>) outs(%{{.*}} : tensor<1xi32>) of tensor<4xi32> over ["sp"] from <@grid, [{}]> to <@grid, [{"sp"}]> -> tensor<1xi32>
// CHECK: ringconv.redistribute ins(%{{.*}} : tensor<1xi32>) outs(%{{.*}} : tensor<2xi32>) of tensor<4xi32> from <@grid, [{"sp"}]> to <@grid, [{"dp"}]> -> tensor<2xi32>
func.func @sums(%x: tensor<4xi32>, %one: tensor<1xi32>, %two: tensor<2xi32>) -> tensor<2xi32> {
  %s = ringconv.all_reduce outs(%x : tensor<4xi32>) over @grid ["dp", "sp"] -> tensor<4xi32>
  %p = ringconv.reduce_scatter ins(%s : tensor<4xi32>) outs(%one : tensor<1xi32>) of tensor<4xi32> over ["sp"]
         from <@grid, [{}]> to <@grid, [{"sp"}]> -> tensor<1xi32>
  %r = ringconv.redistribute ins(%p : tensor<1xi32>) outs(%two : tensor<2xi32>) of tensor<4xi32>
         from <@grid, [{"sp"}]> to <@grid, [{"dp"}]> -> tensor<2xi32>
  return %r : tensor<2xi32>
}

// CHECK-LABEL: func.func @messages
// CHECK: ringconv.mark 2{{$}}
// CHECK: %[[TOKEN:.*]] = ringconv.group {
// CHECK:   ringconv.recv %{{.*}} from %{{.*}} {repeat = array<i64: 1>, reverse = array<i64: 0>} : memref<4x2xf32>
// CHECK:   ringconv.send %{{.*}} to %{{.*}} : memref<4x2xf32>
// CHECK: } {report = array<i64: 2>}
// CHECK: ringconv.wait %[[TOKEN]] ins(%{{.*}} : memref<4x2xf32>) outs(%{{.*}} : memref<4x2xf32>)
// CHECK: ringconv.mark 2 end
// CHECK: ringconv.count %{{.*}}
func.func @messages(%x: memref<4x2xf32>, %y: memref<4x2xf32>, %peer: index) {
  ringconv.mark 2
  %token = ringconv.group {
    ringconv.recv %y from %peer {reverse = array<i64: 0>, repeat = array<i64: 1>} : memref<4x2xf32>
    ringconv.send %x to %peer : memref<4x2xf32>
  } {report = array<i64: 2>}
  ringconv.wait %token ins(%x : memref<4x2xf32>) outs(%y : memref<4x2xf32>)
  ringconv.mark 2 end
  ringconv.count %peer
  return
}

// CHECK-LABEL: func.func @memrefs
// CHECK: %[[TOKEN:.*]] = ringconv.start @grid {{.*}} ins(%{{.*}} : memref<4xf32>) outs(%{{.*}}, %{{.*}} : memref<1xf32>, memref<0xf32>){{$}}
// CHECK: ringconv.wait %[[TOKEN]] ins(%{{.*}} : memref<4xf32>) outs(%{{.*}}, %{{.*}} : memref<1xf32>, memref<0xf32>){{$}}
// CHECK: ringconv.all_reduce outs(%{{.*}} : memref<4xf32>) over @grid ["sp"]{{$}}
func.func @memrefs(%x: memref<4xf32>, %l: memref<1xf32>, %h: memref<0xf32>) {
  %token = ringconv.start @grid [[#ringconv.halo_dim<0, ["sp"], low = 1, high = 0, []>]]
    ins(%x : memref<4xf32>) outs(%l, %h : memref<1xf32>, memref<0xf32>)
  ringconv.wait %token ins(%x : memref<4xf32>) outs(%l, %h : memref<1xf32>, memref<0xf32>)
  ringconv.all_reduce outs(%x : memref<4xf32>) over @grid ["sp"]
  return
}
