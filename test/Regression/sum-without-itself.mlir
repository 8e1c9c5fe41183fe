// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-run %s --check

// These reductions end in an addition and start from zero, yet are no sums: ranks
// cannot add their partial results.

ringconv.mesh @grid = <["x" = 4]>
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>

func.func @main(%x: tensor<6x10xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"x"}]>})
    -> (tensor<6xf32>, tensor<6xf32>) {
  %z = arith.constant dense<0.0> : tensor<6xf32>
  %h = arith.constant 0.5 : f32
  %last = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<6x10xf32>) outs(%z : tensor<6xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %a : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  %decayed = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<6x10xf32>) outs(%z : tensor<6xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.mulf %o, %h : f32
    %s = arith.addf %m, %a : f32
    linalg.yield %s : f32
  } -> tensor<6xf32>
  return %last, %decayed : tensor<6xf32>, tensor<6xf32>
}
