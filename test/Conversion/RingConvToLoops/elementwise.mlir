// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -split-input-file --pass-pipeline='builtin.module(func.func(convert-ringconv-to-loops))' \
// RUN:   | FileCheck %s -enable-var-scope
// RUN: ringconv-opt %s -split-input-file \
// RUN:   --pass-pipeline='builtin.module(func.func(convert-ringconv-to-loops{vectorize=false}))' \
// RUN:   | FileCheck %s --check-prefix=PLAIN

#id = affine_map<(n, c, h, w) -> (n, c, h, w)>
#channel = affine_map<(n, c, h, w) -> (c)>

// 7 x 7 is one loop of 49 (bias follows c, so no more): 6 vectors of 8 and one
// element. A scalar becomes a vector where it is used.
// CHECK-LABEL: func.func @bias_relu
// PLAIN-LABEL: func.func @bias_relu
func.func @bias_relu(%x: memref<2x5x7x7xf32>, %b: memref<5xf32>, %y: memref<2x5x7x7xf32>) {
  %zero = arith.constant 0.0 : f32
  // CHECK: memref.collapse_shape %{{.*}} {{\[}}[0], [1], [2, 3]]
  // CHECK: %[[LENGTH:.*]] = arith.constant 49 : index
  // CHECK: %[[LANES:.*]] = arith.constant 8 : index
  // CHECK: %[[REST:.*]] = arith.remsi %[[LENGTH]], %[[LANES]]
  // CHECK: %[[WHOLE:.*]] = arith.subi %[[LENGTH]], %[[REST]]
  // CHECK: scf.for %{{.*}} to %[[WHOLE]]
  // CHECK: %[[X:.*]] = vector.load {{.*}} vector<8xf32>
  // CHECK: %[[B:.*]] = memref.load
  // CHECK: vector.broadcast %[[B]]
  // CHECK: arith.maximumf {{.*}} vector<8xf32>
  // CHECK: vector.store
  // CHECK: scf.for %{{.*}} = %[[WHOLE]] to %[[LENGTH]]
  // CHECK: arith.maximumf {{.*}} f32
  // PLAIN: linalg.generic
  linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %b : memref<2x5x7x7xf32>, memref<5xf32>) outs(%y : memref<2x5x7x7xf32>) {
    ^bb0(%v: f32, %w: f32, %o: f32):
      %s = arith.addf %v, %w : f32
      %r = arith.maximumf %s, %zero : f32
      linalg.yield %r : f32
  }
  return
}

// -----

#id = affine_map<(n) -> (n)>

// The widest type of the body gives the lanes: f64 has 4 of them.
// CHECK-LABEL: func.func @widest
func.func @widest(%x: memref<30xf16>, %y: memref<30xf64>) {
  // CHECK: vector.load {{.*}} vector<4xf16>
  // CHECK: arith.extf {{.*}} vector<4xf16> to vector<4xf64>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%x : memref<30xf16>) outs(%y : memref<30xf64>) {
    ^bb0(%v: f16, %o: f64):
      %w = arith.extf %v : f16 to f64
      linalg.yield %w : f64
  }
  return
}

// -----

#id = affine_map<(n, m) -> (n, m)>
#t = affine_map<(n, m) -> (m, n)>

// Operands that do not lie densely along the last loop stay for plain loops.
// CHECK-LABEL: func.func @transposed
func.func @transposed(%x: memref<8x8xf32>, %y: memref<8x8xf32>) {
  // CHECK: linalg.generic
  // CHECK-NOT: vector
  linalg.generic {indexing_maps = [#t, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<8x8xf32>) outs(%y : memref<8x8xf32>) {
    ^bb0(%v: f32, %o: f32):
      linalg.yield %v : f32
  }
  return
}

// -----

#id = affine_map<(n, m) -> (n, m)>

// A column of a larger buffer: the loops do not merge, vectors run in the rows.
// CHECK-LABEL: func.func @strided
func.func @strided(%x: memref<8x24xf32, strided<[32, 1]>>, %y: memref<8x24xf32>) {
  // CHECK-NOT: collapse_shape
  // CHECK: vector.load {{.*}} memref<8x24xf32, strided<[32, 1]>>, vector<8xf32>
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : memref<8x24xf32, strided<[32, 1]>>) outs(%y : memref<8x24xf32>) {
    ^bb0(%v: f32, %o: f32):
      linalg.yield %v : f32
  }
  return
}

// -----

#id = affine_map<(n, m) -> (n, m)>

// A body that needs its place, and a sum, stay.
// CHECK-LABEL: func.func @others
func.func @others(%x: memref<8x24xf32>, %y: memref<8x24xi32>, %s: memref<8xf32>) {
  // CHECK: linalg.generic
  // CHECK: linalg.generic
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]} outs(%y : memref<8x24xi32>) {
    ^bb0(%o: i32):
      %i = linalg.index 1 : index
      %c = arith.index_cast %i : index to i32
      linalg.yield %c : i32
  }
  linalg.generic {indexing_maps = [#id, affine_map<(n, m) -> (n)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<8x24xf32>) outs(%s : memref<8xf32>) {
    ^bb0(%v: f32, %o: f32):
      %a = arith.addf %v, %o : f32
      linalg.yield %a : f32
  }
  return
}

// -----

#id = affine_map<(n, c, h, w) -> (n, c, h, w)>
#gate = affine_map<(n, c, h, w) -> (0, c, 0, 0)>

// Dimensions that no loop walks do not keep loops apart: h and w are one loop.
// CHECK-LABEL: func.func @gate
func.func @gate(%x: memref<2x5x7x7xf32>, %g: memref<1x5x1x1xf32>, %y: memref<2x5x7x7xf32>) {
  // CHECK: memref.subview %{{.*}} : memref<1x5x1x1xf32> to memref<5xf32
  // CHECK: memref.collapse_shape %{{.*}} {{\[}}[0], [1], [2, 3]]
  // CHECK: vector.store
  linalg.generic {indexing_maps = [#id, #gate, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %g : memref<2x5x7x7xf32>, memref<1x5x1x1xf32>) outs(%y : memref<2x5x7x7xf32>) {
    ^bb0(%v: f32, %w: f32, %o: f32):
      %s = arith.mulf %v, %w : f32
      linalg.yield %s : f32
  }
  return
}
