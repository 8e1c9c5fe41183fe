// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -split-input-file -verify-diagnostics

ringconv.mesh @grid = <["x" = 2]>
func.func @slabs(%x: tensor<4xf32>) {
  // expected-error @+1 {{'ringconv.halo_exchange' op expected 2 slabs, got 1}}
  %s = ringconv.halo_exchange %x @grid [#ringconv.halo_dim<0, ["x"], low = 1, high = 1, []>]
     : tensor<4xf32> -> tensor<1xf32>
  return
}

// -----

func.func @no_mesh(%x: tensor<4xf32>) {
  // expected-error @+1 {{'ringconv.halo_exchange' op no mesh named @grid}}
  %s:2 = ringconv.halo_exchange %x @grid [#ringconv.halo_dim<0, ["x"], low = 1, high = 1, []>]
       : tensor<4xf32> -> tensor<1xf32>, tensor<1xf32>
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
func.func @axis(%x: tensor<4xf32>) {
  // expected-error @+1 {{'ringconv.halo_exchange' op the mesh has no axis "y"}}
  %s:2 = ringconv.halo_exchange %x @grid [#ringconv.halo_dim<0, ["y"], low = 1, high = 1, []>]
       : tensor<4xf32> -> tensor<1xf32>, tensor<1xf32>
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
func.func @order(%x: tensor<4x4xf32>) {
  // expected-error @+1 {{'ringconv.halo_exchange' op exchanged dimensions must ascend within the input's, got 0}}
  %s:4 = ringconv.halo_exchange %x @grid [#ringconv.halo_dim<1, ["x"], low = 1, high = 1, []>,
                                          #ringconv.halo_dim<0, [], low = 1, high = 1, []>]
       : tensor<4x4xf32> -> tensor<4x1xf32>, tensor<4x1xf32>, tensor<1x6xf32>, tensor<1x6xf32>
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
func.func @negative(%x: tensor<4xf32>) {
  // expected-error @+1 {{'ringconv.halo_exchange' op slab sizes must not be negative}}
  %s:2 = ringconv.halo_exchange %x @grid [#ringconv.halo_dim<0, ["x"], low = -1, high = 1, []>]
       : tensor<4xf32> -> tensor<1xf32>, tensor<1xf32>
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
func.func @start(%x: memref<4xf32>, %l: memref<1xf32>) {
  // expected-error @+1 {{'ringconv.start' op expected 2 slabs, got 1}}
  %t = ringconv.start @grid [[#ringconv.halo_dim<0, ["x"], low = 1, high = 0, []>]]
    ins(%x : memref<4xf32>) outs(%l : memref<1xf32>)
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
func.func @inputs(%x: memref<4xf32>, %l: memref<1xf32>) {
  // expected-error @+1 {{'ringconv.start' op expected one array of exchanged dimensions per input}}
  %t = ringconv.start @grid [] ins(%x : memref<4xf32>) outs(%l : memref<1xf32>)
  return
}

// -----

func.func @scalars(%x: memref<1x2x8xf32>, %w: memref<3x2x3xf32>, %y: memref<1x3x6xf32>) {
  // expected-error @+1 {{'ringconv.local_conv' op strides must be at least 1, got 0}}
  ringconv.local_conv ins(%x, %w : memref<1x2x8xf32>, memref<3x2x3xf32>) outs(%y : memref<1x3x6xf32>)
    dims [b, f, 0] x [o, i, 0] -> [b, f, 0] at [0] valid [0] to [8]
    {halo_dims = array<i64>, lhs_dilate = array<i64: 1>, reverse = array<i1: false>, rhs_dilate = array<i64: 1>,
     stride = array<i64: 0>}
  return
}

// -----

func.func @halos(%x: memref<1x2x8xf32>, %w: memref<3x2x3xf32>, %y: memref<1x3x6xf32>) {
  // expected-error @+1 {{'ringconv.local_conv' op expected a low and a high slab per halo dimension, got 0}}
  ringconv.local_conv ins(%x, %w : memref<1x2x8xf32>, memref<3x2x3xf32>) outs(%y : memref<1x3x6xf32>)
    dims [b, f, 0] x [o, i, 0] -> [b, f, 0] at [0] valid [0] to [8]
    {halo_dims = array<i64: 2>, lhs_dilate = array<i64: 1>, reverse = array<i1: false>, rhs_dilate = array<i64: 1>,
     stride = array<i64: 1>}
  return
}

// -----

func.func @lists(%x: memref<2x8xf32>, %y: memref<2x8xf32>) {
  // expected-error @+1 {{'ringconv.local_pool' op expected 1 entries per window list, got 2}}
  ringconv.local_pool max ins(%x : memref<2x8xf32>) outs(%y : memref<2x8xf32>) dims [b, 0] -> [b, 0]
    at [0, 0] valid [0] to [8] {halo_dims = array<i64>, lhs_dilate = array<i64: 1>, rhs_dilate = array<i64: 1>,
                                size = array<i64: 1>, stride = array<i64: 1>}
  return
}

// -----

func.func @letters(%x: memref<2x8xf32>, %y: memref<2x8xf32>) {
  // expected-error @+1 {{'ringconv.local_pool' op input and result must name the same letters}}
  ringconv.local_pool max ins(%x : memref<2x8xf32>) outs(%y : memref<2x8xf32>) dims [b, 0] -> [f, 0]
    at [0] valid [0] to [8] {halo_dims = array<i64>, lhs_dilate = array<i64: 1>, rhs_dilate = array<i64: 1>,
                             size = array<i64: 1>, stride = array<i64: 1>}
  return
}

// -----

func.func @tables(%i: index) {
  // expected-error @+1 {{a table is triples of begin, base and slope, the first from part 0 on}}
  %v = ringconv.lookup %i <1: 3, 2: 4>
  return
}

// -----

func.func @runs(%i: index) {
  // expected-error @+1 {{runs of a table must ascend, got 2 after 2}}
  %v = ringconv.lookup %i <0: 3, 2: 4, 2: 5>
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
func.func @piece(%x: tensor<4xf32>) {
  // expected-error @+1 {{expected one of low, own, high}}
  %s:2 = ringconv.halo_exchange %x @grid [#ringconv.halo_dim<0, ["x"], low = 1, high = 1, [<middle copy from <0>>]>]
       : tensor<4xf32> -> tensor<1xf32>, tensor<1xf32>
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
func.func @coord() {
  // expected-error @+1 {{'ringconv.coord' op the mesh has no axis "y"}}
  %c = ringconv.coord @grid ["x", "y"]
  return
}

// -----

func.func @coord_mesh() {
  // expected-error @+1 {{'ringconv.coord' op no mesh named @grid}}
  %c = ringconv.coord @grid ["x"]
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
func.func @all_reduce(%x: memref<4xf32>) {
  // expected-error @+1 {{'ringconv.all_reduce' op the mesh has no axis "y"}}
  ringconv.all_reduce outs(%x : memref<4xf32>) over @grid ["y"]
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
func.func @redistribute(%x: memref<4xf32>, %y: memref<8xf32>) {
  // expected-error @+1 {{from: sharding_c3: dim 0: the mesh has no axis "y"}}
  ringconv.redistribute ins(%x : memref<4xf32>) outs(%y : memref<8xf32>) of tensor<8xf32>
    from <@grid, [{"y"}]> to <@grid, [{}]>
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
func.func @reduce_scatter(%x: memref<8xf32>, %y: memref<4xf32>) {
  // expected-error @+1 {{to: sharding_c2: expected 1 entries, one per dimension, got 2}}
  ringconv.reduce_scatter ins(%x : memref<8xf32>) outs(%y : memref<4xf32>) of tensor<8xf32> over ["x"]
    from <@grid, [{}]> to <@grid, [{"x"}, {}]>
  return
}
