// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a user writes survives text, generic text and bytecode.
// RUN: ringconv-opt %s | FileCheck %s
// RUN: ringconv-opt %s | ringconv-opt | FileCheck %s
// RUN: ringconv-opt %s -mlir-print-op-generic | ringconv-opt | FileCheck %s
// RUN: ringconv-opt %s -emit-bytecode | ringconv-opt | FileCheck %s

// CHECK: ringconv.mesh @grid = <["dp" = 2, "sp" = 4], device_ids = [7, 6, 5, 4, 3, 2, 1, 0]>
ringconv.mesh @grid = <["dp" = 2, "sp" = 4], device_ids = [7, 6, 5, 4, 3, 2, 1, 0]>

// CHECK-LABEL: func.func @annotations
// CHECK-SAME: tensor<8x3x10x64xf32> {ringconv.name = "x", ringconv.sharding = #ringconv.sharding<@grid, [{"dp"}, {}, {}, {"sp"}]>, ringconv.wants_grad}
// CHECK-SAME: tensor<64xf32> {ringconv.parameter, ringconv.sharding = #ringconv.sharding<@grid, [{"sp", cuts = [0, 40, 48, 56, 64]}]>}
// CHECK-SAME: tensor<12x5xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"sp", "dp"}, {}]>}
// CHECK-SAME: -> (tensor<64xf32> {ringconv.name = "y", ringconv.sharding = #ringconv.sharding<@grid, [{"dp", "sp", cuts = [0, 0, 8, 16, 16, 16, 40, 64, 64]}]>})
func.func @annotations(
    %x: tensor<8x3x10x64xf32> {ringconv.name = "x", ringconv.wants_grad,
                               ringconv.sharding = #ringconv.sharding<@grid, [{"dp"}, {}, {}, {"sp"}]>},
    %b: tensor<64xf32> {ringconv.parameter,
                        ringconv.sharding = #ringconv.sharding<@grid, [{"sp", cuts = [0, 40, 48, 56, 64]}]>},
    %m: tensor<12x5xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"sp", "dp"}, {}]>})
    -> (tensor<64xf32> {ringconv.name = "y", ringconv.sharding =
          #ringconv.sharding<@grid, [{"dp", "sp", cuts = [0, 0, 8, 16, 16, 16, 40, 64, 64]}]>}) {
  return %b : tensor<64xf32>
}

// Neutral words are left out.
// CHECK-LABEL: func.func @plain
// CHECK: ringconv.conv %{{.*}}, %{{.*}} dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
func.func @plain(%x: tensor<1x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
         window {stride = [1, 1], pad = [[0, 0], [0, 0]], lhs_dilate = [1, 1], rhs_dilate = [1, 1],
                 reverse = [false, false], border = ["zero", "zero"]}
         {feature_group_count = 1 : i64, batch_group_count = 1 : i64}
     : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>) -> tensor<1x4x6x6xf32>
  return %y : tensor<1x4x6x6xf32>
}

// CHECK-LABEL: func.func @every_word
// CHECK: ringconv.conv %{{.*}}, %{{.*}} bias %{{.*}} dims [0, f, b, 1] x [i, 1, 0, o] -> [1, b, f, 0]
// CHECK-SAME: window {stride = [2, 1], pad = {{\[}}[3, -1], [4, 2]], lhs_dilate = [2, 1], rhs_dilate = [1, 3], reverse = [true, false], border = ["zero", "circular"]}
// CHECK-SAME: {feature_group_count = 3 : i64}
func.func @every_word(%x: tensor<5x6x2x9xf16>, %w: tensor<2x3x4x6xf16>, %b: tensor<6xf32>) -> tensor<9x2x6x4xf32> {
  %y = ringconv.conv %x, %w bias %b dims [0, f, b, 1] x [i, 1, 0, o] -> [1, b, f, 0]
         window {border = ["zero", "circular"], reverse = [true, false], rhs_dilate = [1, 3], lhs_dilate = [2, 1],
                 pad = [[3, -1], [4, 2]], stride = [2, 1]}
         {feature_group_count = 3 : i64}
     : (tensor<5x6x2x9xf16>, tensor<2x3x4x6xf16>, tensor<6xf32>) -> tensor<9x2x6x4xf32>
  return %y : tensor<9x2x6x4xf32>
}

// CHECK-LABEL: func.func @batch_groups
// CHECK: window {pad = {{\[}}[1, 1]], border = ["reflect"]} {batch_group_count = 2 : i64}
func.func @batch_groups(%x: tensor<4x3x8xi8>, %w: tensor<6x3x3xi8>) -> tensor<2x6x8xi32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
         window {pad = [[1, 1]], border = ["reflect"]} {batch_group_count = 2 : i64}
     : (tensor<4x3x8xi8>, tensor<6x3x3xi8>) -> tensor<2x6x8xi32>
  return %y : tensor<2x6x8xi32>
}

