// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -verify-diagnostics --convert-ringconv-to-gpu=fast=0 | FileCheck %s

// Kernels get bare pointers, and what is dynamic.
// CHECK: gpu.module @kernels
// CHECK: gpu.func @conv_plain(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr, %{{.*}}: index, %{{.*}}: index, %{{.*}}: !llvm.ptr) kernel
// CHECK-SAME: known_block_size = array<i32: 256, 1, 1>
// CHECK: builtin.unrealized_conversion_cast %{{.*}} : !llvm.ptr to memref<1x2x9xf32>
// CHECK: builtin.unrealized_conversion_cast %{{.*}} : !llvm.ptr to memref<1x2x4xf32, strided<[18, 9, 1]>>
// CHECK: math.fma
// CHECK: gpu.func @linalg(
// CHECK: scf.for
// CHECK: gpu.func @copy(
// CHECK: gpu.func @store(
// The same work on the same shapes is one kernel.
// CHECK-NOT: gpu.func @conv_plain_1

// 8 elements: one block. The slice's offset is added on the host.
// CHECK-LABEL: func.func @twice
// CHECK: gpu.launch_func @kernels::@conv_plain blocks in (%[[ONE:.*]], %{{.*}}, %{{.*}}) threads in
// CHECK: gpu.launch_func @kernels::@conv_plain
func.func @twice(%x: memref<1x2x9xf32>, %w: memref<2x2x3xf32>, %y: memref<1x2x9xf32>, %a: index, %b: index) {
  %0 = memref.subview %y[0, 0, 1] [1, 2, 4] [1, 1, 1] : memref<1x2x9xf32> to memref<1x2x4xf32, strided<[18, 9, 1], offset: 1>>
  %1 = memref.subview %y[0, 0, 5] [1, 2, 4] [1, 1, 1] : memref<1x2x9xf32> to memref<1x2x4xf32, strided<[18, 9, 1], offset: 5>>
  // expected-remark@+1 {{kernel: plain, one thread per element}}
  ringconv.local_conv ins(%x, %w : memref<1x2x9xf32>, memref<2x2x3xf32>) outs(%0 : memref<1x2x4xf32, strided<[18, 9, 1], offset: 1>>)
    dims [b, f, 0] x [o, i, 0] -> [b, f, 0] at [%a] valid [0] to [%b] {halo_dims = array<i64>, lhs_dilate = array<i64: 1>,
    reverse = array<i1: false>, rhs_dilate = array<i64: 1>, stride = array<i64: 1>}
  // expected-remark@+1 {{kernel: plain, one thread per element}}
  ringconv.local_conv ins(%x, %w : memref<1x2x9xf32>, memref<2x2x3xf32>) outs(%1 : memref<1x2x4xf32, strided<[18, 9, 1], offset: 5>>)
    dims [b, f, 0] x [o, i, 0] -> [b, f, 0] at [%a] valid [0] to [%b] {halo_dims = array<i64>, lhs_dilate = array<i64: 1>,
    reverse = array<i1: false>, rhs_dilate = array<i64: 1>, stride = array<i64: 1>}
  return
}

// The reduction is a loop of each thread; copies between whole buffers are the
// driver's, not a kernel's; a grid without blocks must not be launched.
// CHECK-LABEL: func.func @others
// CHECK: scf.if
// CHECK: gpu.launch_func @kernels::@linalg
// CHECK: gpu.launch_func @kernels::@copy
// CHECK: memref.copy
// CHECK: gpu.launch_func @kernels::@store
// CHECK-NOT: memref.store
func.func @others(%x: memref<?x6xf32>, %y: memref<?xf32>, %z: memref<3x6xf32>, %v: memref<6x3xf32, strided<[1, 6]>>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                  iterator_types = ["parallel", "reduction"]} ins(%x : memref<?x6xf32>) outs(%y : memref<?xf32>) {
  ^bb0(%a: f32, %s: f32):
    %0 = arith.addf %s, %a : f32
    linalg.yield %0 : f32
  }
  %t = memref.alloc() : memref<6x3xf32>
  memref.copy %v, %t : memref<6x3xf32, strided<[1, 6]>> to memref<6x3xf32>
  %u = memref.alloc() : memref<6x3xf32>
  memref.copy %t, %u : memref<6x3xf32> to memref<6x3xf32>
  %c = arith.constant 1.0 : f32
  %i = arith.constant 2 : index
  memref.store %c, %z[%i, %i] : memref<3x6xf32>
  return
}

// Dense elementwise work has one dimension; a long reduction a block per element.
// RUN: ringconv-opt %s --convert-ringconv-to-gpu=fast=0 2>/dev/null | FileCheck %s --check-prefix=LONG
// LONG: gpu.func @linalg_1(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) kernel
// LONG-NOT: arith.divui
// LONG: math.absf
// LONG: gpu.func @linalg_2(%{{.*}}: !llvm.ptr, %{{.*}}: !llvm.ptr) workgroup(%{{.*}} : memref<256xf32, #gpu.address_space<workgroup>>)
// LONG: gpu.barrier
// LONG-LABEL: func.func @dense
// LONG: blocks in (%[[N:.*]], %{{.*}}, %{{.*}}) threads
func.func @dense(%x: memref<7x2000xf32>, %y: memref<7x2000xf32>, %s: memref<7xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
                  iterator_types = ["parallel", "parallel"]} ins(%x : memref<7x2000xf32>) outs(%y : memref<7x2000xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = math.absf %a : f32
    linalg.yield %0 : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                  iterator_types = ["parallel", "reduction"]} ins(%x : memref<7x2000xf32>) outs(%s : memref<7xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %b, %a : f32
    linalg.yield %0 : f32
  }
  return
}
