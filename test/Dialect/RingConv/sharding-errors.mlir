// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -split-input-file -verify-diagnostics

// sharding_c1: the mesh exists.
// expected-error @+1 {{argument 0: no mesh named @grid}}
func.func @main(%x: tensor<4xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x"}]>}) {
  return
}

// -----

// A symbol that is no mesh is none.
// expected-error @+1 {{argument 0: no mesh named @main}}
func.func @main(%x: tensor<4xf32> {ringconv.sharding = #ringconv.sharding<@main, [{}]>}) {
  return
}

// -----

// sharding_c2: one entry per dimension.
ringconv.mesh @grid = <["x" = 2]>
// expected-error @+1 {{argument 1: sharding_c2: expected 2 entries, one per dimension, got 1}}
func.func @main(%a: tensor<4xf32>, %x: tensor<4x4xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x"}]>}) {
  return
}

// -----

// sharding_c3: axes of the mesh.
ringconv.mesh @grid = <["x" = 2]>
// expected-error @+1 {{argument 0: sharding_c3: dim 1: the mesh has no axis "y"}}
func.func @main(%x: tensor<4x4xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x"}, {"y"}]>}) {
  return
}

// -----

// sharding_c4: no axis twice, in one dimension or in two.
ringconv.mesh @grid = <["x" = 2, "y" = 2]>
// expected-error @+1 {{argument 0: sharding_c4: dim 1: axis "x" is used twice}}
func.func @main(%x: tensor<4x4xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x"}, {"y", "x"}]>}) {
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
// expected-error @+1 {{argument 0: sharding_c4: dim 0: axis "x" is used twice}}
func.func @main(%x: tensor<4x4xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x", "x"}, {}]>}) {
  return
}

// -----

// sharding_c5: cuts cover the dimension.
ringconv.mesh @grid = <["x" = 2]>
// expected-error @+1 {{argument 0: sharding_c5: dim 0: the first cut must be 0, not 1}}
func.func @main(%x: tensor<8xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x", cuts = [1, 4, 8]}]>}) {
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
// expected-error @+1 {{argument 0: sharding_c5: dim 0: the last cut must be the size 8, not 7}}
func.func @main(%x: tensor<8xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x", cuts = [0, 4, 7]}]>}) {
  return
}

// -----

ringconv.mesh @grid = <["x" = 3]>
// expected-error @+1 {{argument 0: sharding_c5: dim 0: part 1 begins at 5 but ends at 4}}
func.func @main(%x: tensor<8xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x", cuts = [0, 5, 4, 8]}]>}) {
  return
}

// -----

// Two axes of 2 make four parts.
ringconv.mesh @grid = <["x" = 2, "y" = 2]>
// expected-error @+1 {{argument 0: sharding_c5: dim 0: 4 parts need 5 cuts, but there are 3}}
func.func @main(%x: tensor<8xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x", "y", cuts = [0, 4, 8]}]>}) {
  return
}

// -----

// Results are checked too.
ringconv.mesh @grid = <["x" = 2]>
// expected-error @+1 {{result 0: sharding_c3: dim 0: the mesh has no axis "y"}}
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"y"}]>}) {
  return %x : tensor<8xf32>
}

// -----

ringconv.mesh @grid = <["x" = 2]>
// expected-error @+1 {{cuts need an axis, and at least the bounds 0 and the size}}
func.func @main(%x: tensor<8xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{cuts = [0, 8]}]>}) {
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
// expected-error @+1 {{cuts need an axis, and at least the bounds 0 and the size}}
func.func @main(%x: tensor<8xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x", cuts = []}]>}) {
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
// expected-error @+1 {{expected '}' after the cuts}}
func.func @main(%x: tensor<8xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x", cuts = [0, 4, 8], "y"}]>}) {
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
// expected-error @+1 {{argument 0: a sharding needs a ranked tensor, got 'f32'}}
func.func @main(%x: f32 {ringconv.sharding = #ringconv.sharding<@grid, []>}) {
  return
}

// -----

// expected-error @+1 {{argument 0: expected a #ringconv.sharding, got 3 : i64}}
func.func @main(%x: tensor<8xf32> {ringconv.sharding = 3 : i64}) {
  return
}

// -----

// expected-error @+1 {{argument 0: ringconv.name must be a string}}
func.func @main(%x: tensor<8xf32> {ringconv.name = 3 : i64}) {
  return
}

// -----

// expected-error @+1 {{argument 0: ringconv.parameter must be a unit attribute}}
func.func @main(%x: tensor<8xf32> {ringconv.parameter = true}) {
  return
}

// -----

// expected-error @+1 {{argument 0: unknown attribute ringconv.shading}}
func.func @main(%x: tensor<8xf32> {ringconv.shading = "x"}) {
  return
}

// -----

// A result is no parameter.
// expected-error @+1 {{result 0: unknown attribute ringconv.parameter}}
func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32> {ringconv.parameter}) {
  return %x : tensor<8xf32>
}

// -----

// expected-error @+1 {{unknown discardable attribute "ringconv.sharding"}}
func.func @main(%x: tensor<8xf32>) attributes {ringconv.sharding = "x"} {
  return
}

// -----

// shard_of: the sharding fits the whole tensor.
ringconv.mesh @grid = <["x" = 2]>
// expected-error @+1 {{argument 0: sharding_c2: expected 2 entries, one per dimension, got 1}}
func.func @main(%x: tensor<4x4xf32> {ringconv.shard_of = #ringconv.shard_of<tensor<8x4xf32>, @grid, [{"x"}]>}) {
  return
}

// -----

// expected-error @+1 {{argument 0: expected a #ringconv.shard_of, got "x"}}
func.func @main(%x: tensor<4x4xf32> {ringconv.shard_of = "x"}) {
  return
}

// -----

// reshard_c1: as on arguments.
ringconv.mesh @grid = <["x" = 2]>
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{reshard_c1: sharding_c4: dim 1: axis "x" is used twice}}
  %y = ringconv.reshard %x <@grid, [{"x"}, {"x"}]> : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // expected-error @+1 {{reshard_c1: no mesh named @grid}}
  %y = ringconv.reshard %x <@grid, [{}, {}]> : tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// -----

ringconv.mesh @grid = <["x" = 2]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error @+1 {{reshard_c1: sharding_c5: dim 0: the last cut must be the size 8, not 9}}
  %y = ringconv.reshard %x <@grid, [{"x", cuts = [0, 4, 9]}]> : tensor<8xf32>
  return %y : tensor<8xf32>
}
