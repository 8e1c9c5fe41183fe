// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-run %s --check | FileCheck %s
// CHECK: check: output 0: bit-identical

// A shard of one column is a slice whose last dimension has a stride: neighbours
// along another dimension may be neighbours in memory, but vectors are loaded
// along the last one.
ringconv.mesh @m = <["dp" = 2]>
func.func @main(%x: tensor<4x2xf32>, %y: tensor<4x2xf32> {ringconv.sharding = #ringconv.sharding<@m, [{}, {"dp"}]>})
    -> tensor<4x2xf32> {
  %z = arith.addf %x, %y : tensor<4x2xf32>
  return %z : tensor<4x2xf32>
}
