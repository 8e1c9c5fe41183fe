// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -split-input-file -ringconv-features-last -canonicalize -verify-diagnostics | FileCheck %s

// Two convolutions, a bias, a maximum with zero, a pool and a sum with an argument:
// the two arguments are converted, and the result.
// CHECK-LABEL: func.func @block
// CHECK-SAME: %[[X:.*]]: tensor<2x16x8x6xf16>, %[[W:.*]]: tensor<16x16x3x3xf16>, %[[B:.*]]: tensor<16xf16>, %[[R:.*]]: tensor<2x16x8x6xf16>
// CHECK: %[[XT:.*]] = linalg.transpose ins(%[[X]] : {{.*}} permutation = [0, 2, 3, 1]
// CHECK: %[[Y:.*]] = ringconv.conv %[[XT]], %[[W]] dims [b, 0, 1, f] x [o, i, 0, 1] -> [b, 0, 1, f]
// CHECK-SAME: -> tensor<2x8x6x16xf16>
// CHECK: %[[BIAS:.*]] = linalg.broadcast ins(%[[B]] : tensor<16xf16>) outs(%{{.*}} : tensor<2x8x6x16xf16>) dimensions = [0, 1, 2]
// CHECK: %[[SUM:.*]] = arith.addf %[[Y]], %[[BIAS]]
// CHECK: %[[MAX:.*]] = arith.maximumf %[[SUM]], %{{.*}} : tensor<2x8x6x16xf16>
// CHECK: %[[POOL:.*]] = ringconv.pool max %[[MAX]] dims [b, 0, 1, f] -> [b, 0, 1, f]
// CHECK: %[[Z:.*]] = ringconv.conv %[[POOL]], %[[W]] dims [b, 0, 1, f] x [o, i, 0, 1] -> [b, 0, 1, f]
// CHECK: %[[RT:.*]] = linalg.transpose ins(%[[R]] : {{.*}} permutation = [0, 2, 3, 1]
// CHECK: %[[ALL:.*]] = arith.addf %[[Z]], %[[RT]] : tensor<2x8x6x16xf16>
// CHECK: %[[BACK:.*]] = linalg.transpose ins(%[[ALL]] : {{.*}} permutation = [0, 3, 1, 2]
// CHECK-NOT: linalg.transpose
// CHECK: return %[[BACK]]
// expected-remark @+1 {{16-bit convolutions compute with features last: 2 tensors converted to that, 1 back}}
func.func @block(%x: tensor<2x16x8x6xf16>, %w: tensor<16x16x3x3xf16>, %b: tensor<16xf16>, %r: tensor<2x16x8x6xf16>)
    -> tensor<2x16x8x6xf16> {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<2x16x8x6xf16>, tensor<16x16x3x3xf16>) -> tensor<2x16x8x6xf16>
  %e = tensor.empty() : tensor<2x16x8x6xf16>
  %bias = linalg.broadcast ins(%b : tensor<16xf16>) outs(%e : tensor<2x16x8x6xf16>) dimensions = [0, 2, 3]
  %0 = arith.addf %y, %bias : tensor<2x16x8x6xf16>
  %zero = arith.constant dense<0.0> : tensor<2x16x8x6xf16>
  %1 = arith.maximumf %0, %zero : tensor<2x16x8x6xf16>
  %2 = ringconv.pool max %1 dims [b, f, 0, 1] -> [b, f, 0, 1] window {size = [3, 3], pad = [[1, 1], [1, 1]]}
     : tensor<2x16x8x6xf16> -> tensor<2x16x8x6xf16>
  %z = ringconv.conv %2, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<2x16x8x6xf16>, tensor<16x16x3x3xf16>) -> tensor<2x16x8x6xf16>
  %3 = arith.addf %z, %r : tensor<2x16x8x6xf16>
  return %3 : tensor<2x16x8x6xf16>
}

// -----

// f32, features last already, and the gradient of a filter stay as they are.
// CHECK-LABEL: func.func @others
// CHECK-NOT: linalg.transpose
func.func @others(%x: tensor<1x4x8xf32>, %w: tensor<4x4x1xf32>, %h: tensor<1x8x4xf16>, %v: tensor<4x1x4xf16>,
                  %dy: tensor<1x8x4xf16>) -> (tensor<1x4x8xf32>, tensor<1x8x4xf16>, tensor<4x1x4xf16>) {
  %0 = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x4x8xf32>, tensor<4x4x1xf32>) -> tensor<1x4x8xf32>
  %1 = ringconv.conv %h, %v dims [b, 0, f] x [o, 0, i] -> [b, 0, f]
     : (tensor<1x8x4xf16>, tensor<4x1x4xf16>) -> tensor<1x8x4xf16>
  %2 = ringconv.conv %h, %dy dims [f, 0, b] x [i, 0, o] -> [f, 0, b]
     : (tensor<1x8x4xf16>, tensor<1x8x4xf16>) -> tensor<4x1x4xf16>
  return %0, %1, %2 : tensor<1x4x8xf32>, tensor<1x8x4xf16>, tensor<4x1x4xf16>
}
