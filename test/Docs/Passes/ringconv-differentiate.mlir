// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s --ringconv-differentiate | FileCheck %s
// CHECK: func.func @main
// CHECK: func.func @main_grad
// CHECK: ringconv.conv

ringconv.mesh @ring = <["w" = 4]>
#cut = #ringconv.sharding<@ring, [{}, {}, {"w"}]>
func.func @main(%x: tensor<1x2x16xf32> {ringconv.sharding = #cut}, %w: tensor<3x2x3xf32> {ringconv.wants_grad})
    -> tensor<1x3x16xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
     : (tensor<1x2x16xf32>, tensor<3x2x3xf32>) -> tensor<1x3x16xf32>
  return %y : tensor<1x3x16xf32>
}
