// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s --ringconv-partition --canonicalize --cse --ringconv-lower-halo --ringconv-bufferize --convert-ringconv-to-loops=vectorize=false | FileCheck %s
// CHECK: scf.for
// CHECK: math.fma

func.func @main(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x6xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}
