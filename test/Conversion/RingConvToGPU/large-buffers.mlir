// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fast kernels count elements in 32 bits: 2^31 of them take the plain kernel,
// the same convolution on fewer does not.
// RUN: ringconv-opt %s -verify-diagnostics --convert-ringconv-to-gpu -o /dev/null
func.func @large(%x: memref<1x32x8192x8192xf32>, %w: memref<8x32x1x1xf32>, %y: memref<1x8x8192x8192xf32>, %a: index, %b: index) {
  // expected-remark@+1 {{a buffer has more elements than 32 bits count}}
  ringconv.local_conv ins(%x, %w : memref<1x32x8192x8192xf32>, memref<8x32x1x1xf32>) outs(%y : memref<1x8x8192x8192xf32>)
    dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] at [%a, %a] valid [0, 0] to [%b, %b]
    {halo_dims = array<i64>, lhs_dilate = array<i64: 1, 1>, reverse = array<i1: false, false>,
     rhs_dilate = array<i64: 1, 1>, stride = array<i64: 1, 1>}
  return
}

func.func @small(%x: memref<1x16x8192x8192xf32>, %w: memref<8x16x1x1xf32>, %y: memref<1x8x8192x8192xf32>, %a: index, %b: index) {
  // expected-remark@+1 {{kernel: matrix product}}
  ringconv.local_conv ins(%x, %w : memref<1x16x8192x8192xf32>, memref<8x16x1x1xf32>) outs(%y : memref<1x8x8192x8192xf32>)
    dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] at [%a, %a] valid [0, 0] to [%b, %b]
    {halo_dims = array<i64>, lhs_dilate = array<i64: 1, 1>, reverse = array<i1: false, false>,
     rhs_dilate = array<i64: 1, 1>, stride = array<i64: 1, 1>}
  return
}
