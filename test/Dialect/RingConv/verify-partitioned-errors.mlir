// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -ringconv-verify-partitioned -split-input-file -verify-diagnostics

// expected-error @+1 {{a partitioned program has a mesh}}
module {
  func.func @main() {
    return
  }
}

// -----

ringconv.mesh @grid = <["x" = 2]>
// expected-error @+1 {{argument 1 has no ringconv.shard_of}}
func.func @main(%x: tensor<4xf32> {ringconv.shard_of = #ringconv.shard_of<tensor<8xf32>, @grid, [{"x"}]>},
                %y: tensor<4xf32>) {
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
// expected-error @+1 {{result 0 has no ringconv.shard_of}}
func.func @main(%x: tensor<4xf32> {ringconv.shard_of = #ringconv.shard_of<tensor<8xf32>, @grid, [{"x"}]>})
    -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// Even cuts have static shards.
ringconv.mesh @grid = <["x" = 2]>
// expected-error @+1 {{argument 0 must be 'tensor<4xf32>' as the shard of 'tensor<8xf32>', got 'tensor<?xf32>'}}
func.func @main(%x: tensor<?xf32> {ringconv.shard_of = #ringconv.shard_of<tensor<8xf32>, @grid, [{"x"}]>}) {
  return
}

// -----

// Uneven ones do not.
ringconv.mesh @grid = <["x" = 2]>
// expected-error @+1 {{argument 0 must be 'tensor<?xf32>' as the shard of 'tensor<7xf32>', got 'tensor<4xf32>'}}
func.func @main(%x: tensor<4xf32> {ringconv.shard_of = #ringconv.shard_of<tensor<7xf32>, @grid, [{"x"}]>}) {
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
func.func @main(%x: tensor<1x2x8xf32> {ringconv.shard_of = #ringconv.shard_of<tensor<1x2x8xf32>, @grid, [{}, {}, {}]>},
                %w: tensor<3x2x3xf32> {ringconv.shard_of = #ringconv.shard_of<tensor<3x2x3xf32>, @grid, [{}, {}, {}]>}) {
  // expected-error @+1 {{'ringconv.conv' op may not stand in a partitioned program}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
func.func @main(%x: tensor<8xf32> {ringconv.shard_of = #ringconv.shard_of<tensor<8xf32>, @grid, [{}]>}) {
  // expected-error @+1 {{'ringconv.pool' op may not stand in a partitioned program}}
  %y = ringconv.pool max %x dims [0] -> [0] window {size = [3]} : tensor<8xf32> -> tensor<6xf32>
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
func.func @main(%x: tensor<8xf32> {ringconv.shard_of = #ringconv.shard_of<tensor<8xf32>, @grid, [{}]>}) {
  // expected-error @+1 {{'ringconv.reshard' op may not stand in a partitioned program}}
  %y = ringconv.reshard %x <@grid, [{"x"}]> : tensor<8xf32>
  return
}

// -----

// A slab is there after the wait only.
ringconv.mesh @grid = <["x" = 2]>
func.func @main(%x: tensor<4xf32> {ringconv.shard_of = #ringconv.shard_of<tensor<8xf32>, @grid, [{"x"}]>}) {
  %low = tensor.empty() : tensor<1xf32>
  %high = tensor.empty() : tensor<0xf32>
  // expected-error @+1 {{'ringconv.start' op slab 0 is used by something else than its wait}}
  %slabs:2, %token = ringconv.start @grid [[#ringconv.halo_dim<0, ["x"], low = 1, high = 0, []>]]
    ins(%x : tensor<4xf32>) outs(%low, %high : tensor<1xf32>, tensor<0xf32>) -> tensor<1xf32>, tensor<0xf32>
  %early = arith.negf %slabs#0 : tensor<1xf32>
  %there:2 = ringconv.wait %token ins(%x : tensor<4xf32>) outs(%slabs#0, %slabs#1 : tensor<1xf32>, tensor<0xf32>)
    -> tensor<1xf32>, tensor<0xf32>
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
func.func @main(%x: tensor<4xf32> {ringconv.shard_of = #ringconv.shard_of<tensor<8xf32>, @grid, [{"x"}]>}) {
  %low = tensor.empty() : tensor<1xf32>
  %high = tensor.empty() : tensor<0xf32>
  // expected-error @+1 {{'ringconv.start' op needs exactly one wait for its token}}
  %slabs:2, %token = ringconv.start @grid [[#ringconv.halo_dim<0, ["x"], low = 1, high = 0, []>]]
    ins(%x : tensor<4xf32>) outs(%low, %high : tensor<1xf32>, tensor<0xf32>) -> tensor<1xf32>, tensor<0xf32>
  return
}
