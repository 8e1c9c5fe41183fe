// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -split-input-file -verify-diagnostics --ringconv-plan-arena | FileCheck %s

// a and c are never in use together: both at 0, b above. 1024 + 512 bytes.
// CHECK: ringconv.arena = 1536
// CHECK-LABEL: func.func @shared
// CHECK: %[[P:.*]] = call @ringconv_cuda_arena(%arg0)
// CHECK: %[[ARENA:.*]] = builtin.unrealized_conversion_cast %[[P]] : !llvm.ptr to memref<1536xi8>
// CHECK: %[[A:.*]] = arith.constant 0 : index
// CHECK: memref.view %[[ARENA]][%[[A]]][] : memref<1536xi8> to memref<256xf32>
// CHECK: %[[B:.*]] = arith.constant 1024 : index
// CHECK: memref.view %[[ARENA]][%[[B]]][] : memref<1536xi8> to memref<100xf32>
// CHECK: %[[C:.*]] = arith.constant 0 : index
// CHECK: memref.view %[[ARENA]][%[[C]]][] : memref<1536xi8> to memref<200xf32>
// CHECK-NOT: memref.dealloc
func.func @shared(%context: !llvm.ptr, %x: memref<256xf32>, %y: memref<200xf32>) {
  %a = memref.alloc() : memref<256xf32>
  memref.copy %x, %a : memref<256xf32> to memref<256xf32>
  %b = memref.alloc() : memref<100xf32>
  %part = memref.subview %a[0] [100] [1] : memref<256xf32> to memref<100xf32, strided<[1]>>
  memref.copy %part, %b : memref<100xf32, strided<[1]>> to memref<100xf32>
  memref.dealloc %a : memref<256xf32>
  %c = memref.alloc() : memref<200xf32>
  %half = memref.subview %c[0] [100] [1] : memref<200xf32> to memref<100xf32, strided<[1]>>
  memref.copy %b, %half : memref<100xf32> to memref<100xf32, strided<[1]>>
  memref.copy %c, %y : memref<200xf32> to memref<200xf32>
  return
}

// -----

// What a loop reads is in use to its end, and what a message still reads to its
// `keep`: nothing shares.
// CHECK: ringconv.arena = 1024
// CHECK-NOT: ringconv.keep
func.func @loops(%context: !llvm.ptr, %y: memref<64xf32>, %n: index) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %sent = memref.alloc() : memref<64xf32>
  memref.copy %y, %sent : memref<64xf32> to memref<64xf32>
  %before = memref.alloc() : memref<64xf32>
  memref.copy %y, %before : memref<64xf32> to memref<64xf32>
  scf.for %i = %zero to %n step %one {
    %first = memref.alloc() : memref<64xf32>
    memref.copy %before, %first : memref<64xf32> to memref<64xf32>
    %second = memref.alloc() : memref<64xf32>
    memref.copy %first, %second : memref<64xf32> to memref<64xf32>
  }
  ringconv.keep %sent : memref<64xf32>
  return
}

// -----

// Sizes that differ by rank count as the largest: 4 of 10 columns.
// CHECK: ringconv.arena = 256
ringconv.mesh @ring = <["w" = 3]>
func.func @uneven(%context: !llvm.ptr) {
  %c = ringconv.coord @ring ["w"]
  %n = ringconv.lookup %c <0: 4, 1: 3>
  %a = memref.alloc(%n) : memref<2x8x?xf32>
  ringconv.keep %a : memref<2x8x?xf32>
  return
}

// -----

func.func @unknown(%context: !llvm.ptr, %n: index) {
  // expected-error@+1 {{the size of this buffer does not follow from the ranks' coordinates}}
  %a = memref.alloc(%n) : memref<?xf32>
  ringconv.keep %a : memref<?xf32>
  return
}
