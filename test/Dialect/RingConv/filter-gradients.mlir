// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which operand's halo a filter gradient exchanges: that of the result's
// gradient, 8 features, or the input's, 2 features, one column to each of three
// neighbours in two directions: 6 * 4 bytes per feature.
// RUN: ringconv-opt %s --ringconv-differentiate=entry=both --ringconv-differentiate=entry=narrow --ringconv-differentiate=entry=wide --ringconv-differentiate=entry=mirror --ringconv-partition-pipeline -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: FileCheck %s < %t

ringconv.mesh @g = <["w" = 4]>
#cut = #ringconv.sharding<@g, [{}, {}, {"w"}]>

// Both gradients: one exchange, of dy.
// REMARK: remark: filter gradient: shares the exchange of the result's gradient, 48 bytes of the input's halo saved
// CHECK-LABEL: func.func @both_grad
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x2x4xf32> {{.*}}, %[[DY:[^:]*]]: tensor<1x8x4xf32>
// CHECK: ringconv.start {{.*}} ins(%[[DY]] : tensor<1x8x4xf32>) outs(
// CHECK-NOT: ringconv.halo_dim
// CHECK: %[[SLABS:.*]]:2 = ringconv.wait
// CHECK-NOT: ringconv.halo_dim
// CHECK: ringconv.local_conv {{.*}} halos(%[[SLABS]]#0, %[[SLABS]]#1 {{.*}} -> tensor<1x2x4xf32>
// CHECK: ringconv.local_conv ins(%[[DY]], %[[X]] : {{.*}} halos(%[[SLABS]]#0, %[[SLABS]]#1 {{.*}} -> tensor<8x2x3xf32>
// CHECK-NOT: ringconv.halo_dim
// CHECK: return
func.func @both(%x: tensor<1x2x16xf32> {ringconv.sharding = #cut, ringconv.wants_grad},
                %w: tensor<8x2x3xf32> {ringconv.wants_grad}) -> (tensor<1x8x16xf32> {ringconv.sharding = #cut}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
     : (tensor<1x2x16xf32>, tensor<8x2x3xf32>) -> tensor<1x8x16xf32>
  return %y : tensor<1x8x16xf32>
}

// The filter's alone: the narrower of the two.
// REMARK: remark: filter gradient: exchanges the input's halo, 48 bytes; that of the result's gradient has 192
// CHECK-LABEL: func.func @narrow_grad
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x2x4xf32> {{.*}}, %[[DY:[^:]*]]: tensor<1x8x4xf32>
// CHECK: ringconv.local_conv ins(%[[X]], %[[DY]] :
func.func @narrow(%x: tensor<1x2x16xf32> {ringconv.sharding = #cut},
                  %w: tensor<8x2x3xf32> {ringconv.wants_grad}) -> (tensor<1x8x16xf32> {ringconv.sharding = #cut}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
     : (tensor<1x2x16xf32>, tensor<8x2x3xf32>) -> tensor<1x8x16xf32>
  return %y : tensor<1x8x16xf32>
}

// REMARK: remark: filter gradient: exchanges the halo of the result's gradient, 48 bytes; the input's has 192
// CHECK-LABEL: func.func @wide_grad
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x8x4xf32> {{.*}}, %[[DY:[^:]*]]: tensor<1x2x4xf32>
// CHECK: ringconv.local_conv ins(%[[DY]], %[[X]] :
func.func @wide(%x: tensor<1x8x16xf32> {ringconv.sharding = #cut},
                %w: tensor<2x8x3xf32> {ringconv.wants_grad}) -> (tensor<1x2x16xf32> {ringconv.sharding = #cut}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
     : (tensor<1x8x16xf32>, tensor<2x8x3xf32>) -> tensor<1x2x16xf32>
  return %y : tensor<1x2x16xf32>
}

// A mirrored border is read through the input.
// CHECK-LABEL: func.func @mirror_grad
// CHECK-SAME: %[[X:[^:]*]]: tensor<1x8x4xf32> {{.*}}, %[[DY:[^:]*]]: tensor<1x2x4xf32>
// CHECK: ringconv.local_conv ins(%[[X]], %[[DY]] :
func.func @mirror(%x: tensor<1x8x16xf32> {ringconv.sharding = #cut},
                  %w: tensor<2x8x3xf32> {ringconv.wants_grad}) -> (tensor<1x2x16xf32> {ringconv.sharding = #cut}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]], border = ["reflect"]}
     : (tensor<1x8x16xf32>, tensor<2x8x3xf32>) -> tensor<1x2x16xf32>
  return %y : tensor<1x2x16xf32>
}
