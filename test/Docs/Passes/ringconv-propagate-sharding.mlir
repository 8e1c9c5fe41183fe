// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s --ringconv-propagate-sharding | FileCheck %s
// CHECK: ringconv.reshard %{{.*}} <@grid, [{"x"}, {}]>
// CHECK: arith.addf
// CHECK: return

ringconv.mesh @grid = <["x" = 2]>
func.func @main(%a: tensor<4x6xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x"}, {}]>},
                %b: tensor<4x6xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"x"}]>}) -> tensor<4x6xf32> {
  %sum = arith.addf %a, %b : tensor<4x6xf32>
  return %sum : tensor<4x6xf32>
}
