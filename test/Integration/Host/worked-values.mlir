// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each forward row of the table of worked values, and the transposed layers: a
// line N k s d (p,q) on 4 ranks, then the halo (low, high) of each rank.
// RUN: ringconv-run %s --check --entry=stem | FileCheck %s
// RUN: ringconv-run %s --check --entry=three | FileCheck %s
// RUN: ringconv-run %s --check --entry=one | FileCheck %s
// RUN: ringconv-run %s --check --entry=small | FileCheck %s
// RUN: ringconv-run %s --check --entry=same | FileCheck %s
// RUN: ringconv-run %s --check --entry=valid | FileCheck %s
// RUN: ringconv-run %s --check --entry=dilated | FileCheck %s
// RUN: ringconv-run %s --check --entry=seven | FileCheck %s
// RUN: ringconv-run %s --check --entry=strided | FileCheck %s
// RUN: ringconv-run %s --check --entry=moved | FileCheck %s
// RUN: ringconv-run %s --check --entry=far --mesh=sp=8 | FileCheck %s
// RUN: ringconv-run %s --check --entry=ring --mesh=sp=8 | FileCheck %s
// RUN: ringconv-run %s --check --entry=up2 | FileCheck %s
// RUN: ringconv-run %s --check --entry=up4 | FileCheck %s
// RUN: ringconv-run %s --check --entry=up3 | FileCheck %s
// RUN: ringconv-run %s --check --entry=up16 | FileCheck %s
// CHECK: check: output 0: {{(max error|bit-identical)}}

ringconv.mesh @line = <["sp" = 4]>

// 224 7 2 1 (3,3): 28 each; r0 (0,2), r1-2 (3,2), r3 (3,0).
func.func @stem(%x: tensor<2x3x224xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>},
    %w: tensor<3x3x7xf32>)
    -> (tensor<2x3x112xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {stride = [2], pad = [[3, 3]]}
     : (tensor<2x3x224xf32>, tensor<3x3x7xf32>) -> tensor<2x3x112xf32>
  return %y : tensor<2x3x112xf32>
}

// 56 3 2 1 (1,1): 7 each; r0 (0,0), r1-3 (1,0).
func.func @three(%x: tensor<2x3x56xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>},
    %w: tensor<3x3x3xf32>)
    -> (tensor<2x3x28xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {stride = [2], pad = [[1, 1]]}
     : (tensor<2x3x56xf32>, tensor<3x3x3xf32>) -> tensor<2x3x28xf32>
  return %y : tensor<2x3x28xf32>
}

// 56 1 2 1 (0,0): 7 each; (0,-1), no message.
func.func @one(%x: tensor<2x3x56xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>},
    %w: tensor<3x3x1xf32>)
    -> (tensor<2x3x28xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {stride = [2]}
     : (tensor<2x3x56xf32>, tensor<3x3x1xf32>) -> tensor<2x3x28xf32>
  return %y : tensor<2x3x28xf32>
}

// 7 3 1 1 (1,1), cuts 2,2,2,1: r0 (0,1), r1-2 (1,1), r3 (1,0).
func.func @small(%x: tensor<2x3x7xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>},
    %w: tensor<3x3x3xf32>)
    -> (tensor<2x3x7xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
     : (tensor<2x3x7xf32>, tensor<3x3x3xf32>) -> tensor<2x3x7xf32>
  return %y : tensor<2x3x7xf32>
}

// 224 3 2 1 (0,1): 28 each; r0-2 (0,1), r3 (0,0).
func.func @same(%x: tensor<2x3x224xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>},
    %w: tensor<3x3x3xf32>)
    -> (tensor<2x3x112xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {stride = [2], pad = [[0, 1]]}
     : (tensor<2x3x224xf32>, tensor<3x3x3xf32>) -> tensor<2x3x112xf32>
  return %y : tensor<2x3x112xf32>
}

// 32 3 1 1 (0,0), out 8,8,8,6: r0-2 (0,2), r3 (0,0).
func.func @valid(%x: tensor<2x3x32xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>},
    %w: tensor<3x3x3xf32>)
    -> (tensor<2x3x30xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp", cuts = [0, 8, 16, 24, 30]}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<2x3x32xf32>, tensor<3x3x3xf32>) -> tensor<2x3x30xf32>
  return %y : tensor<2x3x30xf32>
}

// 65 3 1 24 (24,24), cuts 17,17,17,14: r0 (0,24), r1 (17,24), r2 (24,14), r3 (24,0), hulls.
func.func @dilated(%x: tensor<2x3x65xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp", cuts = [0, 17, 34, 51, 65]}]>},
    %w: tensor<3x3x3xf32>)
    -> (tensor<2x3x65xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp", cuts = [0, 17, 34, 51, 65]}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[24, 24]], rhs_dilate = [24]}
     : (tensor<2x3x65xf32>, tensor<3x3x3xf32>) -> tensor<2x3x65xf32>
  return %y : tensor<2x3x65xf32>
}

