// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s --ringconv-partition --canonicalize --cse --ringconv-lower-halo | FileCheck %s
// CHECK: ringconv.all_reduce
// CHECK: ringconv.reduce_scatter
// CHECK: ringconv.redistribute
// CHECK: ringconv.local_pool max

ringconv.mesh @grid = <["x" = 2, "y" = 2]>
#features = #ringconv.sharding<@grid, [{}, {"x"}, {}]>
func.func @sums(%x: tensor<1x4x8xf32> {ringconv.sharding = #features}, %w: tensor<6x4x1xf32>)
    -> (tensor<1x6x8xf32>, tensor<1x6x8xf32> {ringconv.sharding = #features}) {
  %a = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x4x8xf32>, tensor<6x4x1xf32>) -> tensor<1x6x8xf32>
  %b = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x4x8xf32>, tensor<6x4x1xf32>) -> tensor<1x6x8xf32>
  return %a, %b : tensor<1x6x8xf32>, tensor<1x6x8xf32>
}
func.func @moved(%x: tensor<1x4x8xf32> {ringconv.sharding = #features}) -> tensor<1x4x4xf32> {
  %r = ringconv.reshard %x <@grid, [{}, {}, {"y", "x"}]> : tensor<1x4x8xf32>
  %y = ringconv.pool max %r dims [b, f, 0] -> [b, f, 0] window {size = [2], stride = [2]}
     : tensor<1x4x8xf32> -> tensor<1x4x4xf32>
  return %y : tensor<1x4x4xf32>
}
