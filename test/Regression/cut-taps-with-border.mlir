// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-run %s --check
// RUN: ringconv-run %s --check --mesh=x=1
// RUN: ringconv-opt %s -ringconv-partition | FileCheck %s

// The filter's columns are cut, the input is whole, and taps beyond its ends
// are mapped into it: the input is sliced first, so that an exchange can map
// them. Padding was skipped instead. Input 6, kernel 4, circular padding 1 and 2.

ringconv.mesh @grid = <["x" = 2]>

// CHECK-LABEL: func.func @main
// CHECK: tensor.extract_slice %{{.*}} : tensor<1x2x6xf32> to tensor<1x2x3xf32>
// CHECK: ringconv.halo_exchange
// CHECK: ringconv.all_reduce
func.func @main(%x: tensor<1x2x6xf32>,
                %w: tensor<3x2x4xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"x"}]>})
    -> tensor<1x3x6xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
         window {pad = [[1, 2]], border = ["circular"]}
     : (tensor<1x2x6xf32>, tensor<3x2x4xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}
