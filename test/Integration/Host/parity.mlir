// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the ring convolution that the idea comes from gets wrong, forward: sizes
// of kernel, padding and shard, with a bias and a padding of four values. The
// second cut dimension is in rows-and-columns.mlir.
// RUN: ringconv-run %s --check --entry=k2p1
// RUN: ringconv-run %s --check --entry=k1p1
// RUN: ringconv-run %s --check --entry=k3p2
// RUN: ringconv-run %s --check --entry=k4p1
// RUN: ringconv-run %s --check --entry=k4s4
// RUN: ringconv-run %s --check --entry=k7p3
// RUN: ringconv-run %s --check --entry=uneven
// RUN: ringconv-run %s --check --entry=pad4

ringconv.mesh @line = <["sp" = 4], device_ids = [2, 0, 3, 1]>

// k=2 p=1: 33 columns, not 57.
func.func @k2p1(%x: tensor<2x2x5x32xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {}, {"sp"}]>},
    %w: tensor<3x2x2x2xf32>, %b: tensor<3xf32>) -> tensor<2x3x5x33xf32> {
  %y = ringconv.conv %x, %w bias %b dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 0], [1, 1]]}
     : (tensor<2x2x5x32xf32>, tensor<3x2x2x2xf32>, tensor<3xf32>) -> tensor<2x3x5x33xf32>
  return %y : tensor<2x3x5x33xf32>
}

// k=1 p=1: 34 columns, not 58.
func.func @k1p1(%x: tensor<2x2x5x32xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {}, {"sp"}]>},
    %w: tensor<3x2x2x1xf32>, %b: tensor<3xf32>) -> tensor<2x3x5x34xf32> {
  %y = ringconv.conv %x, %w bias %b dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 0], [1, 1]]}
     : (tensor<2x2x5x32xf32>, tensor<3x2x2x1xf32>, tensor<3xf32>) -> tensor<2x3x5x34xf32>
  return %y : tensor<2x3x5x34xf32>
}

// k3p2: 34 columns, the ranks agree.
func.func @k3p2(%x: tensor<2x2x5x32xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {}, {"sp"}]>},
    %w: tensor<3x2x2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3x5x34xf32> {
  %y = ringconv.conv %x, %w bias %b dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 0], [2, 2]]}
     : (tensor<2x2x5x32xf32>, tensor<3x2x2x3xf32>, tensor<3xf32>) -> tensor<2x3x5x34xf32>
  return %y : tensor<2x3x5x34xf32>
}

// k4p1: 31 columns.
func.func @k4p1(%x: tensor<2x2x5x32xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {}, {"sp"}]>},
    %w: tensor<3x2x2x4xf32>, %b: tensor<3xf32>) -> tensor<2x3x5x31xf32> {
  %y = ringconv.conv %x, %w bias %b dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 0], [1, 1]]}
     : (tensor<2x2x5x32xf32>, tensor<3x2x2x4xf32>, tensor<3xf32>) -> tensor<2x3x5x31xf32>
  return %y : tensor<2x3x5x31xf32>
}

// k=s=4, 24 columns: 6 outputs, not 4.
func.func @k4s4(%x: tensor<2x2x5x24xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {}, {"sp"}]>},
    %w: tensor<3x2x2x4xf32>, %b: tensor<3xf32>) -> tensor<2x3x5x6xf32> {
  %y = ringconv.conv %x, %w bias %b dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {stride = [1, 4], pad = [[1, 0], [0, 0]]}
     : (tensor<2x2x5x24xf32>, tensor<3x2x2x4xf32>, tensor<3xf32>) -> tensor<2x3x5x6xf32>
  return %y : tensor<2x3x5x6xf32>
}

// k=7 p=3, 8 columns: 2 each, not 1,0,0,1.
func.func @k7p3(%x: tensor<2x2x5x8xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {}, {"sp"}]>},
    %w: tensor<3x2x2x7xf32>, %b: tensor<3xf32>) -> tensor<2x3x5x8xf32> {
  %y = ringconv.conv %x, %w bias %b dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 0], [3, 3]]}
     : (tensor<2x2x5x8xf32>, tensor<3x2x2x7xf32>, tensor<3xf32>) -> tensor<2x3x5x8xf32>
  return %y : tensor<2x3x5x8xf32>
}

// 10 columns, k=5: both ends of a message agree.
func.func @uneven(%x: tensor<2x2x5x10xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {}, {"sp"}]>},
    %w: tensor<3x2x2x5xf32>, %b: tensor<3xf32>) -> tensor<2x3x5x10xf32> {
  %y = ringconv.conv %x, %w bias %b dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 0], [2, 2]]}
     : (tensor<2x2x5x10xf32>, tensor<3x2x2x5xf32>, tensor<3xf32>) -> tensor<2x3x5x10xf32>
  return %y : tensor<2x3x5x10xf32>
}

// SAME with stride 2: padding (0,1).
func.func @pad4(%x: tensor<2x2x5x32xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {}, {"sp"}]>},
    %w: tensor<3x2x2x3xf32>, %b: tensor<3xf32>) -> tensor<2x3x5x16xf32> {
  %y = ringconv.conv %x, %w bias %b dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {stride = [1, 2], pad = [[1, 0], [0, 1]]}
     : (tensor<2x2x5x32xf32>, tensor<3x2x2x3xf32>, tensor<3xf32>) -> tensor<2x3x5x16xf32>
  return %y : tensor<2x3x5x16xf32>
}
