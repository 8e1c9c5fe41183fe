// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s --ringconv-partition-pipeline --ringconv-bufferize --ringconv-lower-start --convert-ringconv-to-mpi --canonicalize --cse | FileCheck %s
// CHECK: mpi.allreduce

ringconv.mesh @row = <["c" = 2]>
func.func @main(%x: tensor<1x4x5xf32> {ringconv.sharding = #ringconv.sharding<@row, [{}, {"c"}, {}]>},
                %w: tensor<3x4x3xf32>) -> tensor<1x3x3xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x4x5xf32>, tensor<3x4x3xf32>) -> tensor<1x3x3xf32>
  return %y : tensor<1x3x3xf32>
}
