// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of what stands between convolutions, cut; of a mesh of images and
// columns, whose filter gradient is a sum over both; and of a result whose
// gradient arrives cut otherwise than it is computed.
// RUN: ringconv-opt %s --ringconv-raise --ringconv-differentiate=entry=network --ringconv-differentiate=entry=images --ringconv-differentiate=entry=rows --ringconv-differentiate=entry=frames --ringconv-differentiate=entry=calls -o %t
// RUN: ringconv-run %t --check --entry=network_grad | FileCheck %s
// RUN: ringconv-run %t --check --entry=network_grad --mesh=dp=1,w=7 | FileCheck %s
// RUN: ringconv-run %t --check --entry=images_grad | FileCheck %s
// RUN: ringconv-run %t --check --entry=rows_grad | FileCheck %s
// RUN: ringconv-run %t --check --entry=frames_grad | FileCheck %s
// RUN: ringconv-run %t --check --entry=calls_grad | FileCheck %s
// CHECK: check: output 0: {{(max error|bit-identical)}}

ringconv.mesh @grid = <["dp" = 2, "w" = 2]>
#images = #ringconv.sharding<@grid, [{"dp"}, {}, {}, {"w"}]>

// Padding, a normalisation, a pool, a slice, a reshape, a product
// with a matrix.
#map = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#channel = affine_map<(d0, d1, d2, d3) -> (d1)>
func.func @network(%x: tensor<4x2x6x10xf32> {ringconv.sharding = #images}, %w: tensor<4x2x3x3xf32>,
                   %scale: tensor<4xf32>, %m: tensor<48x5xf32>) -> tensor<4x5xf32> {
  %none = arith.constant 0.0 : f32
  %padded = tensor.pad %x low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %none : f32
  } : tensor<4x2x6x10xf32> to tensor<4x2x8x12xf32>
  %0 = ringconv.conv %padded, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
     : (tensor<4x2x8x12xf32>, tensor<4x2x3x3xf32>) -> tensor<4x4x6x10xf32>
  %empty = tensor.empty() : tensor<4x4x6x10xf32>
  %1 = linalg.generic {indexing_maps = [#map, #channel, #map], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%0, %scale : tensor<4x4x6x10xf32>, tensor<4xf32>) outs(%empty : tensor<4x4x6x10xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32):
    %e = math.tanh %a : f32
    %p = arith.mulf %e, %s : f32
    linalg.yield %p : f32
  } -> tensor<4x4x6x10xf32>
  %2 = ringconv.pool max %1 dims [b, f, 0, 1] -> [b, f, 0, 1] window {size = [3, 3], stride = [2, 2], pad = [[1, 1], [1, 1]]}
     : tensor<4x4x6x10xf32> -> tensor<4x4x3x5xf32>
  %3 = tensor.extract_slice %2[0, 0, 0, 1] [4, 4, 3, 4] [1, 1, 1, 1] : tensor<4x4x3x5xf32> to tensor<4x4x3x4xf32>
  %4 = ringconv.reshard %3 <@grid, [{"dp"}, {}, {}, {}]> : tensor<4x4x3x4xf32>
  %5 = tensor.collapse_shape %4 [[0], [1, 2, 3]] : tensor<4x4x3x4xf32> into tensor<4x48xf32>
  %zero = arith.constant dense<0.0> : tensor<4x5xf32>
  %6 = linalg.matmul ins(%5, %m : tensor<4x48xf32>, tensor<48x5xf32>) outs(%zero : tensor<4x5xf32>) -> tensor<4x5xf32>
  return %6 : tensor<4x5xf32>
}

func.func @images(%x: tensor<3x2x5x9xf64> {ringconv.sharding = #images}, %w: tensor<4x2x3x3xf64>, %b: tensor<4xf64>)
    -> (tensor<3x4x5x9xf64> {ringconv.sharding = #images}) {
  %y = ringconv.conv %x, %w bias %b dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<3x2x5x9xf64>, tensor<4x2x3x3xf64>, tensor<4xf64>) -> tensor<3x4x5x9xf64>
  return %y : tensor<3x4x5x9xf64>
}

// Computed in columns, delivered, and differentiated, in rows.
func.func @rows(%x: tensor<1x2x6x8xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {}, {"dp", "w"}]>},
                %w: tensor<3x2x3x3xf32>)
    -> (tensor<1x3x6x8xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"w", "dp", cuts = [0, 1, 1, 4, 6]}, {}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<1x2x6x8xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x6x8xf32>
  return %y : tensor<1x3x6x8xf32>
}

// All borders, rows and columns cut: folds with corners.
func.func @frames(%x: tensor<1x2x7x9xf64> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"dp"}, {"w", cuts = [0, 2, 9]}]>},
                  %w: tensor<3x2x3x3xf64>, %v: tensor<2x3x3x3xf64>, %u: tensor<2x2x4x5xf64>)
    -> (tensor<1x2x8x8xf64> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"dp"}, {"w"}]>}) {
  %0 = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
         window {pad = [[1, 1], [2, 1]], border = ["reflect", "replicate"]}
     : (tensor<1x2x7x9xf64>, tensor<3x2x3x3xf64>) -> tensor<1x3x7x10xf64>
  %1 = ringconv.conv %0, %v dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
         window {stride = [1, 2], pad = [[1, 2], [9, 12]], border = ["replicate", "circular"]}
     : (tensor<1x3x7x10xf64>, tensor<2x3x3x3xf64>) -> tensor<1x2x8x15xf64>
  %2 = ringconv.conv %1, %u dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
         window {pad = [[2, 1], [-1, -2]], border = ["circular", "reflect"]}
     : (tensor<1x2x8x15xf64>, tensor<2x2x4x5xf64>) -> tensor<1x2x8x8xf64>
  return %2 : tensor<1x2x8x8xf64>
}

func.func private @block(%x: tensor<1x2x6x8xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {}, {"w"}]>},
                         %w: tensor<2x2x3x3xf32>) -> tensor<1x2x6x8xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<1x2x6x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x6x8xf32>
  %z = math.sin %y : tensor<1x2x6x8xf32>
  return %z : tensor<1x2x6x8xf32>
}

// One filter in two calls: its gradient is a sum of both.
func.func @calls(%x: tensor<1x2x6x8xf32>, %w: tensor<2x2x3x3xf32>) -> tensor<1x2x6x8xf32> {
  %0 = call @block(%x, %w) : (tensor<1x2x6x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x6x8xf32>
  %1 = call @block(%0, %w) : (tensor<1x2x6x8xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x6x8xf32>
  return %1 : tensor<1x2x6x8xf32>
}
