// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s --split-input-file "--pass-pipeline=builtin.module(func.func(ringconv-check-allocations))" | FileCheck %s

// Two allocations, one of them in a loop: both end at the same return.
// CHECK-LABEL: func.func @main
// CHECK-SAME: -> i32
// CHECK: %[[A:.*]] = memref.alloc
// CHECK: %[[P:.*]] = memref.extract_aligned_pointer_as_index %[[A]]
// CHECK: %[[NULL:.*]] = arith.cmpi eq, %[[P]]
// CHECK: cf.cond_br %[[NULL]], ^[[FAILED:bb[0-9]+]], ^bb
// CHECK: memref.alloc
// CHECK: cf.cond_br %{{.*}}, ^[[FAILED]], ^bb
// CHECK: %[[GOOD:.*]] = arith.constant 0 : i32
// CHECK: return %[[GOOD]]
// CHECK: ^[[FAILED]]:
// CHECK: %[[CODE:.*]] = arith.constant 2 : i32
// CHECK: return %[[CODE]]
func.func @main(%x: memref<8xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %four = arith.constant 4 : index
  %a = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
  memref.copy %x, %a : memref<8xf32> to memref<8xf32>
  scf.for %i = %zero to %four step %one {
    %b = memref.alloc() : memref<8xf32>
    memref.copy %a, %b : memref<8xf32> to memref<8xf32>
    memref.dealloc %b : memref<8xf32>
  }
  memref.dealloc %a : memref<8xf32>
  return
}

// -----

// Helpers of bufferization stay as they are.
// CHECK-LABEL: func.func private @helper
// CHECK-NOT: cf.cond_br
// CHECK: return
func.func private @helper(%n: index) {
  %a = memref.alloc(%n) : memref<?xf32>
  memref.dealloc %a : memref<?xf32>
  return
}
