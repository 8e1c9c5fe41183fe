// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s --ringconv-raise --canonicalize | FileCheck %s
// CHECK: ringconv.conv %arg0, %arg1 dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = {{\[}}[1, 1], [1, 1]]}

func.func @main(%x: tensor<1x2x8x8xf32>, %w: tensor<3x2x3x3xf32>) -> tensor<1x3x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%a: index, %b: index, %c: index, %d: index):
    tensor.yield %zero : f32
  } : tensor<1x2x8x8xf32> to tensor<1x2x10x10xf32>
  %init = arith.constant dense<0.0> : tensor<1x3x8x8xf32>
  %y = linalg.conv_2d_nchw_fchw ins(%padded, %w : tensor<1x2x10x10xf32>, tensor<3x2x3x3xf32>)
                                outs(%init : tensor<1x3x8x8xf32>) -> tensor<1x3x8x8xf32>
  return %y : tensor<1x3x8x8xf32>
}
