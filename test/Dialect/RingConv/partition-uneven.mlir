// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts of any kind: extents that differ by rank are dynamic, everything else
// stays static; numbers come from tables.
// RUN: ringconv-opt %s -ringconv-partition -canonicalize -cse | FileCheck %s

ringconv.mesh @grid = <["x" = 4]>

// 7, kernel 3, padding 1, cuts 2,2,2,1: halo r0 (0,1), r1-2 (1,1), r3 (1,0).
// CHECK-LABEL: func.func @small
// CHECK-SAME: tensor<1x2x?xf32> {ringconv.shard_of = #ringconv.shard_of<tensor<1x2x7xf32>, @grid, [{}, {}, {"x"}]>}
// CHECK: ringconv.lookup %{{.*}} <0: 2, 3: 1>
// CHECK: ringconv.halo_exchange %{{.*}} @grid [#ringconv.halo_dim<2, ["x"], low = 1, high = 1,
// CHECK-SAME: <low copy from <0: -1 + 1> at <0> extended <0> size <1> to <0: 1 + 1, 3: -1> source <1> count <1>>
// CHECK-SAME: <high copy from <0: 1 + 1, 3: -1> {{.*}} size <1> to <0: -1 + 1> source <0> count <1>>
// CHECK-SAME: -> tensor<1x2x1xf32>, tensor<1x2x1xf32>
// CHECK: ringconv.local_conv {{.*}} -> tensor<1x3x?xf32>
func.func @small(%x: tensor<1x2x7xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"x"}]>},
                 %w: tensor<3x2x3xf32>) -> tensor<1x3x7xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
     : (tensor<1x2x7xf32>, tensor<3x2x3xf32>) -> tensor<1x3x7xf32>
  return %y : tensor<1x3x7xf32>
}

// 32, kernel 3, no padding: outputs 8,8,8,6 follow the inputs; halo r0-2 (0,2),
// r3 (0,0). The input stays static.
// CHECK-LABEL: func.func @valid
// CHECK-SAME: tensor<1x2x8xf32>
// CHECK-SAME: -> (tensor<1x3x?xf32> {ringconv.shard_of = #ringconv.shard_of<tensor<1x3x30xf32>, @grid, [{}, {}, {"x", cuts = [0, 8, 16, 24, 30]}]>})
// CHECK: ringconv.lookup %{{.*}} <0: 8, 3: 6>
// CHECK: ringconv.halo_exchange %{{.*}} @grid [#ringconv.halo_dim<2, ["x"], low = 0, high = 2,
// CHECK-SAME: <high copy from <0: 1 + 1, 3: -1> at <0> extended <8> size <2> to <0: -1 + 1> source <0> count <2>>]>]
func.func @valid(%x: tensor<1x2x32xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"x"}]>},
                 %w: tensor<3x2x3xf32>) -> tensor<1x3x30xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x2x32xf32>, tensor<3x2x3xf32>) -> tensor<1x3x30xf32>
  return %y : tensor<1x3x30xf32>
}

// 7, kernel 7, padding 3, cuts 2,2,2,1: halo r0 (0,3), r1 (2,3), r2 (3,1), r3
// (3,0): two hops to either side, a piece for each distance.
// CHECK-LABEL: func.func @two_hops
// CHECK: ringconv.halo_exchange %{{.*}} @grid [#ringconv.halo_dim<2, ["x"], low = 3, high = 3,
// CHECK-SAME: <low copy from <0: -1, 2: 0 + 1> at <0> extended <0> size <1> to <0: 2 + 1, 2: -1> source <1> count <1>>
// CHECK-SAME: <low copy from <0: -1 + 1> at <1> extended <1> size <2> to <0: 1 + 1, 3: -1> source <0> count <2>>
// CHECK-SAME: <high copy from <0: 1 + 1, 3: -1> at <0> extended <5> size <0: 2, 2: 1> to <0: -1 + 1> source <0>
// CHECK-SAME: <high copy from <0: 2 + 1, 2: -1> at <2> extended <7> size <1> to <0: -1, 2: 0 + 1> source <0> count <1>>
func.func @two_hops(%x: tensor<1x2x7xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"x"}]>},
                    %w: tensor<3x2x7xf32>) -> tensor<1x3x7xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[3, 3]]}
     : (tensor<1x2x7xf32>, tensor<3x2x7xf32>) -> tensor<1x3x7xf32>
  return %y : tensor<1x3x7xf32>
}

