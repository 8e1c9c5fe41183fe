// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Even and aligned cuts: static shapes only, no message around the ends, nothing
// is trimmed, and the input is an operand as it is.
// RUN: ringconv-opt %s -ringconv-partition -canonicalize -cse | FileCheck %s
// RUN: ringconv-opt %s -ringconv-partition -canonicalize -cse | FileCheck %s --check-prefix=NONE
// NONE-NOT: {{x\?|\?x|extract_slice|insert_slice|redistribute|tensor.pad|tensor.concat}}

ringconv.mesh @grid = <["h" = 2, "w" = 4]>

// 224, kernel 7, stride 2, padding 3 on 4 ranks: 28 outputs each; halo r0 (0,2),
// r1-2 (3,2), r3 (3,0). Valid elements begin behind the low slab on rank 0 and
// end before the high slab on rank 3.
// CHECK-LABEL: func.func @stem
// CHECK-SAME: %[[X:.*]]: tensor<1x2x56xf32> {ringconv.shard_of = #ringconv.shard_of<tensor<1x2x224xf32>, @grid, [{}, {}, {"w"}]>}
// CHECK-SAME: -> (tensor<1x3x28xf32> {ringconv.shard_of = #ringconv.shard_of<tensor<1x3x112xf32>, @grid, [{}, {}, {"w"}]>})
// CHECK: %[[RANK:.*]] = ringconv.coord @grid ["w"]
// CHECK-DAG: %[[BEGIN:.*]] = ringconv.lookup %[[RANK]] <0: 3 + -3, 2: 0>
// CHECK-DAG: %[[END:.*]] = ringconv.lookup %[[RANK]] <0: 61, 3: 59>
// CHECK: %[[HALO:.*]]:2 = ringconv.halo_exchange %[[X]] @grid [#ringconv.halo_dim<2, ["w"], low = 3, high = 2,
// CHECK-SAME: <low copy from <0: -1 + 1> at <0> extended <0> size <3> to <0: 1 + 1, 3: -1> source <53> count <3>>
// CHECK-SAME: <high copy from <0: 1 + 1, 3: -1> at <0> extended <59> size <2> to <0: -1 + 1> source <0> count <2>>
// CHECK-SAME: -> tensor<1x2x3xf32>, tensor<1x2x2xf32>
// CHECK: ringconv.local_conv ins(%[[X]], %{{.*}} : tensor<1x2x56xf32>, tensor<3x2x7xf32>) halos(%[[HALO]]#0, %[[HALO]]#1 :
// CHECK-SAME: at [0] valid [%[[BEGIN]]] to [%[[END]]]
func.func @stem(%x: tensor<1x2x224xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"w"}]>},
                %w: tensor<3x2x7xf32>) -> tensor<1x3x112xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {stride = [2], pad = [[3, 3]]}
     : (tensor<1x2x224xf32>, tensor<3x2x7xf32>) -> tensor<1x3x112xf32>
  return %y : tensor<1x3x112xf32>
}

// 56, kernel 3, stride 2, padding 1 on 4 ranks: 7 outputs each; halo r0 (0,0),
// r1-3 (1,0): one message to the right.
// CHECK-LABEL: func.func @three
// CHECK: ringconv.halo_exchange %{{.*}} @grid [#ringconv.halo_dim<2, ["w"], low = 1, high = 0,
// CHECK-SAME: <low copy from <0: -1 + 1> at <0> extended <0> size <1> to <0: 1 + 1, 3: -1> source <13> count <1>>]>]
// CHECK-NOT: high copy
// CHECK: ringconv.local_conv {{.*}} -> tensor<1x3x7xf32>
func.func @three(%x: tensor<1x2x56xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"w"}]>},
                 %w: tensor<3x2x3xf32>) -> tensor<1x3x28xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {stride = [2], pad = [[1, 1]]}
     : (tensor<1x2x56xf32>, tensor<3x2x3xf32>) -> tensor<1x3x28xf32>
  return %y : tensor<1x3x28xf32>
}

// 56, kernel 1, stride 2 on 4 ranks: 7 outputs each; halo (0,-1): no message.
// CHECK-LABEL: func.func @one
// CHECK-NOT: halo_exchange
// CHECK-NOT: ringconv.lookup
// CHECK: ringconv.local_conv {{.*}} at [0] valid [0] to [{{1[34]}}] {{.*}} -> tensor<1x3x7xf32>
func.func @one(%x: tensor<1x2x56xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"w"}]>},
               %w: tensor<3x2x1xf32>) -> tensor<1x3x28xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {stride = [2]}
     : (tensor<1x2x56xf32>, tensor<3x2x1xf32>) -> tensor<1x3x28xf32>
  return %y : tensor<1x3x28xf32>
}

// 224, kernel 3, stride 2, padding (0,1) on 4 ranks: halo r0-2 (0,1), r3 (0,0).
// CHECK-LABEL: func.func @same
// CHECK: ringconv.halo_exchange %{{.*}} @grid [#ringconv.halo_dim<2, ["w"], low = 0, high = 1,
// CHECK-NOT: low copy
// CHECK-SAME: <high copy from <0: 1 + 1, 3: -1> at <0> extended <56> size <1> to <0: -1 + 1> source <0> count <1>>
// CHECK: ringconv.local_conv {{.*}} -> tensor<1x3x28xf32>
func.func @same(%x: tensor<1x2x224xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"w"}]>},
                %w: tensor<3x2x3xf32>) -> tensor<1x3x112xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {stride = [2], pad = [[0, 1]]}
     : (tensor<1x2x224xf32>, tensor<3x2x3xf32>) -> tensor<1x3x112xf32>
  return %y : tensor<1x3x112xf32>
}

