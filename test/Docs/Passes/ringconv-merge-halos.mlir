// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s --ringconv-partition --ringconv-lower-halo --ringconv-merge-halos | FileCheck %s
// CHECK: ringconv.start
// CHECK-NOT: ringconv.start

ringconv.mesh @ring = <["w" = 4]>
#cut = #ringconv.sharding<@ring, [{}, {}, {"w"}]>
func.func @main(%x: tensor<1x2x16xf32> {ringconv.sharding = #cut}, %a: tensor<2x2x3xf32>, %b: tensor<2x2x3xf32>)
    -> tensor<1x2x16xf32> {
  %0 = ringconv.conv %x, %a dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
     : (tensor<1x2x16xf32>, tensor<2x2x3xf32>) -> tensor<1x2x16xf32>
  %1 = ringconv.conv %x, %b dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
     : (tensor<1x2x16xf32>, tensor<2x2x3xf32>) -> tensor<1x2x16xf32>
  %2 = arith.addf %0, %1 : tensor<1x2x16xf32>
  return %2 : tensor<1x2x16xf32>
}
