// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -ringconv-partition -split-input-file -verify-diagnostics

ringconv.mesh @grid = <["x" = 2]>
// expected-error @+1 {{'ringconv.mesh' op one mesh per module, @grid stands before}}
ringconv.mesh @again = <["x" = 2]>

// -----

// Halos are known when a program is compiled.
ringconv.mesh @grid = <["x" = 2]>
// expected-error @+1 {{argument 0 of @main must have a static shape, got 'tensor<?xf32>'}}
func.func @main(%x: tensor<?xf32>) {
  return
}

// -----

ringconv.mesh @grid = <["x" = 2]>
func.func @main(%n: index) {
  // expected-error @+1 {{'tensor.empty' op must have a static shape, got 'tensor<?xf32>'}}
  %e = tensor.empty(%n) : tensor<?xf32>
  return
}

// -----

// expected-error @+1 {{@main must have one block; write branches as scf}}
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  cf.br ^next
^next:
  return %x : tensor<4xf32>
}

// -----

// No silent replication: an operation without rules names itself, and what helps.
ringconv.mesh @grid = <["x" = 2]>
func.func @main(%x: tensor<4x8xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"x"}]>}, %i: tensor<3x1xindex>)
    -> tensor<3x8xf32> {
  // expected-error @+1 {{'tensor.gather' op has no rules for cut values, but operand 0 is cut as #ringconv.sharding<@grid, [{}, {"x"}]>; a ringconv.reshard to <@grid, [{}, {}]> before it makes it whole}}
  %y = tensor.gather %x[%i] gather_dims([0]) : (tensor<4x8xf32>, tensor<3x1xindex>) -> tensor<3x8xf32>
  return %y : tensor<3x8xf32>
}

// -----

ringconv.mesh @grid = <["x" = 2]>
func.func @main(%x: tensor<4xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x"}]>}) -> f32 {
  %i = arith.constant 1 : index
  // expected-error @+1 {{'tensor.extract' op has no rules for cut values, but operand 0 is cut as #ringconv.sharding<@grid, [{"x"}]>; a ringconv.reshard to <@grid, [{}]> before it makes it whole}}
  %v = tensor.extract %x[%i] : tensor<4xf32>
  return %v : f32
}

// -----

func.func private @a(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = call @b(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
func.func private @b(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'func.call' op recursion through @a cannot be partitioned}}
  %y = call @a(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func private @elsewhere(tensor<4xf32>) -> tensor<4xf32>
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'func.call' op @elsewhere must have a body of one block}}
  %y = call @elsewhere(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
