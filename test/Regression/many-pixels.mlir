// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -convert-ringconv-to-loops="vectorize=true" 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t

// Images of many columns became plain loops, because only tiles of about 16
// columns were tried, which do not fit into 16 registers; and merging the rows of
// a 1x1 convolution let the compiler walk over every pixel.

// REMARK-COUNT-1: remark: plain loops
// REMARK-SAME: more columns than are planned one by one
// REMARK-NOT: remark: plain loops
// CHECK-LABEL: func.func @pointwise
// CHECK-NOT: collapse_shape
// CHECK: math.fma {{.*}} : vector<8xf32>
func.func @pointwise(%x: memref<1x4096x4096x4xf32>, %w: memref<1x1x4x16xf32>, %y: memref<1x4096x4096x16xf32>) {
  ringconv.local_conv ins(%x, %w : memref<1x4096x4096x4xf32>, memref<1x1x4x16xf32>)
    outs(%y : memref<1x4096x4096x16xf32>)
    dims [b, 0, 1, f] x [0, 1, i, o] -> [b, 0, 1, f] at [0, 0] valid [0, 0] to [4096, 4096]
    {stride = array<i64: 1, 1>, lhs_dilate = array<i64: 1, 1>, rhs_dilate = array<i64: 1, 1>,
     reverse = array<i1: false, false>, halo_dims = array<i64>}
  return
}

// CHECK-LABEL: func.func @wide
// CHECK: math.fma {{.*}} : vector<8xf32>
func.func @wide(%x: memref<1x4x8x1440xf32>, %w: memref<16x4x3x3xf32>, %y: memref<1x16x8x1440xf32>) {
  ringconv.local_conv ins(%x, %w : memref<1x4x8x1440xf32>, memref<16x4x3x3xf32>)
    outs(%y : memref<1x16x8x1440xf32>)
    dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] at [-1, -1] valid [0, 0] to [8, 1440]
    {stride = array<i64: 1, 1>, lhs_dilate = array<i64: 1, 1>, rhs_dilate = array<i64: 1, 1>,
     reverse = array<i1: false, false>, halo_dims = array<i64>}
  return
}

// More columns than any image has compile at once too.
// CHECK-LABEL: func.func @columns
func.func @columns(%x: memref<1x4x2147483647xf32>, %w: memref<16x4x3xf32>, %y: memref<1x16x2147483645xf32>) {
  ringconv.local_conv ins(%x, %w : memref<1x4x2147483647xf32>, memref<16x4x3xf32>)
    outs(%y : memref<1x16x2147483645xf32>)
    dims [b, f, 0] x [o, i, 0] -> [b, f, 0] at [0] valid [0] to [2147483647]
    {stride = array<i64: 1>, lhs_dilate = array<i64: 1>, rhs_dilate = array<i64: 1>, reverse = array<i1: false>,
     halo_dims = array<i64>}
  return
}
