// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ResNet-50's 3x3/2 and 1x1/2 layers, columns cut over any number of ranks.
// REQUIRES: level-default
// RUN: ringconv-run %s --check --entry=three --mesh=sp=1 | FileCheck %s
// RUN: ringconv-run %s --check --entry=three --mesh=sp=2 | FileCheck %s
// RUN: ringconv-run %s --check --entry=three --mesh=sp=3 | FileCheck %s
// RUN: ringconv-run %s --check --entry=three --mesh=sp=4 | FileCheck %s
// RUN: ringconv-run %s --check --entry=three --mesh=sp=5 | FileCheck %s
// RUN: ringconv-run %s --check --entry=three --mesh=sp=7 | FileCheck %s
// RUN: ringconv-run %s --check --entry=three --mesh=sp=8 | FileCheck %s
// RUN: ringconv-run %s --check --entry=one --mesh=sp=1 | FileCheck %s
// RUN: ringconv-run %s --check --entry=one --mesh=sp=2 | FileCheck %s
// RUN: ringconv-run %s --check --entry=one --mesh=sp=3 | FileCheck %s
// RUN: ringconv-run %s --check --entry=one --mesh=sp=4 | FileCheck %s
// RUN: ringconv-run %s --check --entry=one --mesh=sp=5 | FileCheck %s
// RUN: ringconv-run %s --check --entry=one --mesh=sp=7 | FileCheck %s
// RUN: ringconv-run %s --check --entry=one --mesh=sp=8 | FileCheck %s
// CHECK: check: output 0: {{(max error|bit-identical)}}

ringconv.mesh @grid = <["sp" = 4]>

func.func @three(
    %x: tensor<2x128x56x56xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {}, {"sp"}]>},
    %w: tensor<128x128x3x3xf32> {ringconv.parameter})
    -> (tensor<2x128x28x28xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {}, {"sp"}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
         window {stride = [2, 2], pad = [[1, 1], [1, 1]]}
     : (tensor<2x128x56x56xf32>, tensor<128x128x3x3xf32>) -> tensor<2x128x28x28xf32>
  return %y : tensor<2x128x28x28xf32>
}

func.func @one(
    %x: tensor<2x256x56x56xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {}, {"sp"}]>},
    %w: tensor<512x256x1x1xf32> {ringconv.parameter})
    -> (tensor<2x512x28x28xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {}, {"sp"}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {stride = [2, 2]}
     : (tensor<2x256x56x56xf32>, tensor<512x256x1x1xf32>) -> tensor<2x512x28x28xf32>
  return %y : tensor<2x512x28x28xf32>
}
