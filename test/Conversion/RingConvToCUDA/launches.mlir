// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s --convert-ringconv-to-cuda | FileCheck %s

// What the runtime must provide stands on the module.
// CHECK: ringconv.constants = [@weights]
// CHECK-SAME: ringconv.kernels = ["work"]
// CHECK-SAME: ringconv.shared = array<i64: 65536>
module attributes {gpu.container_module} {
  memref.global "private" constant @weights : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
  gpu.module @kernels {
    gpu.func @work(%p: !llvm.ptr, %n: index) kernel {
      gpu.return
    }
  }
  // CHECK-LABEL: func.func @main(%arg0: !llvm.ptr, %arg1: memref<4xf32>, %arg2: !llvm.ptr) -> i32
  func.func @main(%context: !llvm.ptr, %y: memref<4xf32>, %p: !llvm.ptr) {
    %one = arith.constant 1 : index
    %block = arith.constant 128 : index
    %shared = arith.constant 65536 : i32
    // CHECK: %[[K:.*]] = call @ringconv_cuda_kernel(%arg0
    // CHECK: %[[STREAM:.*]] = call @ringconv_cuda_stream
    // CHECK: %[[S:.*]] = call @cuLaunchKernel(%[[K]], %{{.*}}, %[[STREAM]], %{{.*}}, %{{.*}})
    // CHECK: %[[CODE:.*]] = call @ringconv_cuda_check(%arg0, %[[S]]
    // CHECK: cf.cond_br %{{.*}}, ^{{.*}}, ^[[FAILED:.*]](%[[CODE]] : i32)
    gpu.launch_func @kernels::@work blocks in (%one, %one, %one) threads in (%block, %one, %one)
      dynamic_shared_memory_size %shared args(%p : !llvm.ptr, %one : index)
    // CHECK: call @ringconv_cuda_constant
    // CHECK: call @cuMemcpyDtoDAsync_v2
    %w = memref.get_global @weights : memref<4xf32>
    memref.copy %w, %y : memref<4xf32> to memref<4xf32>
    // CHECK: call @ringconv_cuda_read
    %v = memref.load %y[%one] : memref<4xf32>
    %zero = arith.constant 0.0 : f32
    %some = arith.cmpf ogt, %v, %zero : f32
    scf.if %some {
      memref.copy %w, %y : memref<4xf32> to memref<4xf32>
    }
    // CHECK: ^[[FAILED]](%[[CODE:.*]]: i32):
    // CHECK: return %[[CODE]]
    return
  }
}
