// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -split-input-file -verify-diagnostics --convert-ringconv-to-cudnn=workspace=4096 | FileCheck %s

// cuDNN's own padding says what is read beyond the shard: nothing is copied.
// CHECK: module attributes {{.*}}ringconv.cudnn
// CHECK-LABEL: func.func @padded(%arg0: !llvm.ptr, %arg1: memref<1x3x8xf32>
// CHECK-NOT: memref.copy
// CHECK: %[[ROOM:.*]] = memref.alloc() : memref<4096xi8>
// CHECK-NOT: memref.copy
// CHECK: call @ringconv_cuda_convolve(%arg0, {{.*}}) : ({{.*}}) -> i32
// CHECK: ringconv.keep %{{.*}}, %arg2, %arg3, %[[ROOM]]
// CHECK-NOT: local_conv
func.func @padded(%c: !llvm.ptr, %x: memref<1x3x8xf32>, %w: memref<4x3x3xf32>, %y: memref<1x4x8xf32>) {
  // expected-remark@below {{by cuDNN}}
  ringconv.local_conv ins(%x, %w : memref<1x3x8xf32>, memref<4x3x3xf32>) outs(%y : memref<1x4x8xf32>)
    dims [b, f, 0] x [o, i, 0] -> [b, f, 0] at [-1] valid [0] to [8]
    {stride = array<i64: 1>, lhs_dilate = array<i64: 1>, rhs_dilate = array<i64: 1>,
     reverse = array<i1: false>, halo_dims = array<i64>}
  return
}

// -----

// The part that is read, in place; the filter goes into cuDNN's order.
// CHECK-LABEL: func.func @inner
// CHECK: %[[PART:.*]] = memref.subview %arg1[0, 2, 0] [1, 5, 3] [1, 1, 1]
// CHECK: %[[FILTER:.*]] = memref.alloc() : memref<4x3x3xf32>
// CHECK: %[[OTHER:.*]] = memref.transpose %arg2
// CHECK: memref.copy %[[OTHER]], %[[FILTER]]
// CHECK-NOT: memref.copy
// CHECK: call @ringconv_cuda_convolve
func.func @inner(%c: !llvm.ptr, %x: memref<1x8x3xf32>, %w: memref<3x3x4xf32>, %y: memref<1x3x4xf32>) {
  // expected-remark@below {{by cuDNN, its filter copied}}
  ringconv.local_conv ins(%x, %w : memref<1x8x3xf32>, memref<3x3x4xf32>) outs(%y : memref<1x3x4xf32>)
    dims [b, 0, f] x [0, i, o] -> [b, 0, f] at [2] valid [0] to [8]
    {stride = array<i64: 1>, lhs_dilate = array<i64: 1>, rhs_dilate = array<i64: 1>,
     reverse = array<i1: false>, halo_dims = array<i64>}
  return
}

// -----

// 1 element of the low slab, 8 of the shard, 1 of padding.
// CHECK-LABEL: func.func @with_slabs
// CHECK: %[[ALL:.*]] = memref.alloc() : memref<1x3x10xf16>
// CHECK: linalg.fill {{.*}} outs(%[[ALL]]
// CHECK: %[[SHARD:.*]] = memref.subview %arg1[0, 0, 0] [1, 3, 8]
// CHECK: %[[MIDDLE:.*]] = memref.subview %[[ALL]][0, 0, 1] [1, 3, 8]
// CHECK: memref.copy %[[SHARD]], %[[MIDDLE]]
// CHECK: %[[SLAB:.*]] = memref.subview %arg2[0, 0, 1] [1, 3, 1]
// CHECK: %[[LOW:.*]] = memref.subview %[[ALL]][0, 0, 0] [1, 3, 1]
// CHECK: memref.copy %[[SLAB]], %[[LOW]]
// CHECK-NOT: memref.copy
// CHECK: call @ringconv_cuda_convolve
func.func @with_slabs(%c: !llvm.ptr, %x: memref<1x3x8xf16>, %low: memref<1x3x2xf16>, %high: memref<1x3x0xf16>,
                      %w: memref<4x3x3xf16>, %y: memref<1x4x8xf16>) {
  // expected-remark@below {{by cuDNN, its input copied together with its halos}}
  ringconv.local_conv ins(%x, %w : memref<1x3x8xf16>, memref<4x3x3xf16>)
    halos(%low, %high : memref<1x3x2xf16>, memref<1x3x0xf16>) outs(%y : memref<1x4x8xf16>)
    dims [b, f, 0] x [o, i, 0] -> [b, f, 0] at [1] valid [0] to [10]
    {stride = array<i64: 1>, lhs_dilate = array<i64: 1>, rhs_dilate = array<i64: 1>,
     reverse = array<i1: false>, halo_dims = array<i64: 2>}
  return
}

// -----

// CHECK-LABEL: func.func @not_by_cudnn
// CHECK-COUNT-2: ringconv.local_conv
func.func @not_by_cudnn(%c: !llvm.ptr, %x: memref<1x3x8xf16>, %w: memref<4x3x3xf16>, %y: memref<1x4x6xf32>,
                        %z: memref<1x4x13xf16>) {
  // expected-remark@below {{not by cuDNN: its result is wider than its operands}}
  ringconv.local_conv ins(%x, %w : memref<1x3x8xf16>, memref<4x3x3xf16>) outs(%y : memref<1x4x6xf32>)
    dims [b, f, 0] x [o, i, 0] -> [b, f, 0] at [0] valid [0] to [8]
    {stride = array<i64: 1>, lhs_dilate = array<i64: 1>, rhs_dilate = array<i64: 1>,
     reverse = array<i1: false>, halo_dims = array<i64>}
  // expected-remark@below {{not by cuDNN: its input is dilated}}
  ringconv.local_conv ins(%x, %w : memref<1x3x8xf16>, memref<4x3x3xf16>) outs(%z : memref<1x4x13xf16>)
    dims [b, f, 0] x [o, i, 0] -> [b, f, 0] at [0] valid [0] to [8]
    {stride = array<i64: 1>, lhs_dilate = array<i64: 2>, rhs_dilate = array<i64: 1>,
     reverse = array<i1: false>, halo_dims = array<i64>}
  return
}

// -----

// expected-error@below {{@early has no context: convert-ringconv-to-nccl must run first}}
func.func @early(%x: memref<1x3x8xf16>, %w: memref<4x3x3xf16>, %y: memref<1x4x6xf16>) {
  ringconv.local_conv ins(%x, %w : memref<1x3x8xf16>, memref<4x3x3xf16>) outs(%y : memref<1x4x6xf16>)
    dims [b, f, 0] x [o, i, 0] -> [b, f, 0] at [0] valid [0] to [8]
    {stride = array<i64: 1>, lhs_dilate = array<i64: 1>, rhs_dilate = array<i64: 1>,
     reverse = array<i1: false>, halo_dims = array<i64>}
  return
}
