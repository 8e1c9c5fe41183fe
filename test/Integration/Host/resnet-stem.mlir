// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ResNet-50's first convolution, 7x7/2 with padding 3, columns cut.
// REQUIRES: level-default
// RUN: ringconv-run %s --check --mesh=sp=1 | FileCheck %s
// RUN: ringconv-run %s --check --mesh=sp=2 | FileCheck %s
// RUN: ringconv-run %s --check --mesh=sp=3 | FileCheck %s
// RUN: ringconv-run %s --check --mesh=sp=4 | FileCheck %s
// RUN: ringconv-run %s --check --mesh=sp=5 | FileCheck %s
// RUN: ringconv-run %s --check --mesh=sp=7 | FileCheck %s
// RUN: ringconv-run %s --check --mesh=sp=8 | FileCheck %s
// CHECK: check: output 0: {{(max error|bit-identical)}}

ringconv.mesh @grid = <["sp" = 4]>

func.func @main(
    %x: tensor<8x3x224x224xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {}, {"sp"}]>},
    %w: tensor<64x3x7x7xf32> {ringconv.parameter}, %b: tensor<64xf32> {ringconv.parameter})
    -> (tensor<8x64x112x112xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {}, {"sp"}]>}) {
  %y = ringconv.conv %x, %w bias %b dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
         window {stride = [2, 2], pad = [[3, 3], [3, 3]]}
     : (tensor<8x3x224x224xf32>, tensor<64x3x7x7xf32>, tensor<64xf32>) -> tensor<8x64x112x112xf32>
  return %y : tensor<8x64x112x112xf32>
}
