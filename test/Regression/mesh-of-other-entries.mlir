// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-run %s --check --entry=any --mesh=x=4
// RUN: not ringconv-run %s --check --entry=fixed --mesh=x=4 2>&1 | FileCheck %s

// Cuts of a function that is not run need not fit the mesh of the run.

ringconv.mesh @grid = <["x" = 2]>

func.func @any(%x: tensor<4x8xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x"}, {}]>}) -> tensor<4x6xf32> {
  %y = ringconv.pool max %x dims [f, 0] -> [f, 0] window {size = [3]} : tensor<4x8xf32> -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// CHECK: error: argument 0: sharding_c5: dim 0: 4 parts need 5 cuts, but there are 3
// CHECK-NOT: error:
func.func @fixed(%x: tensor<4x8xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x", cuts = [0, 1, 4]}, {}]>})
    -> tensor<4x6xf32> {
  %y = ringconv.pool max %x dims [f, 0] -> [f, 0] window {size = [3]} : tensor<4x8xf32> -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}
