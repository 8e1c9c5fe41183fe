// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s --convert-ringconv-to-nccl | FileCheck %s

// Both sums go over "a"; the communicators differ by their axes alone.
// CHECK: ringconv.sums = array<i64: 1, 2>
ringconv.mesh @grid = <["a" = 3, "b" = 2, "one" = 1]>

// CHECK-LABEL: func.func @in_place
// CHECK: call @ringconv_cuda_communicator
// CHECK: scf.if
// CHECK:   call @cuStreamWaitEvent
// CHECK:   %[[S:.*]] = {{.*}}call @ncclAllReduce(%[[D:.*]], %[[D]],
// CHECK:   call @ringconv_cuda_check(%arg0, %[[S]]
// CHECK:   call @cuStreamWaitEvent
func.func @in_place(%x: memref<4x5xf32>) {
  ringconv.all_reduce outs(%x : memref<4x5xf32>) over @grid ["a"]
  // CHECK: call @ncclAllReduce
  ringconv.all_reduce outs(%x : memref<4x5xf32>) over @grid ["b"]
  // Strided memory is summed beside.
  // CHECK: %[[DENSE:.*]] = memref.alloc() : memref<2x5xf32>
  // CHECK: memref.copy %{{.*}}, %[[DENSE]]
  // CHECK: call @ncclAllReduce
  // CHECK: memref.copy %[[DENSE]],
  %0 = memref.subview %x[0, 0] [2, 5] [2, 1] : memref<4x5xf32> to memref<2x5xf32, strided<[10, 1]>>
  ringconv.all_reduce outs(%0 : memref<2x5xf32, strided<[10, 1]>>) over @grid ["a"]
  return
}

// Seven rows over three members: blocks of three rows, filled up with zeros.
// CHECK-LABEL: func.func @scatter
// CHECK: %[[PACKED:.*]] = memref.alloc() : memref<3x3x5xf32>
// CHECK: linalg.fill {{.*}} outs(%[[PACKED]]
// CHECK: scf.for
// CHECK:   memref.copy
// CHECK: %[[MINE:.*]] = memref.alloc() : memref<3x5xf32>
// CHECK: call @ncclReduceScatter
// CHECK: %[[PART:.*]] = memref.subview %[[MINE]]
// CHECK: memref.copy %[[PART]], %arg2
func.func @scatter(%x: memref<7x5xf32>, %y: memref<?x5xf32>) {
  ringconv.reduce_scatter ins(%x : memref<7x5xf32>) outs(%y : memref<?x5xf32>) of tensor<7x5xf32> over ["a"]
    from #ringconv.sharding<@grid, [{}, {}]> to #ringconv.sharding<@grid, [{"a"}, {}]>
  return
}

// Several sums that start together are one group; the rest runs meanwhile.
// CHECK-LABEL: func.func @together
// CHECK: call @ncclGroupStart
// CHECK: call @ncclAllReduce
// CHECK: call @ncclAllReduce
// CHECK: call @ncclGroupEnd
// CHECK: memref.copy
// CHECK: call @cuStreamWaitEvent
func.func @together(%x: memref<4xf32>, %y: memref<5xf32>, %a: memref<4xf32>, %b: memref<4xf32>) {
  %t = ringconv.start_reduce outs(%x, %y : memref<4xf32>, memref<5xf32>) over @grid ["a"]
  memref.copy %a, %b : memref<4xf32> to memref<4xf32>
  ringconv.wait %t ins(%x, %y : memref<4xf32>, memref<5xf32>)
  return
}

// An axis of one rank has nobody to sum with.
// CHECK-LABEL: func.func @alone
// CHECK-NOT: call @nccl
// CHECK: return
func.func @alone(%x: memref<4xf32>) {
  ringconv.all_reduce outs(%x : memref<4xf32>) over @grid ["one"]
  return
}
