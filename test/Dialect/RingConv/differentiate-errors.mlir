// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -split-input-file --ringconv-differentiate -verify-diagnostics

func.func @loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  // expected-error @below {{'scf.for' op has no gradient: it is no operation that ringconv-differentiate knows}}
  %y = scf.for %i = %zero to %one step %one iter_args(%v = %x) -> tensor<4xf32> {
    %w = arith.addf %v, %v : tensor<4xf32>
    scf.yield %w : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

func.func @remainder(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{'arith.remf' op has no gradient: it is no operation that ringconv-differentiate knows}}
  %z = arith.remf %x, %y : tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
func.func @largest(%x: tensor<4xf32>, %y: tensor<f32>) -> tensor<f32> {
  // expected-error @below {{'linalg.generic' op has no gradient: its reduction is no sum}}
  %z = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction"]}
      ins(%x : tensor<4xf32>) outs(%y : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    %c = arith.maximumf %a, %b : f32
    linalg.yield %c : f32
  } -> tensor<f32>
  return %z : tensor<f32>
}

// -----

#window = affine_map<(d0, d1) -> (d0 + d1)>
#tap = affine_map<(d0, d1) -> (d1)>
#out = affine_map<(d0, d1) -> (d0)>
func.func @window(%x: tensor<6xf32>, %w: tensor<3xf32>) -> tensor<4xf32> {
  %zero = arith.constant dense<0.0> : tensor<4xf32>
  // expected-error @below {{'linalg.generic' op has no gradient: operand 0 is not read element by element of some loops}}
  %z = linalg.generic {indexing_maps = [#window, #tap, #out], iterator_types = ["parallel", "reduction"]}
      ins(%x, %w : tensor<6xf32>, tensor<3xf32>) outs(%zero : tensor<4xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<4xf32>
  return %z : tensor<4xf32>
}

// -----

// What no gradient passes is no error.
func.func @integers(%x: tensor<4xf32>, %i: tensor<4xi32>) -> (tensor<4xf32>, tensor<4xi32>) {
  %j = arith.remsi %i, %i : tensor<4xi32>
  return %x, %j : tensor<4xf32>, tensor<4xi32>
}

// -----

// expected-error @below {{argument 0 wants a gradient but is no float tensor: 'tensor<4xi32>'}}
func.func @wanted(%i: tensor<4xi32> {ringconv.wants_grad}) -> tensor<4xi32> {
  return %i : tensor<4xi32>
}

// -----

// expected-error @below {{no public function @main to differentiate; there are @one @two}}
module {
  func.func @one(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  func.func @two(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}

// -----

module {
  // expected-error @below {{@main_grad is there already}}
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
  func.func @main_grad(%x: tensor<4xf32>) -> tensor<4xf32> {
    return %x : tensor<4xf32>
  }
}
