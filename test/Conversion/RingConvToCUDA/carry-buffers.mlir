// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s --pass-pipeline='builtin.module(func.func(ringconv-carry-buffers))' | FileCheck %s

// A round that swaps what it carries goes through buffers between.
// CHECK-LABEL: func.func @swap
// CHECK: %[[A:.*]] = memref.alloc() : memref<4xf32>
// CHECK: memref.copy %arg0, %[[A]]
// CHECK: %[[B:.*]] = memref.alloc() : memref<4xf32>
// CHECK: memref.copy %arg1, %[[B]]
// CHECK: scf.for
// CHECK:   %[[OLD_B:.*]] = memref.alloc() : memref<4xf32>
// CHECK:   memref.copy %[[B]], %[[OLD_B]]
// CHECK:   %[[OLD_A:.*]] = memref.alloc() : memref<4xf32>
// CHECK:   memref.copy %[[A]], %[[OLD_A]]
// CHECK:   memref.copy %[[OLD_B]], %[[A]]
// CHECK:   memref.copy %[[OLD_A]], %[[B]]
// CHECK:   scf.yield %[[A]], %[[B]]
// CHECK: memref.copy %[[A]], %arg2
func.func @swap(%x: memref<4xf32>, %y: memref<4xf32>, %z: memref<4xf32>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %0:2 = scf.for %i = %zero to %n step %one iter_args(%a = %x, %b = %y) -> (memref<4xf32>, memref<4xf32>) {
    scf.yield %b, %a : memref<4xf32>, memref<4xf32>
  }
  memref.copy %0#0, %z : memref<4xf32> to memref<4xf32>
  return
}

// A buffer made inside, of a size that is known outside.
// CHECK-LABEL: func.func @while
// CHECK: %[[A:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK: %[[OUT:.*]] = memref.alloc(%{{.*}}) : memref<?xf32>
// CHECK: scf.while
// CHECK:   %[[INSIDE:.*]] = memref.alloc
// CHECK:   memref.copy %[[INSIDE]], %[[OUT]]
// CHECK:   scf.condition
// CHECK: memref.copy %[[OUT]], %arg1
func.func @while(%x: memref<?xf32>, %z: memref<?xf32>) {
  %zero = arith.constant 0 : index
  %n = arith.constant 3 : index
  %one = arith.constant 1 : index
  %0:2 = scf.while (%a = %x, %i = %zero) : (memref<?xf32>, index) -> (memref<?xf32>, index) {
    %size = memref.dim %a, %zero : memref<?xf32>
    %new = memref.alloc(%size) : memref<?xf32>
    memref.copy %a, %new : memref<?xf32> to memref<?xf32>
    %more = arith.cmpi slt, %i, %n : index
    scf.condition(%more) %new, %i : memref<?xf32>, index
  } do {
  ^bb0(%b: memref<?xf32>, %j: index):
    %next = arith.addi %j, %one : index
    scf.yield %b, %next : memref<?xf32>, index
  }
  memref.copy %0#0, %z : memref<?xf32> to memref<?xf32>
  return
}
