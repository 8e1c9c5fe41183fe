// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise operations of several types at lengths that are no multiple of a
// vector, cut unevenly, against the uncut program's plain loops.
// RUN: ringconv-run %s --check | FileCheck %s
// RUN: ringconv-run %s --check --target-cpu=x86-64-v3 | FileCheck %s
// CHECK: check: output 0: bit-identical
// CHECK: check: output 1: bit-identical
// CHECK: check: output 2: bit-identical
// CHECK: check: output 3: bit-identical
// CHECK: check: output 4: bit-identical

ringconv.mesh @grid = <["x" = 3]>
#cut = #ringconv.sharding<@grid, [{}, {}, {"x"}]>
#id = affine_map<(a, b, c) -> (a, b, c)>
#inner = affine_map<(a, b, c) -> (c)>
#middle = affine_map<(a, b, c) -> (b)>
#gate = affine_map<(a, b, c) -> (a, 0, 0)>

func.func @main(%x: tensor<3x7x61xf32> {ringconv.sharding = #cut}, %h: tensor<3x7x61xf16> {ringconv.sharding = #cut},
                %i: tensor<3x7x61xi8> {ringconv.sharding = #cut}, %row: tensor<61xf32>, %column: tensor<7xf64>,
                %g: tensor<3x1x1xf32>)
    -> (tensor<3x7x61xf32>, tensor<3x7x61xf16>, tensor<3x7x61xi32>, tensor<3x7x61xf64>, tensor<3x7x61xf32>) {
  %two = arith.constant 2.0 : f32
  %e0 = tensor.empty() : tensor<3x7x61xf32>
  %y0 = linalg.generic {indexing_maps = [#id, #inner, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %row : tensor<3x7x61xf32>, tensor<61xf32>) outs(%e0 : tensor<3x7x61xf32>) {
    ^bb0(%v: f32, %r: f32, %o: f32):
      %p = arith.mulf %v, %r : f32
      %c = arith.cmpf ogt, %p, %v : f32
      %m = arith.maximumf %v, %two : f32
      %s = arith.select %c, %p, %m : f32
      linalg.yield %s : f32
  } -> tensor<3x7x61xf32>
  %y1 = arith.negf %h : tensor<3x7x61xf16>
  %e2 = tensor.empty() : tensor<3x7x61xi32>
  %y2 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%i : tensor<3x7x61xi8>) outs(%e2 : tensor<3x7x61xi32>) {
    ^bb0(%v: i8, %o: i32):
      %w = arith.extsi %v : i8 to i32
      %s = arith.muli %w, %w : i32
      linalg.yield %s : i32
  } -> tensor<3x7x61xi32>
  %e3 = tensor.empty() : tensor<3x7x61xf64>
  %y3 = linalg.generic {indexing_maps = [#id, #middle, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %column : tensor<3x7x61xf32>, tensor<7xf64>) outs(%e3 : tensor<3x7x61xf64>) {
    ^bb0(%v: f32, %k: f64, %o: f64):
      %w = arith.extf %v : f32 to f64
      %s = arith.subf %w, %k : f64
      linalg.yield %s : f64
  } -> tensor<3x7x61xf64>
  %e4 = tensor.empty() : tensor<3x7x61xf32>
  %y4 = linalg.generic {indexing_maps = [#id, #gate, #id], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x, %g : tensor<3x7x61xf32>, tensor<3x1x1xf32>) outs(%e4 : tensor<3x7x61xf32>) {
    ^bb0(%v: f32, %k: f32, %o: f32):
      %s = arith.mulf %v, %k : f32
      linalg.yield %s : f32
  } -> tensor<3x7x61xf32>
  return %y0, %y1, %y2, %y3, %y4
    : tensor<3x7x61xf32>, tensor<3x7x61xf16>, tensor<3x7x61xi32>, tensor<3x7x61xf64>, tensor<3x7x61xf32>
}
