// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -split-input-file -ringconv-raise -verify-diagnostics

shard.grid @grid(shape = 2)
func.func @halos(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'shard.sharding' op halo_sizes cannot be raised: ringconv computes halos itself}}
  %s = shard.sharding @grid split_axes = [[0]] halo_sizes = [1, 1] : !shard.sharding
  %a = shard.shard %x to %s : tensor<4xf32>
  return %a : tensor<4xf32>
}

// -----

// expected-error @below {{'shard.grid' op axis 1: a mesh needs a static extent, got ?}}
shard.grid @grid(shape = 2x?)

// -----

shard.grid @grid(shape = 2)
func.func @collective(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'shard.all_reduce' op cannot be raised: only grids and annotations of values can}}
  %y = shard.all_reduce %x on @grid grid_axes = [0] : tensor<4xf32> -> tensor<4xf32>
  return %y : tensor<4xf32>
}
