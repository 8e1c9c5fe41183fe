// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows and columns cut at once: halos have corners. And images beside columns.
// REQUIRES: level-default
// RUN: ringconv-run %s --check --entry=stem | FileCheck %s
// RUN: ringconv-run %s --check --entry=stem --mesh=w=3 | FileCheck %s
// RUN: ringconv-run %s --check --entry=three | FileCheck %s
// RUN: ringconv-run %s --check --entry=three --mesh=w=3 | FileCheck %s
// RUN: ringconv-run %s --check --entry=one | FileCheck %s
// RUN: ringconv-run %s --check --entry=one --mesh=w=3 | FileCheck %s
// RUN: ringconv-run %s --check --entry=images | FileCheck %s
// RUN: ringconv-run %s --check --entry=images --mesh=h=3,w=2 | FileCheck %s
// RUN: ringconv-run %s --check --entry=uneven | FileCheck %s
// RUN: ringconv-run %s --check --entry=uneven --mesh=h=3,w=3 | FileCheck %s
// RUN: ringconv-run %s --check --entry=two_axes --mesh=w=3 | FileCheck %s
// CHECK: check: output 0: {{(max error|bit-identical)}}

ringconv.mesh @grid = <["h" = 2, "w" = 2]>

func.func @stem(
    %x: tensor<1x3x112x112xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"h"}, {"w"}]>},
    %w: tensor<64x3x7x7xf32> {ringconv.parameter})
    -> (tensor<1x64x56x56xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"h"}, {"w"}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
         window {stride = [2, 2], pad = [[3, 3], [3, 3]]}
     : (tensor<1x3x112x112xf32>, tensor<64x3x7x7xf32>) -> tensor<1x64x56x56xf32>
  return %y : tensor<1x64x56x56xf32>
}

func.func @three(
    %x: tensor<1x32x56x56xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"h"}, {"w"}]>},
    %w: tensor<32x32x3x3xf32> {ringconv.parameter})
    -> (tensor<1x32x28x28xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"h"}, {"w"}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
         window {stride = [2, 2], pad = [[1, 1], [1, 1]]}
     : (tensor<1x32x56x56xf32>, tensor<32x32x3x3xf32>) -> tensor<1x32x28x28xf32>
  return %y : tensor<1x32x28x28xf32>
}

func.func @one(
    %x: tensor<1x64x28x28xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"h"}, {"w"}]>},
    %w: tensor<128x64x1x1xf32> {ringconv.parameter})
    -> (tensor<1x128x14x14xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"h"}, {"w"}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {stride = [2, 2]}
     : (tensor<1x64x28x28xf32>, tensor<128x64x1x1xf32>) -> tensor<1x128x14x14xf32>
  return %y : tensor<1x128x14x14xf32>
}

// Axis h cuts the images, axis w the columns; filter and bias are whole.
func.func @images(
    %x: tensor<6x3x56x56xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"h"}, {}, {}, {"w"}]>},
    %w: tensor<32x3x7x7xf32> {ringconv.parameter}, %b: tensor<32xf32> {ringconv.parameter})
    -> (tensor<6x32x28x28xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"h"}, {}, {}, {"w"}]>}) {
  %y = ringconv.conv %x, %w bias %b dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
         window {stride = [2, 2], pad = [[3, 3], [3, 3]]}
     : (tensor<6x3x56x56xf32>, tensor<32x3x7x7xf32>, tensor<32xf32>) -> tensor<6x32x28x28xf32>
  return %y : tensor<6x32x28x28xf32>
}

// 13 rows and 11 columns, 5x5 dilated by 2: reach 9, wider than a shard of 3.
func.func @uneven(
    %x: tensor<1x2x13x11xf64> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"h"}, {"w"}]>},
    %w: tensor<3x2x5x5xf64>)
    -> (tensor<1x3x13x11xf64> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"h"}, {"w"}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
         window {pad = [[4, 4], [4, 4]], rhs_dilate = [2, 2]}
     : (tensor<1x2x13x11xf64>, tensor<3x2x5x5xf64>) -> tensor<1x3x13x11xf64>
  return %y : tensor<1x3x13x11xf64>
}

// One dimension over both axes, the faster axis major.
func.func @two_axes(
    %x: tensor<1x2x13xf64> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"w", "h"}]>},
    %w: tensor<3x2x5xf64>)
    -> (tensor<1x3x13xf64> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"h", "w"}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[2, 2]]}
     : (tensor<1x2x13xf64>, tensor<3x2x5xf64>) -> tensor<1x3x13xf64>
  return %y : tensor<1x3x13xf64>
}
