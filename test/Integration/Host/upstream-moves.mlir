// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-run %s --entry=pad --check
// RUN: ringconv-run %s --entry=integers --check
// RUN: ringconv-run %s --entry=drop --check
// RUN: ringconv-run %s --entry=drop_all --check
// RUN: ringconv-run %s --entry=switch --check

// Upstream operations on cut values.

ringconv.mesh @grid = <["x" = 3]>

// Padding other than 0: 10 columns in 4, 3, 3 and 2 + 3 around them; the result
// is cut anew.
func.func @pad(%x: tensor<2x10xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"x"}]>})
    -> (tensor<3x15xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"x"}]>}) {
  %c = arith.constant 1.5 : f32
  %y = tensor.pad %x low[0, 2] high[1, 3] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : f32
  } : tensor<2x10xf32> to tensor<3x15xf32>
  return %y : tensor<3x15xf32>
}

func.func @integers(%x: tensor<2x10xi8> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"x"}]>}) -> tensor<2x14xi8> {
  %c = arith.constant -7 : i8
  %y = tensor.pad %x low[0, 0] high[0, 4] {
  ^bb0(%i: index, %j: index):
    tensor.yield %c : i8
  } : tensor<2x10xi8> to tensor<2x14xi8>
  return %y : tensor<2x14xi8>
}

// A slice that drops the cut dimension: column 5 of rank 1; the rows stay.
func.func @drop(%x: tensor<6x10xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"x"}]>})
    -> (tensor<6xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x"}]>}) {
  %y = tensor.extract_slice %x[0, 5] [6, 1] [1, 1] : tensor<6x10xf32> to tensor<6xf32>
  return %y : tensor<6xf32>
}

func.func @drop_all(%x: tensor<6x10xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x"}, {}]>}) -> tensor<f32> {
  %y = tensor.extract_slice %x[4, 5] [1, 1] [1, 1] : tensor<6x10xf32> to tensor<f32>
  return %y : tensor<f32>
}

// Branches that compute at different cuts: the switch has one.
func.func @switch(%x: tensor<4x6xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x"}, {}]>},
                  %d: tensor<4x6xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"x"}]>})
    -> (tensor<4x6xf32>, tensor<4x6xf32>) {
  %c2 = arith.constant 2 : index
  %y = scf.index_switch %c2 -> tensor<4x6xf32>
  case 1 {
    scf.yield %x : tensor<4x6xf32>
  }
  case 2 {
    %s = arith.addf %d, %x : tensor<4x6xf32>
    scf.yield %s : tensor<4x6xf32>
  }
  default {
    scf.yield %d : tensor<4x6xf32>
  }
  %c5 = arith.constant 5 : index
  %z = scf.index_switch %c5 -> tensor<4x6xf32>
  default {
    scf.yield %y : tensor<4x6xf32>
  }
  return %y, %z : tensor<4x6xf32>, tensor<4x6xf32>
}