// 7 7 1 1 (3,3), cuts 2,2,2,1: r0 (0,3), r1 (2,3), r2 (3,1), r3 (3,0).
func.func @seven(%x: tensor<2x3x7xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>},
    %w: tensor<3x3x7xf32>)
    -> (tensor<2x3x7xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[3, 3]]}
     : (tensor<2x3x7xf32>, tensor<3x3x7xf32>) -> tensor<2x3x7xf32>
  return %y : tensor<2x3x7xf32>
}

// 65 3 4 1 (1,1), in 17,17,17,14, out 5,5,5,2: r0 (0,1) r1 (-2,4) r2 (-5,7) r3 (-8,0).
func.func @strided(%x: tensor<2x3x65xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp", cuts = [0, 17, 34, 51, 65]}]>},
    %w: tensor<3x3x3xf32>)
    -> (tensor<2x3x17xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp", cuts = [0, 5, 10, 15, 17]}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {stride = [4], pad = [[1, 1]]}
     : (tensor<2x3x65xf32>, tensor<3x3x3xf32>) -> tensor<2x3x17xf32>
  return %y : tensor<2x3x17xf32>
}

// 64 3 1 1 (1,1), in 40,8,8,8, out 16 each: r0 (0,-23) r1 (25,-15) r2 (17,-7) r3 (9,0).
func.func @moved(%x: tensor<2x3x64xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp", cuts = [0, 40, 48, 56, 64]}]>},
    %w: tensor<3x3x3xf32>)
    -> (tensor<2x3x64xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp", cuts = [0, 16, 32, 48, 64]}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
     : (tensor<2x3x64xf32>, tensor<3x3x3xf32>) -> tensor<2x3x64xf32>
  return %y : tensor<2x3x64xf32>
}

// 1024 2 1 512 (512,0) on 8: r4-7 read 128 elements, from rank r-4 only.
func.func @far(%x: tensor<2x3x1024xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>},
    %w: tensor<3x3x2xf32>)
    -> (tensor<2x3x1024xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[512, 0]], rhs_dilate = [512]}
     : (tensor<2x3x1024xf32>, tensor<3x3x2xf32>) -> tensor<2x3x1024xf32>
  return %y : tensor<2x3x1024xf32>
}

// 1440 5 2 1 (2,2) circular on 8: (2,1) on every rank.
func.func @ring(%x: tensor<2x3x1440xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>},
    %w: tensor<3x3x5xf32>)
    -> (tensor<2x3x720xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {stride = [2], pad = [[2, 2]], border = ["circular"]}
     : (tensor<2x3x1440xf32>, tensor<3x3x5xf32>) -> tensor<2x3x720xf32>
  return %y : tensor<2x3x720xf32>
}

// Transposed 2/2/0.
func.func @up2(%x: tensor<2x3x16xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>},
    %w: tensor<3x3x2xf32>) -> tensor<2x3x32xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
         window {pad = [[1, 1]], lhs_dilate = [2]}
     : (tensor<2x3x16xf32>, tensor<3x3x2xf32>) -> tensor<2x3x32xf32>
  return %y : tensor<2x3x32xf32>
}

// Transposed 4/2/1.
func.func @up4(%x: tensor<2x3x16xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>},
    %w: tensor<3x3x4xf32>) -> tensor<2x3x32xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
         window {pad = [[2, 2]], lhs_dilate = [2]}
     : (tensor<2x3x16xf32>, tensor<3x3x4xf32>) -> tensor<2x3x32xf32>
  return %y : tensor<2x3x32xf32>
}

// Transposed 3/2/1 with output padding 1.
func.func @up3(%x: tensor<2x3x16xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>},
    %w: tensor<3x3x3xf32>) -> tensor<2x3x32xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
         window {pad = [[1, 2]], lhs_dilate = [2]}
     : (tensor<2x3x16xf32>, tensor<3x3x3xf32>) -> tensor<2x3x32xf32>
  return %y : tensor<2x3x32xf32>
}

// Transposed 16/8/4.
func.func @up16(%x: tensor<2x3x16xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {"sp"}]>},
    %w: tensor<3x3x16xf32>) -> tensor<2x3x128xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
         window {pad = [[11, 11]], lhs_dilate = [8]}
     : (tensor<2x3x16xf32>, tensor<3x3x16xf32>) -> tensor<2x3x128xf32>
  return %y : tensor<2x3x128xf32>
}
