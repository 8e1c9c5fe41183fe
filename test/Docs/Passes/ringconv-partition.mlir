// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s --ringconv-partition | FileCheck %s
// CHECK: func.func @main(%arg0: tensor<1x2x4x16xf32>
// CHECK: ringconv.coord @ring ["w"]
// CHECK: ringconv.lookup
// CHECK: ringconv.halo_exchange %arg0 @ring
// CHECK: ringconv.local_conv ins(%arg0, %arg1

ringconv.mesh @ring = <["w" = 4]>
func.func @main(%x: tensor<1x2x4x64xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{}, {}, {}, {"w"}]>},
                %w: tensor<3x2x3x3xf32>) -> tensor<1x3x4x64xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<1x2x4x64xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x4x64xf32>
  return %y : tensor<1x3x4x64xf32>
}
