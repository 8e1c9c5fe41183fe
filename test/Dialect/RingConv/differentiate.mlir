// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The form of gradients; that they are right is tested by running them.
// RUN: ringconv-opt %s --ringconv-differentiate=entry=layer | FileCheck %s --check-prefix=LAYER
// RUN: ringconv-opt %s "--ringconv-differentiate=entry=layer train" | FileCheck %s --check-prefix=TRAIN
// RUN: ringconv-opt %s --ringconv-differentiate=entry=frozen | FileCheck %s --check-prefix=FROZEN
// RUN: ringconv-opt %s --ringconv-differentiate=entry=around | FileCheck %s --check-prefix=AROUND
// RUN: ringconv-opt %s --ringconv-differentiate=entry=mirror | FileCheck %s --check-prefix=MIRROR
// RUN: ringconv-opt %s --ringconv-differentiate=entry=depthwise | FileCheck %s --check-prefix=DEPTHWISE
// RUN: ringconv-opt %s --ringconv-differentiate=entry=largest | FileCheck %s --check-prefix=LARGEST
// RUN: ringconv-opt %s --ringconv-differentiate=entry=products | FileCheck %s --check-prefix=PRODUCTS

ringconv.mesh @grid = <["dp" = 2, "w" = 4]>

// Stride 2, 7 taps, padding 3: dx reads dy dilated by 2 with padding 3 below and
// 2 above, dw reads x with taps 2 apart.
// LAYER-LABEL: func.func @layer_grad
// LAYER-SAME: %[[X:[^:]*]]: tensor<2x3x16xf32> {ringconv.name = "x", ringconv.sharding = #ringconv.sharding<@grid, [{"dp"}, {}, {"w"}]>}
// LAYER-SAME: %[[W:[^:]*]]: tensor<4x3x7xf32> {ringconv.parameter}, %[[B:[^:]*]]: tensor<4xf32> {ringconv.parameter}
// LAYER-SAME: %[[G:[^:]*]]: tensor<2x4x8xf32> {ringconv.name = "grad_y", ringconv.sharding = #ringconv.sharding<@grid, [{"dp"}, {}, {"w"}]>}
// LAYER-SAME: -> (tensor<2x3x16xf32> {ringconv.name = "grad_x", ringconv.sharding = #ringconv.sharding<@grid, [{"dp"}, {}, {"w"}]>}
// LAYER-SAME: tensor<4x3x7xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {}]>}
// LAYER-SAME: tensor<4xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}]>})
// LAYER: %[[DY:.*]] = arith.select
// LAYER: %[[DX:.*]] = ringconv.conv %[[DY]], %[[W]] dims [b, f, 0] x [i, o, 0] -> [b, f, 0] window {pad = {{\[\[}}3, 4]], lhs_dilate = [2], reverse = [true]}
// LAYER: ringconv.reshard_like %[[DX]], %[[X]]
// LAYER: %[[DW:.*]] = ringconv.conv %[[X]], %[[DY]] dims [f, b, 0] x [i, o, 0] -> [f, b, 0] window {pad = {{\[\[}}3, 2]], rhs_dilate = [2]}
// LAYER: ringconv.reshard_like %[[DW]], %[[W]]
// LAYER: linalg.generic {{.*}} iterator_types = ["reduction", "parallel", "reduction"]} ins(%[[DY]]
// TRAIN-LABEL: func.func @layer_train
// TRAIN-SAME: -> (tensor<2x4x8xf32> {ringconv.name = "y"
// TRAIN-SAME: tensor<2x3x16xf32> {ringconv.name = "grad_x"
// TRAIN: %[[Y:.*]] = arith.maximumf
// TRAIN: return %[[Y]],
func.func @layer(
    %x: tensor<2x3x16xf32> {ringconv.name = "x", ringconv.sharding = #ringconv.sharding<@grid, [{"dp"}, {}, {"w"}]>},
    %w: tensor<4x3x7xf32> {ringconv.parameter}, %b: tensor<4xf32> {ringconv.parameter})
    -> (tensor<2x4x8xf32> {ringconv.name = "y", ringconv.sharding = #ringconv.sharding<@grid, [{"dp"}, {}, {"w"}]>}) {
  %y = ringconv.conv %x, %w bias %b dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {stride = [2], pad = [[3, 3]]}
     : (tensor<2x3x16xf32>, tensor<4x3x7xf32>, tensor<4xf32>) -> tensor<2x4x8xf32>
  %zero = arith.constant dense<0.0> : tensor<2x4x8xf32>
  %r = arith.maximumf %y, %zero : tensor<2x4x8xf32>
  return %r : tensor<2x4x8xf32>
}

// Only the last bias: one sum, and not even the forward pass.
// FROZEN-LABEL: func.func @frozen_grad
// FROZEN-SAME: %[[G:[^:]*]]: tensor<1x2x8xf32> {ringconv.sharding = {{[^,]*}}@grid, [{}, {}, {}]>}) -> (tensor<2xf32>
// FROZEN-NOT: ringconv.conv
// FROZEN: linalg.generic {{.*}} ins(%[[G]]
// FROZEN-NOT: ringconv.conv
// FROZEN: return
func.func @frozen(%x: tensor<1x2x8xf32>, %v: tensor<2x2x3xf32>, %w: tensor<2x2x3xf32>,
                  %b: tensor<2xf32> {ringconv.wants_grad}) -> tensor<1x2x8xf32> {
  %0 = ringconv.conv %x, %v dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
     : (tensor<1x2x8xf32>, tensor<2x2x3xf32>) -> tensor<1x2x8xf32>
  %1 = ringconv.conv %0, %w bias %b dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
     : (tensor<1x2x8xf32>, tensor<2x2x3xf32>, tensor<2xf32>) -> tensor<1x2x8xf32>
  return %1 : tensor<1x2x8xf32>
}

// A circle stays one, its padding mirrored.
// AROUND-LABEL: func.func @around_grad
// AROUND: ringconv.conv {{.*}} window {pad = {{\[\[}}3, 1]], reverse = [true], border = ["circular"]}
// AROUND-NOT: fold_border
func.func @around(%x: tensor<1x2x8xf32>, %w: tensor<2x2x5xf32>) -> tensor<1x2x8xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 3]], border = ["circular"]}
     : (tensor<1x2x8xf32>, tensor<2x2x5xf32>) -> tensor<1x2x8xf32>
  return %y : tensor<1x2x8xf32>
}