// 64, kernel 3, padding 1, inputs 40,8,8,8 and outputs 16 each: r0 (0,-23),
// r1 (25,-15), r2 (17,-7), r3 (9,0). Rank 1 receives 18 elements and reads none
// of its own, so 18 is the slab, not 25.
// CHECK-LABEL: func.func @moved
// CHECK: ringconv.halo_exchange %{{.*}} @grid [#ringconv.halo_dim<2, ["x"], low = 18, high = 0,
// CHECK: ringconv.local_conv {{.*}} -> tensor<1x3x16xf32>
func.func @moved(
    %x: tensor<1x2x64xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"x", cuts = [0, 40, 48, 56, 64]}]>},
    %w: tensor<3x2x3xf32>)
    -> (tensor<1x3x64xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"x"}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
     : (tensor<1x2x64xf32>, tensor<3x2x3xf32>) -> tensor<1x3x64xf32>
  return %y : tensor<1x3x64xf32>
}

// 65, kernel 3, stride 4, padding 1, inputs 17,17,17,14, outputs 5,5,5,2:
// r0 (0,1) r1 (-2,4) r2 (-5,7) r3 (-8,0). Negative distances are no slab: rank 1
// reads from 19 = 17 + 2 on, and up to 38 = 34 + 4. A stride above the kernel
// leaves gaps, which do not travel: rank 1 gets 35 to 37 without 34, rank 2 gets
// 51 to 53 and 55 to 57.
// CHECK-LABEL: func.func @strided
// CHECK: ringconv.halo_exchange %{{.*}} @grid [#ringconv.halo_dim<2, ["x"], low = 0, high = 7,
// CHECK-SAME: <high copy from <0: 1 + 1, 3: -1> at <0: 0 + 1, 2: 0> {{.*}} size <0: 1 + 2, 2: 3> to <0: -1 + 1>
// CHECK-SAME: <high copy from <0: -1, 2: 3 + -4> at <4> {{.*}} size <3> to
func.func @strided(
    %x: tensor<1x2x65xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"x", cuts = [0, 17, 34, 51, 65]}]>},
    %w: tensor<3x2x3xf32>)
    -> (tensor<1x3x17xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"x", cuts = [0, 5, 10, 15, 17]}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {stride = [4], pad = [[1, 1]]}
     : (tensor<1x2x65xf32>, tensor<3x2x3xf32>) -> tensor<1x3x17xf32>
  return %y : tensor<1x3x17xf32>
}

// Transposed 4/2/1 of 16 on 4 ranks: 8 outputs each, halo (1,1); the base
// dilation is never written out.
// CHECK-LABEL: func.func @transposed
// CHECK: ringconv.halo_exchange %{{.*}} @grid [#ringconv.halo_dim<2, ["x"], low = 1, high = 1,
// CHECK: ringconv.local_conv {{.*}} lhs_dilate = array<i64: 2>{{.*}} -> tensor<1x3x8xf32>
func.func @transposed(%x: tensor<1x2x16xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"x"}]>},
                      %w: tensor<3x2x4xf32>) -> tensor<1x3x32xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[2, 2]], lhs_dilate = [2]}
     : (tensor<1x2x16xf32>, tensor<3x2x4xf32>) -> tensor<1x3x32xf32>
  return %y : tensor<1x3x32xf32>
}
