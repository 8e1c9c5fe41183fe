// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Examples of the dialect reference: what a user writes.
// RUN: ringconv-opt %s --split-input-file --verify-roundtrip | FileCheck %s

// CHECK: ringconv.mesh @grid
// CHECK: device_ids = [1, 0]
ringconv.mesh @grid = <["dp" = 2, "sp" = 4]>
ringconv.mesh @pair = <["x" = 2], device_ids = [1, 0]>
// -----
func.func @conv(%x: tensor<8x3x224x224xf32>, %w: tensor<64x3x7x7xf32>, %b: tensor<64xf32>) -> tensor<8x64x112x112xf32> {
  // CHECK: ringconv.conv %{{.*}}, %{{.*}} bias
  %y = ringconv.conv %x, %w bias %b dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
         window {stride = [2, 2], pad = [[3, 3], [3, 3]]}
       : (tensor<8x3x224x224xf32>, tensor<64x3x7x7xf32>, tensor<64xf32>) -> tensor<8x64x112x112xf32>
  return %y : tensor<8x64x112x112xf32>
}
// -----
func.func @pool(%x: tensor<1x8x56x56xf32>) -> tensor<1x8x28x28xf32> {
  // CHECK: ringconv.pool max
  %y = ringconv.pool max %x dims [b, f, 0, 1] -> [b, f, 0, 1]
         window {size = [3, 3], stride = [2, 2], pad = [[1, 1], [1, 1]]}
       : tensor<1x8x56x56xf32> -> tensor<1x8x28x28xf32>
  return %y : tensor<1x8x28x28xf32>
}
// -----
ringconv.mesh @grid = <["x" = 2]>
func.func @reshard(%v: tensor<1x6x6x13xf32>) -> tensor<1x6x6x13xf32> {
  // CHECK: ringconv.reshard
  %r = ringconv.reshard %v <@grid, [{}, {"x"}, {}, {} ]> : tensor<1x6x6x13xf32>
  return %r : tensor<1x6x6x13xf32>
}
// -----
func.func @fold_border(%g: tensor<1x8x59xf32>) -> tensor<1x8x56xf32> {
  // CHECK: ringconv.fold_border
  %dx = ringconv.fold_border %g dim 2 pad [1, 2] circular : tensor<1x8x59xf32> -> tensor<1x8x56xf32>
  return %dx : tensor<1x8x56xf32>
}
// -----
func.func @pool_grad(%dy: tensor<1x8x28xf32>, %taps: tensor<1x8x28xi32>) -> tensor<1x8x56xf32> {
  // CHECK: ringconv.pool_grad
  %dx = ringconv.pool_grad %dy, %taps dims [b, f, 0] -> [b, f, 0]
          window {size = [3], lhs_dilate = [2], pad = [[1, 2]]}
        : (tensor<1x8x28xf32>, tensor<1x8x28xi32>) -> tensor<1x8x56xf32>
  return %dx : tensor<1x8x56xf32>
}
// -----
func.func @reshard_like(%g: tensor<1x6x6x13xf32>, %x: tensor<1x6x6x13xf32>) -> tensor<1x6x6x13xf32> {
  // CHECK: ringconv.reshard_like
  %d = ringconv.reshard_like %g, %x : tensor<1x6x6x13xf32>
  return %d : tensor<1x6x6x13xf32>
}
