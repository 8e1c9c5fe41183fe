// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-run %s --check

// Messages count elements in the bytes from one to the next: 8 for index, 4 for i24.

ringconv.mesh @grid = <["x" = 4]>

func.func @main(%x: tensor<6x10xi32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"x"}]>})
    -> (tensor<6x10xi32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x"}, {}]>},
        tensor<6x10xi32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x"}, {}]>}) {
  %i = arith.index_cast %x : tensor<6x10xi32> to tensor<6x10xindex>
  %j = ringconv.reshard %i <@grid, [{"x"}, {}]> : tensor<6x10xindex>
  %k = arith.index_cast %j : tensor<6x10xindex> to tensor<6x10xi32>
  %n = arith.trunci %x : tensor<6x10xi32> to tensor<6x10xi24>
  %m = ringconv.reshard %n <@grid, [{"x"}, {}]> : tensor<6x10xi24>
  %o = arith.extsi %m : tensor<6x10xi24> to tensor<6x10xi32>
  return %k, %o : tensor<6x10xi32>, tensor<6x10xi32>
}
