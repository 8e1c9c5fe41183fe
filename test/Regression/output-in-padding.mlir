// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rank 0 has no elements and computes output 0, whose window lies in padding: what
// it may read ends before it begins, and it must read nothing.
// REQUIRES: gpusim
// RUN: ringconv-run %s --target=cuda --simulate --check | FileCheck %s
// CHECK: check: output 0: bit-identical
// CHECK: check: output 1: {{max error|bit-identical}}
ringconv.mesh @m = <["x" = 3]>
func.func @main(%x: tensor<1x4x5xbf16> {ringconv.sharding = #ringconv.sharding<@m, [{}, {}, {"x", cuts = [0, 0, 3, 5]}]>},
                %w: tensor<3x4x2xbf16>,
                %z: tensor<1x5x4xf32> {ringconv.sharding = #ringconv.sharding<@m, [{}, {"x", cuts = [0, 0, 3, 5]}, {}]>},
                %v: tensor<2x1x4xf32>) -> (tensor<1x3x8xbf16>, tensor<1x8x4xf32>) {
  %0 = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[2, 2]]}
       : (tensor<1x4x5xbf16>, tensor<3x4x2xbf16>) -> tensor<1x3x8xbf16>
  %1 = ringconv.conv %z, %v dims [b, 0, f] x [0, i, o] -> [b, 0, f] window {pad = [[2, 2]]}
       {feature_group_count = 4 : i64} : (tensor<1x5x4xf32>, tensor<2x1x4xf32>) -> tensor<1x8x4xf32>
  return %0, %1 : tensor<1x3x8xbf16>, tensor<1x8x4xf32>
}
