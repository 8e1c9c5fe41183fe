// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s --ringconv-export-shard | FileCheck %s
// CHECK: shard.shard %arg0 to %sharding

ringconv.mesh @ring = <["w" = 4]>
func.func @main(%x: tensor<1x2x4x64xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{}, {}, {}, {"w"}]>},
                %w: tensor<3x2x1x1xf32>) -> tensor<1x3x4x64xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
     : (tensor<1x2x4x64xf32>, tensor<3x2x1x1xf32>) -> tensor<1x3x4x64xf32>
  return %y : tensor<1x3x4x64xf32>
}
