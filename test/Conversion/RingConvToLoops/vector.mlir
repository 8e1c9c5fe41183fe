// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s --pass-pipeline='builtin.module(func.func(convert-ringconv-to-loops{vector-width=16}))' \
// RUN:   | FileCheck %s
// RUN: ringconv-opt %s --pass-pipeline='builtin.module(func.func(convert-ringconv-to-loops{vector-width=8}))' \
// RUN:   | FileCheck %s --check-prefix=AVX2

// 1x4x6x28, 3x3 pad 1, not cut: a tile of 14 columns at the left border and one
// at the right; in each 14 * 3 multiply-adds per row of taps, less the one tap
// that is padding.
// CHECK-LABEL: func.func @padded
// CHECK: memref.alloc() {alignment = 64 : i64} : memref<1x4x3x3x16xf32>
// CHECK-COUNT-41: math.fma %{{.*}} : vector<16xf32>
// CHECK-NOT: math.fma
// CHECK-COUNT-16: vector.maskedstore
// CHECK-COUNT-41: math.fma
// CHECK-NOT: math.fma
// CHECK-NOT: memref.store
// CHECK-COUNT-16: vector.maskedstore
// CHECK-NOT: scf.if
// CHECK: memref.dealloc
// AVX2-LABEL: func.func @padded
// AVX2: memref.alloc() {alignment = 64 : i64} : memref<2x4x3x3x8xf32>
func.func @padded(%x: memref<1x4x6x28xf32>, %w: memref<16x4x3x3xf32>, %y: memref<1x16x6x28xf32>) {
  ringconv.local_conv ins(%x, %w : memref<1x4x6x28xf32>, memref<16x4x3x3xf32>) outs(%y : memref<1x16x6x28xf32>)
    dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] at [-1, -1] valid [0, 0] to [6, 28]
    {stride = array<i64: 1, 1>, lhs_dilate = array<i64: 1, 1>, rhs_dilate = array<i64: 1, 1>,
     reverse = array<i1: false, false>, halo_dims = array<i64>}
  return
}

// The last dimension is cut, halos of 1: whether they are padding is known at
// run time only. One branch in each border tile, none in the tiles between.
ringconv.mesh @grid = <["sp" = 4]>
// CHECK-LABEL: func.func @cut
// CHECK: %[[LEFT:.*]] = arith.andi
// CHECK: scf.if %[[LEFT]]
// CHECK: memref.load %{{.*}} : memref<?x?x?x?xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK: vector.maskedstore
// CHECK: scf.for
// CHECK-NOT: scf.if
// CHECK: vector.maskedstore
// CHECK: %[[RIGHT:.*]] = arith.andi
// CHECK: scf.if %[[RIGHT]]
// CHECK-NOT: scf.if
// CHECK: return
func.func @cut(%x: memref<1x4x6x56xf32>, %low: memref<1x4x6x1xf32>, %high: memref<1x4x6x1xf32>,
               %w: memref<16x4x3x3xf32>, %y: memref<1x16x6x56xf32>) {
  %c = ringconv.coord @grid ["sp"]
  %begin = ringconv.lookup %c <0: 1, 1: 0>
  %end = ringconv.lookup %c <0: 58, 3: 57>
  ringconv.local_conv ins(%x, %w : memref<1x4x6x56xf32>, memref<16x4x3x3xf32>)
    halos(%low, %high : memref<1x4x6x1xf32>, memref<1x4x6x1xf32>) outs(%y : memref<1x16x6x56xf32>)
    dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] at [-1, 0] valid [0, %begin] to [6, %end]
    {stride = array<i64: 1, 1>, lhs_dilate = array<i64: 1, 1>, rhs_dilate = array<i64: 1, 1>,
     reverse = array<i1: false, false>, halo_dims = array<i64: 3>}
  return
}

// Rows are cut: a select per row, none per element.
// CHECK-LABEL: func.func @rows
// CHECK-COUNT-2: arith.select %{{.*}} : memref<
// CHECK: math.fma
// CHECK-NOT: memref.store
// CHECK: return
func.func @rows(%x: memref<1x4x6x14xf32>, %low: memref<1x4x1x14xf32>, %high: memref<1x4x1x14xf32>,
                %w: memref<16x4x3x1xf32>, %y: memref<1x16x6x14xf32>) {
  ringconv.local_conv ins(%x, %w : memref<1x4x6x14xf32>, memref<16x4x3x1xf32>)
    halos(%low, %high : memref<1x4x1x14xf32>, memref<1x4x1x14xf32>) outs(%y : memref<1x16x6x14xf32>)
    dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] at [0, 0] valid [0, 0] to [8, 14]
    {stride = array<i64: 1, 1>, lhs_dilate = array<i64: 1, 1>, rhs_dilate = array<i64: 1, 1>,
     reverse = array<i1: false, false>, halo_dims = array<i64: 2>}
  return
}

// Features last: accumulators are stored as they are. 17 of them: the second
// block starts at feature 1. One tap: the rows become one.
// CHECK-LABEL: func.func @features_last
// CHECK: memref.collapse_shape %{{.*}} {{\[\[}}0], [1, 2], [3]]
// CHECK: arith.minsi
// CHECK: math.fma
// CHECK-NOT: vector.shuffle
// CHECK-NOT: vector.maskedstore
// CHECK: vector.store %{{.*}} : memref<1x84x17xf32>, vector<16xf32>
func.func @features_last(%x: memref<1x6x14x4xf32>, %w: memref<1x1x4x17xf32>, %y: memref<1x6x14x17xf32>) {
  ringconv.local_conv ins(%x, %w : memref<1x6x14x4xf32>, memref<1x1x4x17xf32>) outs(%y : memref<1x6x14x17xf32>)
    dims [b, 0, 1, f] x [0, 1, i, o] -> [b, 0, 1, f] at [0, 0] valid [0, 0] to [6, 14]
    {stride = array<i64: 1, 1>, lhs_dilate = array<i64: 1, 1>, rhs_dilate = array<i64: 1, 1>,
     reverse = array<i1: false, false>, halo_dims = array<i64>}
  return
}
