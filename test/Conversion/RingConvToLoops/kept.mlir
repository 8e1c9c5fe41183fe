// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s --pass-pipeline='builtin.module(func.func(convert-ringconv-to-loops))' | FileCheck %s

memref.global "private" constant @weights : memref<8x4x3xf32> = dense<1.0>

// A filter that is a view of a parameter, or a constant, is packed where the
// kept buffer is fresh; one that comes with each run is packed in each run.
// CHECK-LABEL: func.func @filters
func.func @filters(%x: memref<1x4x20xf32>, %p: memref<16x4x3xf32> {ringconv.parameter}, %w: memref<8x4x3xf32>,
                   %y: memref<1x8x18xf32>) {
  // CHECK: %[[KEPT:.*]], %[[FRESH:.*]] = ringconv.kept : memref<1x4x3x8xf32>
  // CHECK: scf.if %[[FRESH]] {
  // CHECK: vector.store {{.*}}
  // CHECK: vector.load %[[KEPT]]
  // CHECK-NOT: memref.dealloc
  %half = memref.subview %p[8, 0, 0] [8, 4, 3] [1, 1, 1] : memref<16x4x3xf32> to memref<8x4x3xf32, strided<[12, 3, 1], offset: 96>>
  ringconv.local_conv ins(%x, %half : memref<1x4x20xf32>, memref<8x4x3xf32, strided<[12, 3, 1], offset: 96>>) outs(%y : memref<1x8x18xf32>)
    dims [b, f, 0] x [o, i, 0] -> [b, f, 0] at [0] valid [0] to [20]
    {stride = array<i64: 1>, lhs_dilate = array<i64: 1>, rhs_dilate = array<i64: 1>, reverse = array<i1: false>, halo_dims = array<i64>}
  // CHECK: ringconv.kept : memref<1x4x3x8xf32>
  %constant = memref.get_global @weights : memref<8x4x3xf32>
  ringconv.local_conv ins(%x, %constant : memref<1x4x20xf32>, memref<8x4x3xf32>) outs(%y : memref<1x8x18xf32>)
    dims [b, f, 0] x [o, i, 0] -> [b, f, 0] at [0] valid [0] to [20]
    {stride = array<i64: 1>, lhs_dilate = array<i64: 1>, rhs_dilate = array<i64: 1>, reverse = array<i1: false>, halo_dims = array<i64>}
  // CHECK: %[[PACKED:.*]] = memref.alloc() {alignment = 64 : i64} : memref<1x4x3x8xf32>
  // CHECK: memref.dealloc %[[PACKED]]
  ringconv.local_conv ins(%x, %w : memref<1x4x20xf32>, memref<8x4x3xf32>) outs(%y : memref<1x8x18xf32>)
    dims [b, f, 0] x [o, i, 0] -> [b, f, 0] at [0] valid [0] to [20]
    {stride = array<i64: 1>, lhs_dilate = array<i64: 1>, rhs_dilate = array<i64: 1>, reverse = array<i1: false>, halo_dims = array<i64>}
  return
}