// Other borders: over the extended dimension, then folded.
// MIRROR-LABEL: func.func @mirror_grad
// MIRROR: %[[E:.*]] = ringconv.conv {{.*}} window {pad = {{\[\[}}2, 2]], reverse = [true]} {{.*}} -> tensor<1x2x10xf32>
// MIRROR: ringconv.fold_border %[[E]] dim 2 pad [1, 1] reflect : tensor<1x2x10xf32> -> tensor<1x2x8xf32>
func.func @mirror(%x: tensor<1x2x8xf32>, %w: tensor<2x2x3xf32>) -> tensor<1x2x8xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]], border = ["reflect"]}
     : (tensor<1x2x8xf32>, tensor<2x2x3xf32>) -> tensor<1x2x8xf32>
  return %y : tensor<1x2x8xf32>
}

// Groups of the filter change places with its features; dw has batch groups.
// DEPTHWISE-LABEL: func.func @depthwise_grad
// DEPTHWISE: ringconv.conv {{.*}} {feature_group_count = 3 : i64} : (tensor<1x6x8xf32>, tensor<2x3x3xf32>) -> tensor<1x3x8xf32>
// DEPTHWISE: ringconv.conv {{.*}} {batch_group_count = 3 : i64} {{.*}} -> tensor<6x1x3xf32>
func.func @depthwise(%x: tensor<1x3x8xf32>, %w: tensor<6x1x3xf32>) -> tensor<1x6x8xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
         {feature_group_count = 3 : i64} : (tensor<1x3x8xf32>, tensor<6x1x3xf32>) -> tensor<1x6x8xf32>
  return %y : tensor<1x6x8xf32>
}

// The taps are found where the pool was, and nothing else is kept of its input.
// LARGEST-LABEL: func.func @largest_grad
// LARGEST: %[[TAPS:.*]] = ringconv.pool argmax %{{.*}} -> tensor<1x3x8xi32>
// LARGEST: ringconv.pool_grad %{{.*}}, %[[TAPS]] dims [b, f, 0] -> [b, f, 0] window {size = [3], pad = {{\[\[}}1, 2]], lhs_dilate = [2]}
func.func @largest(%x: tensor<1x3x16xf32>) -> tensor<1x3x8xf32> {
  %y = ringconv.pool max %x dims [b, f, 0] -> [b, f, 0] window {size = [3], stride = [2], pad = [[1, 0]]}
     : tensor<1x3x16xf32> -> tensor<1x3x8xf32>
  return %y : tensor<1x3x8xf32>
}

// Both sides of a matrix product are products.
// PRODUCTS-LABEL: func.func @products_grad
// PRODUCTS: linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]}
// PRODUCTS: linalg.generic {{.*}} iterator_types = ["reduction", "parallel", "parallel"]}
func.func @products(%a: tensor<4x5xf32>, %b: tensor<5x6xf32>) -> tensor<4x6xf32> {
  %zero = arith.constant dense<0.0> : tensor<4x6xf32>
  %y = linalg.matmul ins(%a, %b : tensor<4x5xf32>, tensor<5x6xf32>) outs(%zero : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}
