// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-merge-halos walked a list of exchanges after its end: several of them,
// shared and joined, made it crash.
// RUN: ringconv-opt %s --ringconv-raise --ringconv-differentiate -o %t
// RUN: ringconv-run %t --check --entry=main_grad | FileCheck %s
// CHECK: check: output 0: {{(max error|bit-identical)}}
ringconv.mesh @m = <["y" = 2, "x" = 2]>
func.func @main(
    %a: tensor<2x10x8x2xf32> {ringconv.sharding = #ringconv.sharding<@m, [{}, {"y"}, {"x"}, {}]>, ringconv.wants_grad},
    %v: tensor<4x1x2x2xf32> {ringconv.wants_grad}, %w: tensor<4x2x4x4xf32> {ringconv.wants_grad}) -> tensor<2x6x2x4xf32> {
  %0 = ringconv.pool max %a dims [b, 0, 1, f] -> [b, 0, 1, f] window {size = [3, 2], pad = [[1, 4], [0, 1]]}
     : tensor<2x10x8x2xf32> -> tensor<2x13x8x2xf32>
  %1 = ringconv.conv %0, %v dims [b, 0, 1, f] x [o, 0, 1, i] -> [b, 0, 1, f]
         window {stride = [1, 2], pad = [[-2, -2], [-1, 2]], rhs_dilate = [1, 4]}
     : (tensor<2x13x8x2xf32>, tensor<4x1x2x2xf32>) -> tensor<2x9x3x4xf32>
  %2 = ringconv.conv %1, %w dims [b, 0, 1, f] x [i, 1, o, 0] -> [b, 0, 1, f] window {pad = [[0, 0], [0, 0]]}
     : (tensor<2x9x3x4xf32>, tensor<4x2x4x4xf32>) -> tensor<2x6x2x4xf32>
  return %2 : tensor<2x6x2x4xf32>
}
