// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel that needs another layout copies its operands. It must copy nothing for
// a rank without outputs, where a slab is empty, and no element that no output
// reads: messages leave such elements of a slab as they were.
// REQUIRES: gpusim
// RUN: ringconv-run %s --target=cuda --simulate --check --remarks 2>&1 | FileCheck %s
// CHECK-COUNT-2: remark: kernel: matrix product on tensor cores, {{.*}}, operands copied
// CHECK: check: output 0:
// CHECK: check: output 1:
ringconv.mesh @m = <["w" = 4]>
func.func @main(%x: tensor<1x2x34xbf16> {ringconv.sharding = #ringconv.sharding<@m, [{}, {}, {"w"}]>},
                %w: tensor<16x2x2xbf16>,
                %z: tensor<1x2x5xf16> {ringconv.sharding = #ringconv.sharding<@m, [{}, {}, {"w", cuts = [0, 0, 5, 5, 5]}]>},
                %v: tensor<8x2x3xf16>)
    -> (tensor<1x16x17xf32> {ringconv.sharding = #ringconv.sharding<@m, [{}, {}, {"w", cuts = [0, 0, 2, 4, 17]}]>},
        tensor<1x8x5xf16> {ringconv.sharding = #ringconv.sharding<@m, [{}, {}, {"w", cuts = [0, 2, 2, 3, 5]}]>}) {
  %0 = ringconv.conv %x, %w dims [b, f, 0] x [o, 0, i] -> [b, f, 0]
         window {stride = [2], pad = [[0, 1]], rhs_dilate = [2]}
     : (tensor<1x2x34xbf16>, tensor<16x2x2xbf16>) -> tensor<1x16x17xf32>
  %1 = ringconv.conv %z, %v dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
     : (tensor<1x2x5xf16>, tensor<8x2x3xf16>) -> tensor<1x8x5xf16>
  return %0, %1 : tensor<1x16x17xf32>, tensor<1x8x5xf16>
}
