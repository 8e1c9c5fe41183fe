// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s --pass-pipeline='builtin.module(func.func(convert-ringconv-to-loops))' | FileCheck %s
// RUN: ringconv-opt %s --pass-pipeline='builtin.module(func.func(convert-ringconv-to-loops{vectorize=0}))' \
// RUN:   | FileCheck %s --check-prefix=PLAIN

// The three inner dimensions have no gaps on either side: one loop of 720.
// CHECK-LABEL: func.func @merged
// CHECK: memref.collapse_shape %{{.*}} {{\[\[}}0], [1, 2, 3]]
// CHECK: vector.load {{.*}} vector<8xf32>
// CHECK: vector.store
// PLAIN-LABEL: func.func @merged
// PLAIN-NOT: vector.
func.func @merged(%a: memref<2x8x9x10xf32, strided<[1440, 90, 10, 1], offset: ?>>, %b: memref<2x8x9x10xf32>) {
  memref.copy %a, %b : memref<2x8x9x10xf32, strided<[1440, 90, 10, 1], offset: ?>> to memref<2x8x9x10xf32>
  return
}

// CHECK-LABEL: func.func @dynamic
// CHECK-NOT: memref.copy
// CHECK: vector.load {{.*}} vector<16xbf16>
func.func @dynamic(%a: memref<?x?xbf16, strided<[?, 1], offset: ?>>, %b: memref<?x?xbf16>) {
  memref.copy %a, %b : memref<?x?xbf16, strided<[?, 1], offset: ?>> to memref<?x?xbf16>
  return
}

// Elements that are apart on one side go one by one.
// CHECK-LABEL: func.func @apart
// CHECK-NOT: vector.
// CHECK: memref.load
func.func @apart(%a: memref<4x8xf32, strided<[1, 4]>>, %b: memref<4x8xf32>) {
  memref.copy %a, %b : memref<4x8xf32, strided<[1, 4]>> to memref<4x8xf32>
  return
}

// CHECK-LABEL: func.func @scalar
// CHECK: memref.load %{{.*}}[]
// CHECK: memref.store %{{.*}}[]
func.func @scalar(%a: memref<f32, strided<[], offset: ?>>, %b: memref<f32>) {
  memref.copy %a, %b : memref<f32, strided<[], offset: ?>> to memref<f32>
  return
}

// Whole buffers stay, and become memcpy.
// CHECK-LABEL: func.func @whole
// CHECK: memref.copy
func.func @whole(%a: memref<4x8xf32>, %b: memref<4x8xf32>) {
  memref.copy %a, %b : memref<4x8xf32> to memref<4x8xf32>
  return
}
