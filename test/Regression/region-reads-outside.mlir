// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-run %s --entry=values --check
// RUN: not ringconv-run %s --entry=cut_value 2>&1 | FileCheck %s

// Offsets that a program computes, and scalars that a body reads from outside it,
// were left pointing at the program before it was partitioned.

ringconv.mesh @grid = <["x" = 4]>
#id = affine_map<(i, j) -> (i, j)>

func.func @values(%x: tensor<6x10xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"x"}]>},
                  %v: tensor<6xf32>) -> (tensor<6x10xf32>, tensor<6x2xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %f = tensor.extract %v[%c1] : tensor<6xf32>
  %e = tensor.empty() : tensor<6x10xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x10xf32>) outs(%e : tensor<6x10xf32>) {
  ^bb0(%a: f32, %out: f32):
    %t = tensor.extract %v[%c3] : tensor<6xf32>
    %m = arith.mulf %a, %f : f32
    %s = arith.addf %m, %t : f32
    linalg.yield %s : f32
  } -> tensor<6x10xf32>
  %z = arith.constant dense<0.0> : tensor<6x2xf32>
  %r:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %y, %b = %z) -> (tensor<6x10xf32>, tensor<6x2xf32>) {
    %s = tensor.extract_slice %a[%i, 0] [2, 10] [1, 1] : tensor<6x10xf32> to tensor<2x10xf32>
    %d = arith.addf %s, %s : tensor<2x10xf32>
    %u = tensor.insert_slice %d into %a[%i, 0] [2, 10] [1, 1] : tensor<2x10xf32> into tensor<6x10xf32>
    %p = tensor.extract_slice %a[0, %i] [6, 2] [1, 1] : tensor<6x10xf32> to tensor<6x2xf32>
    %q = arith.addf %p, %b : tensor<6x2xf32>
    scf.yield %u, %q : tensor<6x10xf32>, tensor<6x2xf32>
  }
  return %r#0, %r#1 : tensor<6x10xf32>, tensor<6x2xf32>
}

func.func @cut_value(%x: tensor<6x10xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"x"}]>})
    -> tensor<6x10xf32> {
  %c3 = arith.constant 3 : index
  %e = tensor.empty() : tensor<6x10xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<6x10xf32>) outs(%e : tensor<6x10xf32>) {
  ^bb0(%a: f32, %out: f32):
    // CHECK: [[#@LINE+1]]:{{.*}}: error: 'tensor.extract' op has no rules for cut values, but operand 0 is cut
    %t = tensor.extract %x[%c3, %c3] : tensor<6x10xf32>
    %s = arith.addf %a, %t : f32
    linalg.yield %s : f32
  } -> tensor<6x10xf32>
  return %y : tensor<6x10xf32>
}
