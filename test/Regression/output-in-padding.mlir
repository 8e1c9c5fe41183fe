// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rank 0 computes output 0, whose window lies in padding: what it may read ends
// before it begins, and it must read nothing.
// REQUIRES: gpusim
// RUN: ringconv-run %s --target=cuda --simulate --check | FileCheck %s
// CHECK: check: output 0: bit-identical
ringconv.mesh @m = <["x" = 3]>
func.func @main(%x: tensor<1x4x5xbf16> {ringconv.sharding = #ringconv.sharding<@m, [{}, {}, {"x", cuts = [0, 0, 3, 5]}]>},
                %w: tensor<3x4x2xbf16>) -> tensor<1x3x8xbf16> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[2, 2]]}
       : (tensor<1x4x5xbf16>, tensor<3x4x2xbf16>) -> tensor<1x3x8xbf16>
  return %y : tensor<1x3x8xbf16>
}
