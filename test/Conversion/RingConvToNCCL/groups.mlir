// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -split-input-file -verify-diagnostics --convert-ringconv-to-nccl | FileCheck %s

// Pieces for the right neighbour, where there is one, and for ranks 0 and 1
// themselves. Staging memory is that of rank 1, which has most: 40 and 40 bytes to
// send, 40 and 8 to receive, 8 for itself at both ends, each rounded up to 16.
// CHECK-LABEL: func.func @to_the_right(%arg0: !llvm.ptr, %arg1: memref<8x6xf32>
// CHECK-DAG: %[[STAGING:.*]] = memref.alloc() : memref<192xi8>
// CHECK: call @ringconv_rt_group(%arg0, %[[EX:.*]])
// CHECK: scf.if
// CHECK: call @ringconv_rt_send
// CHECK: call @ringconv_rt_send
// CHECK: scf.if
// CHECK: call @ringconv_rt_recv
// CHECK: call @ringconv_cuda_pack
// CHECK: %[[COUNT:.*]] = {{.*}}call @ringconv_cuda_messages
// CHECK: %[[ANY:.*]] = arith.cmpi sgt, %[[COUNT]]
// Where there is no message, nothing is called.
// CHECK: scf.if %[[ANY]] {
// CHECK:   %[[READY:.*]] = {{.*}}call @ringconv_cuda_event
// CHECK:   %[[COMM:.*]] = {{.*}}call @ringconv_cuda_stream
// CHECK:   %[[COMPUTE:.*]] = {{.*}}call @ringconv_cuda_stream
// CHECK:   call @cuEventRecord(%[[READY]], %[[COMPUTE]])
// CHECK:   call @ringconv_cuda_check
// CHECK:   call @cuStreamWaitEvent(%[[COMM]], %[[READY]]
// CHECK:   call @ringconv_cuda_check
// CHECK:   %[[START:.*]] = {{.*}}call @ncclGroupStart()
// CHECK:   call @ringconv_cuda_check(%arg0, %[[START]]
// CHECK:   scf.for
// CHECK:     scf.if
// CHECK:       %[[RECV:.*]] = {{.*}}call @ncclRecv(%{{.*}}, %[[COMM]])
// CHECK:       call @ringconv_cuda_check(%arg0, %[[RECV]]
// CHECK:     else
// CHECK:       %[[SEND:.*]] = {{.*}}call @ncclSend(%{{.*}}, %[[COMM]])
// CHECK:       call @ringconv_cuda_check(%arg0, %[[SEND]]
// CHECK:   %[[END:.*]] = {{.*}}call @ncclGroupEnd()
// CHECK:   call @ringconv_cuda_check(%arg0, %[[END]]
// CHECK:   %[[ARRIVED:.*]] = {{.*}}call @ringconv_cuda_event
// CHECK:   call @cuEventRecord(%[[ARRIVED]], %[[COMM]])
// What stands between start and wait runs meanwhile.
// CHECK: memref.copy %arg1
// CHECK: scf.if
// CHECK:   call @cuStreamWaitEvent
// CHECK: call @ringconv_cuda_unpack
// CHECK: ringconv.keep %[[STAGING]], %arg1, %arg2
ringconv.mesh @ring = <["w" = 4]>
func.func @to_the_right(%x: memref<8x6xf32>, %slab: memref<2x5xf32>, %y: memref<8x6xf32>) {
  %c = ringconv.coord @ring ["w"]
  %one = arith.constant 1 : index
  %t = ringconv.group {
    %three = arith.constant 3 : index
    %zero = arith.constant 0 : index
    %right = arith.addi %c, %one : index
    %left = arith.subi %c, %one : index
    %has_right = arith.cmpi slt, %c, %three : index
    scf.if %has_right {
      %box = memref.subview %x[6, 1] [2, 5] [1, 1] : memref<8x6xf32> to memref<2x5xf32, strided<[6, 1], offset: 37>>
      ringconv.send %box to %right : memref<2x5xf32, strided<[6, 1], offset: 37>>
      %more = memref.subview %x[0, 0] [2, 5] [1, 1] : memref<8x6xf32> to memref<2x5xf32, strided<[6, 1]>>
      ringconv.send %more to %right : memref<2x5xf32, strided<[6, 1]>>
    }
    %has_left = arith.cmpi sgt, %c, %zero : index
    scf.if %has_left {
      ringconv.recv %slab from %left : memref<2x5xf32>
      %all = memref.subview %slab[0, 0] [1, 2] [1, 1] : memref<2x5xf32> to memref<1x2xf32, strided<[5, 1]>>
      ringconv.recv %all from %left : memref<1x2xf32, strided<[5, 1]>>
    }
    %again = arith.constant 2 : index
    scf.for %i = %zero to %again step %one {
      %is_even = arith.cmpi eq, %i, %c : index
      scf.if %is_even {
        %self = memref.subview %x[0, 0] [%one, 2] [1, 1] : memref<8x6xf32> to memref<?x2xf32, strided<[6, 1]>>
        ringconv.send %self to %c : memref<?x2xf32, strided<[6, 1]>>
        ringconv.recv %self from %c : memref<?x2xf32, strided<[6, 1]>>
      }
    }
  }
  memref.copy %x, %y : memref<8x6xf32> to memref<8x6xf32>
  ringconv.wait %t ins(%x : memref<8x6xf32>) outs(%slab : memref<2x5xf32>)
  return
}

// -----

// Sizes that only a run could know have no place in a plan.
ringconv.mesh @ring = <["w" = 2]>
func.func @unknown(%x: memref<?xf32>, %n: index) {
  // expected-error@+1 {{the sizes of these messages do not follow from the ranks' coordinates}}
  %t = ringconv.group {
    %box = memref.subview %x[0] [%n] [1] : memref<?xf32> to memref<?xf32, strided<[1]>>
    ringconv.send %box to %n : memref<?xf32, strided<[1]>>
  }
  ringconv.wait %t ins(%x : memref<?xf32>)
  return
}
