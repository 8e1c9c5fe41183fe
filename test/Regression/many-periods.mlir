// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-run %s --check --report | FileCheck %s
// RUN: ringconv-opt %s -ringconv-host | FileCheck %s --check-prefix=CODE

// Circular padding of 125 periods on either side: each rank lacks the other 6
// columns of 2 channels, 96 bytes from 3 owners, however often it reads them.
// Each period was a piece of its own in the code.

ringconv.mesh @grid = <["x" = 4]>

// CHECK: conv 3
// CHECK-COUNT-4: {{ 3 +96 +3 +96 }}
// CODE-COUNT-2: call @ringconv_rt_recv
// CODE-NOT: call @ringconv_rt_recv
func.func @main(%x: tensor<1x2x8xf64> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"x"}]>},
                %w: tensor<3x2x3xf64>)
    -> (tensor<1x3x2006xf64> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"x"}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
         window {pad = [[1000, 1000]], border = ["circular"]}
     : (tensor<1x2x8xf64>, tensor<3x2x3xf64>) -> tensor<1x3x2006xf64>
  return %y : tensor<1x3x2006xf64>
}
