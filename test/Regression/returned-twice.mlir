// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-run %s --check
// RUN: ringconv-opt %s -ringconv-partition -ringconv-prepare-buffers | FileCheck %s

// Both results are written: the second needs a buffer of its own.

ringconv.mesh @grid = <["x" = 2]>

// CHECK-LABEL: func.func @main
// CHECK: %[[Y:.*]] = ringconv.local_conv
// CHECK: %[[COPY:.*]] = bufferization.alloc_tensor() copy(%[[Y]])
// CHECK: return %[[Y]], %[[COPY]]
func.func @main(%x: tensor<1x4x6xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"x"}]>},
                %w: tensor<2x4x1xf32>) -> (tensor<1x2x6xf32>, tensor<1x2x6xf32>) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x4x6xf32>, tensor<2x4x1xf32>) -> tensor<1x2x6xf32>
  return %y, %y : tensor<1x2x6xf32>, tensor<1x2x6xf32>
}
