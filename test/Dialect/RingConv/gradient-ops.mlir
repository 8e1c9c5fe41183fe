// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s | ringconv-opt | FileCheck %s
// RUN: ringconv-opt %s --mlir-print-op-generic | ringconv-opt | FileCheck %s

ringconv.mesh @g = <["w" = 2]>

// CHECK-LABEL: func.func @argmax
// CHECK: ringconv.pool argmax %{{.*}} dims [b, f, 0] -> [b, f, 0] window {size = [3], stride = [2], pad = {{\[\[}}1, 1]]}
// CHECK-SAME: tensor<1x8x56xf32> -> tensor<1x8x28xi32>
func.func @argmax(%x: tensor<1x8x56xf32>) -> tensor<1x8x28xi32> {
  %y = ringconv.pool argmax %x dims [b, f, 0] -> [b, f, 0] window {size = [3], stride = [2], pad = [[1, 1]]}
     : tensor<1x8x56xf32> -> tensor<1x8x28xi32>
  return %y : tensor<1x8x28xi32>
}

// CHECK-LABEL: func.func @pool_grad
// CHECK: ringconv.pool_grad %{{.*}}, %{{.*}} dims [b, f, 0] -> [b, f, 0]
// CHECK-SAME: window {size = [3], pad = {{\[\[}}1, 2]], lhs_dilate = [2]}
func.func @pool_grad(%dy: tensor<1x8x28xf32>, %taps: tensor<1x8x28xi32>) -> tensor<1x8x56xf32> {
  %dx = ringconv.pool_grad %dy, %taps dims [b, f, 0] -> [b, f, 0]
          window {size = [3], lhs_dilate = [2], pad = [[1, 2]]}
        : (tensor<1x8x28xf32>, tensor<1x8x28xi32>) -> tensor<1x8x56xf32>
  return %dx : tensor<1x8x56xf32>
}

// CHECK-LABEL: func.func @fold_border
// CHECK: ringconv.fold_border %{{.*}} dim 2 pad [1, 2] circular : tensor<1x8x59xf32> -> tensor<1x8x56xf32>
// CHECK: ringconv.reshard_like %{{.*}}, %{{.*}} : tensor<1x8x56xf32>
func.func @fold_border(%g: tensor<1x8x59xf32>, %x: tensor<1x8x56xf32>) -> tensor<1x8x56xf32> {
  %dx = ringconv.fold_border %g dim 2 pad [1, 2] circular : tensor<1x8x59xf32> -> tensor<1x8x56xf32>
  %d = ringconv.reshard_like %dx, %x : tensor<1x8x56xf32>
  return %d : tensor<1x8x56xf32>
}

// CHECK-LABEL: func.func @sums
// CHECK: %[[SUMS:.*]]:2, %[[TOKEN:.*]] = ringconv.start_reduce outs(%{{.*}}, %{{.*}} : tensor<4x3xf32>, tensor<4xf32>)
// CHECK-SAME: over @g ["w"] -> tensor<4x3xf32>, tensor<4xf32>
// CHECK: ringconv.wait %[[TOKEN]] outs(%[[SUMS]]#0, %[[SUMS]]#1 :
func.func @sums(%w: tensor<4x3xf32>, %b: tensor<4xf32>) -> (tensor<4x3xf32>, tensor<4xf32>) {
  %s:2, %t = ringconv.start_reduce outs(%w, %b : tensor<4x3xf32>, tensor<4xf32>) over @g ["w"]
    -> tensor<4x3xf32>, tensor<4xf32>
  %r:2 = ringconv.wait %t outs(%s#0, %s#1 : tensor<4x3xf32>, tensor<4xf32>) -> tensor<4x3xf32>, tensor<4xf32>
  return %r#0, %r#1 : tensor<4x3xf32>, tensor<4xf32>
}
