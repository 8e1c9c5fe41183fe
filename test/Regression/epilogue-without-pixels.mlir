// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise work in the kernel of a convolution without spatial dimensions:
// neighbours of a result are entries of the batch.
// REQUIRES: gpusim
// RUN: ringconv-run %s --target=cuda --simulate --check | FileCheck %s
// CHECK: check: output 0:
ringconv.mesh @m = <["x" = 2]>
func.func @main(%x: tensor<2x1xf32>,
                %w: tensor<8x2xf32>, %y: tensor<8x1xf32>) -> tensor<8x1xf32> {
  %0 = ringconv.conv %x, %w dims [f, b] x [o, i] -> [f, b] : (tensor<2x1xf32>, tensor<8x2xf32>) -> tensor<8x1xf32>
  %1 = arith.mulf %0, %y : tensor<8x1xf32>
  return %1 : tensor<8x1xf32>
}
