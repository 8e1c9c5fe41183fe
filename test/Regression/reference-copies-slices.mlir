// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-run %s --check

// The uncut program copies strided slices too, and calls no runtime of MLIR's for it.

ringconv.mesh @grid = <["x" = 4]>

func.func @main(%x: tensor<3x10xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"x"}]>},
                %v: tensor<3x4xf32>) -> (tensor<3x20xf32>, tensor<3x10xf32>) {
  %twice = tensor.concat dim(1) %x, %x : (tensor<3x10xf32>, tensor<3x10xf32>) -> tensor<3x20xf32>
  %some = tensor.insert_slice %v into %x[0, 2] [3, 4] [1, 2] : tensor<3x4xf32> into tensor<3x10xf32>
  return %twice, %some : tensor<3x20xf32>, tensor<3x10xf32>
}
