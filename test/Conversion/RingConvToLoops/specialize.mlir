// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-run %s --check --remarks 2>&1 | FileCheck %s

// 50 columns over three ranks: 17, 17 and 16; the border ranks read padding. All
// that a kernel must know at compile time differs in two ways only.
// CHECK-DAG: remark: columns of 2 kinds, a kernel for each
// CHECK-DAG: check: output 0: max error
ringconv.mesh @grid = <["x" = 3]>
func.func @main(%x: tensor<1x4x6x50xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {}, {"x"}]>}, %w: tensor<16x4x3x3xf32>)
    -> (tensor<1x16x6x50xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {}, {"x"}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<1x4x6x50xf32>, tensor<16x4x3x3xf32>) -> tensor<1x16x6x50xf32>
  return %y : tensor<1x16x6x50xf32>
}