// Rows on 2 and columns on 4 ranks, 3x3, padding 1: the slabs of the columns are
// extended in the rows, so that corners are in them. Halo (1,1) in both, inside.
// CHECK-LABEL: func.func @corners
// CHECK: ringconv.halo_exchange %{{.*}} @grid
// CHECK-SAME: #ringconv.halo_dim<2, ["h"], low = 1, high = 1,
// CHECK-SAME: #ringconv.halo_dim<3, ["w"], low = 1, high = 1,
// CHECK-SAME: : tensor<1x2x4x4xf32> -> tensor<1x2x1x4xf32>, tensor<1x2x1x4xf32>, tensor<1x2x6x1xf32>, tensor<1x2x6x1xf32>
// CHECK: ringconv.local_conv {{.*}} at [0, 0] {{.*}} -> tensor<1x3x4x4xf32>
func.func @corners(
    %x: tensor<1x2x8x16xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"h"}, {"w"}]>},
    %w: tensor<3x2x3x3xf32>) -> tensor<1x3x8x16xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<1x2x8x16xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x8x16xf32>
  return %y : tensor<1x3x8x16xf32>
}

// 1440, kernel 5, stride 2, circular padding 2 on 8 ranks, the columns over both
// axes: (2,1) on every rank, around the ends too, so nothing differs by rank.
// CHECK-LABEL: func.func @ring
// CHECK: ringconv.halo_exchange %{{.*}} @grid [#ringconv.halo_dim<2, ["h", "w"], low = 2, high = 1,
// CHECK-SAME: <low copy from <0: 7 + -7, 2: 1 + 1> at <0> extended <0> size <2> to <0: 1 + 1, 7: 0> source <178> count <2>>
// CHECK-SAME: <high copy from <0: 1 + 1, 7: 0> at <0> extended <182> size <1> to <0: 7 + -7, 2: 1 + 1> source <0> count <1>>
// CHECK-NOT: ringconv.lookup
// CHECK: ringconv.local_conv {{.*}} at [0] valid [0] to [183] {{.*}} -> tensor<1x3x90xf32>
func.func @ring(%x: tensor<1x2x1440xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"h", "w"}]>},
                %w: tensor<3x2x5xf32>) -> tensor<1x3x720xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
         window {stride = [2], pad = [[2, 2]], border = ["circular"]}
     : (tensor<1x2x1440xf32>, tensor<3x2x5xf32>) -> tensor<1x3x720xf32>
  return %y : tensor<1x3x720xf32>
}

// 1024, kernel 2 dilated by 512, padding (512,0) on 8 ranks: ranks 4-7 read 128
// elements of rank r - 4 only, though the slab spans 512.
// CHECK-LABEL: func.func @far
// CHECK: ringconv.halo_exchange %{{.*}} @grid [#ringconv.halo_dim<2, ["h", "w"], low = 512, high = 0,
// CHECK-SAME: <low copy from <0: -1, 4: 0 + 1> at <0> extended <0> size <128> to <0: 4 + 1, 4: -1> source <0> count <128>>]>]
// CHECK: ringconv.local_conv {{.*}} -> tensor<1x3x128xf32>
func.func @far(%x: tensor<1x2x1024xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"h", "w"}]>},
               %w: tensor<3x2x2xf32>) -> tensor<1x3x1024xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
         window {pad = [[512, 0]], rhs_dilate = [512]}
     : (tensor<1x2x1024xf32>, tensor<3x2x2xf32>) -> tensor<1x3x1024xf32>
  return %y : tensor<1x3x1024xf32>
}

// Output channels cut: each rank computes its own, nothing travels. The result
// has the cut because the filter has it.
// CHECK-LABEL: func.func @output_channels
// CHECK-NOT: {{halo_exchange|reduce}}
// CHECK: ringconv.local_conv ins({{.*}} : tensor<2x4x8xf32>, tensor<2x4x3xf32>) {{.*}} -> tensor<2x2x6xf32>
func.func @output_channels(
    %x: tensor<2x4x8xf32>, %w: tensor<8x4x3xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"w"}, {}, {}]>})
    -> tensor<2x8x6xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<2x4x8xf32>, tensor<8x4x3xf32>) -> tensor<2x8x6xf32>
  return %y : tensor<2x8x6xf32>
}

// Input channels cut: partial sums in f32, summed, rounded once.
// CHECK-LABEL: func.func @input_channels
// CHECK: %[[PARTIAL:.*]] = ringconv.local_conv {{.*}} -> tensor<2x8x6xf32>
// CHECK: ringconv.all_reduce outs(%[[PARTIAL]] : tensor<2x8x6xf32>) over @grid ["w"] -> tensor<2x8x6xf32>
// CHECK: arith.truncf %{{.*}} : f32 to f16
func.func @input_channels(
    %x: tensor<2x4x8xf16> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"w"}, {}]>},
    %w: tensor<8x4x3xf16> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"w"}, {}]>}) -> tensor<2x8x6xf16> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<2x4x8xf16>, tensor<8x4x3xf16>) -> tensor<2x8x6xf16>
  return %y : tensor<2x8x6xf16>
}