// No spatial dimension, and no window at all.
// CHECK-LABEL: func.func @spatial_0
// CHECK: ringconv.conv %{{.*}}, %{{.*}} dims [b, f] x [o, i] -> [b, f] window {} : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<2x4xbf16>
func.func @spatial_0(%x: tensor<2x3xbf16>, %w: tensor<4x3xbf16>) -> tensor<2x4xbf16> {
  %y = ringconv.conv %x, %w dims [b, f] x [o, i] -> [b, f] : (tensor<2x3xbf16>, tensor<4x3xbf16>) -> tensor<2x4xbf16>
  return %y : tensor<2x4xbf16>
}

// CHECK-LABEL: func.func @spatial_5
// CHECK: dims [b, f, 0, 1, 2, 3, 4] x [o, i, 4, 3, 2, 1, 0] -> [4, b, f, 0, 1, 2, 3] window {border = ["zero", "zero", "zero", "zero", "replicate"]}
func.func @spatial_5(%x: tensor<1x2x2x3x2x3x2xf64>, %w: tensor<1x2x1x2x1x2x1xf64>) -> tensor<2x1x1x2x2x2x2xf64> {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1, 2, 3, 4] x [o, i, 4, 3, 2, 1, 0] -> [4, b, f, 0, 1, 2, 3]
         window {border = ["zero", "zero", "zero", "zero", "replicate"]}
     : (tensor<1x2x2x3x2x3x2xf64>, tensor<1x2x1x2x1x2x1xf64>) -> tensor<2x1x1x2x2x2x2xf64>
  return %y : tensor<2x1x1x2x2x2x2xf64>
}

// CHECK-LABEL: func.func @pools
// CHECK: ringconv.pool max %{{.*}} dims [b, f, 0, 1] -> [b, f, 0, 1] window {size = [3, 3], stride = [2, 2], pad = {{\[}}[1, 1], [1, 1]]} : tensor<1x8x9x9xf32> -> tensor<1x8x5x5xf32>
// CHECK: ringconv.pool sum %{{.*}} dims [b, f, 0, 1] -> [1, 0, f, b] window {size = [1, 2], rhs_dilate = [1, 2], border = ["zero", "circular"]}
// CHECK: ringconv.pool avg %{{.*}} dims [0, 1, 2, 3] -> [0, 1, 2, 3] window {size = [1, 1, 2, 2], lhs_dilate = [1, 1, 2, 1]}
// CHECK: ringconv.pool avg count_padding %{{.*}} dims [0, f, 1, 2] -> [0, f, 1, 2] window {size = [1, 1, 1], pad = {{\[}}[0, 0], [2, -1], [0, 0]]}
func.func @pools(%x: tensor<1x8x9x9xf32>) -> (tensor<1x8x5x5xf32>, tensor<7x9x8x1xf32>, tensor<1x8x16x8xf32>,
                                              tensor<1x8x10x9xf32>) {
  %0 = ringconv.pool max %x dims [b, f, 0, 1] -> [b, f, 0, 1]
         window {size = [3, 3], stride = [2, 2], pad = [[1, 1], [1, 1]]} : tensor<1x8x9x9xf32> -> tensor<1x8x5x5xf32>
  %1 = ringconv.pool sum %x dims [b, f, 0, 1] -> [1, 0, f, b]
         window {size = [1, 2], rhs_dilate = [1, 2], border = ["zero", "circular"]}
     : tensor<1x8x9x9xf32> -> tensor<7x9x8x1xf32>
  %2 = ringconv.pool avg %x dims [0, 1, 2, 3] -> [0, 1, 2, 3]
         window {size = [1, 1, 2, 2], lhs_dilate = [1, 1, 2, 1]} : tensor<1x8x9x9xf32> -> tensor<1x8x16x8xf32>
  %3 = ringconv.pool avg count_padding %x dims [0, f, 1, 2] -> [0, f, 1, 2]
         window {size = [1, 1, 1], pad = [[0, 0], [2, -1], [0, 0]]} : tensor<1x8x9x9xf32> -> tensor<1x8x10x9xf32>
  return %0, %1, %2, %3 : tensor<1x8x5x5xf32>, tensor<7x9x8x1xf32>, tensor<1x8x16x8xf32>, tensor<1x8x10x9xf32>
}

// CHECK-LABEL: func.func @reshard
// CHECK: ringconv.reshard %{{.*}} <@grid, [{}, {"sp", "dp", cuts = [0, 1, 1, 1, 2, 3, 4, 5, 6]}]> : tensor<3x6xf32>
func.func @reshard(%v: tensor<3x6xf32>) -> tensor<3x6xf32> {
  %r = ringconv.reshard %v <@grid, [{}, {"sp", "dp", cuts = [0, 1, 1, 1, 2, 3, 4, 5, 6]}]> : tensor<3x6xf32>
  return %r : tensor<3x6xf32>
}

// CHECK-LABEL: func.func @shard
// CHECK-SAME: tensor<?x3x16xf32> {ringconv.shard_of = #ringconv.shard_of<tensor<9x3x64xf32>, @grid, [{"dp"}, {}, {"sp"}]>}
func.func @shard(%x: tensor<?x3x16xf32> {ringconv.shard_of = #ringconv.shard_of<tensor<9x3x64xf32>, @grid,
                                                                               [{"dp"}, {}, {"sp"}]>}) {
  return
}
