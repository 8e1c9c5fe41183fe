// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s --pass-pipeline='builtin.module(func.func(convert-ringconv-to-loops{vectorize=0}))' \
// RUN:   | FileCheck %s
// RUN: ringconv-opt %s --pass-pipeline='builtin.module(func.func(convert-ringconv-to-loops))' 2>&1 \
// RUN:   | FileCheck %s --check-prefix=WHY

// Marks stand around all loops of a reported operation.
// CHECK-LABEL: func.func @conv
// CHECK: ringconv.mark 7
// CHECK-NOT: vector.
// CHECK: scf.if
// CHECK: math.fma %{{.*}} : f32
// CHECK: memref.store
// CHECK: ringconv.mark 7 end
func.func @conv(%x: memref<1x4x28xf32>, %w: memref<3x4x3xf32>, %y: memref<1x3x28xf32>) {
  ringconv.local_conv ins(%x, %w : memref<1x4x28xf32>, memref<3x4x3xf32>) outs(%y : memref<1x3x28xf32>)
    dims [b, f, 0] x [o, i, 0] -> [b, f, 0] at [-1] valid [0] to [28]
    {stride = array<i64: 1>, lhs_dilate = array<i64: 1>, rhs_dilate = array<i64: 1>,
     reverse = array<i1: false>, halo_dims = array<i64>, report = 7 : i64}
  return
}

// CHECK-LABEL: func.func @pool
// CHECK: ringconv.mark 8
// CHECK: arith.maximumf
// CHECK: ringconv.mark 8 end
func.func @pool(%x: memref<1x4x28xf32>, %y: memref<1x4x26xf32>) {
  ringconv.local_pool max ins(%x : memref<1x4x28xf32>) outs(%y : memref<1x4x26xf32>)
    dims [b, f, 0] -> [b, f, 0] at [0] valid [0] to [28]
    {size = array<i64: 3>, stride = array<i64: 1>, lhs_dilate = array<i64: 1>, rhs_dilate = array<i64: 1>,
     halo_dims = array<i64>, report = 8 : i64}
  return
}

// WHY: remark: plain loops: integers
func.func @integers(%x: memref<1x4x28xi8>, %w: memref<3x4x3xi8>, %y: memref<1x3x28xi32>) {
  ringconv.local_conv ins(%x, %w : memref<1x4x28xi8>, memref<3x4x3xi8>) outs(%y : memref<1x3x28xi32>)
    dims [b, f, 0] x [o, i, 0] -> [b, f, 0] at [-1] valid [0] to [28]
    {stride = array<i64: 1>, lhs_dilate = array<i64: 1>, rhs_dilate = array<i64: 1>,
     reverse = array<i1: false>, halo_dims = array<i64>}
  return
}

// Ranks differ in which outputs meet the holes.
// WHY: remark: plain loops: few output features per group and holes in the input with a stride, or at places that ranks differ in
func.func @holes(%x: memref<1x4x14xf32>, %w: memref<3x4x3xf32>, %y: memref<1x3x28xf32>, %offset: index) {
  ringconv.local_conv ins(%x, %w : memref<1x4x14xf32>, memref<3x4x3xf32>) outs(%y : memref<1x3x28xf32>)
    dims [b, f, 0] x [o, i, 0] -> [b, f, 0] at [%offset] valid [0] to [14]
    {stride = array<i64: 1>, lhs_dilate = array<i64: 2>, rhs_dilate = array<i64: 1>,
     reverse = array<i1: false>, halo_dims = array<i64>}
  return
}
