// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s --ringconv-prepare-buffers | FileCheck %s
// CHECK: bufferization.writable = false
// CHECK: tensor.insert_slice
// CHECK: tensor.insert_slice

func.func @main(%x: tensor<4xf32>) -> tensor<8xf32> {
  %y = tensor.concat dim(0) %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<8xf32>
  return %y : tensor<8xf32>
}
