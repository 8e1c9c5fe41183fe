// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -split-input-file -verify-diagnostics

func.func @argmax_type(%x: tensor<1x8x56xf32>) -> tensor<1x8x28xf32> {
  // expected-error @below {{pool_c3: argmax goes from a float element type to i32, got 'f32' and 'f32'}}
  %y = ringconv.pool argmax %x dims [b, f, 0] -> [b, f, 0] window {size = [3], stride = [2], pad = [[1, 1]]}
     : tensor<1x8x56xf32> -> tensor<1x8x28xf32>
  return %y : tensor<1x8x28xf32>
}

// -----

func.func @letters(%dy: tensor<8x28xf32>, %taps: tensor<8x28xi32>) -> tensor<8x28xf32> {
  // expected-error @below {{pool_grad_c1: b must be named by both or none of input and result}}
  %dx = ringconv.pool_grad %dy, %taps dims [b, 0] -> [f, 0] window {size = [1]}
        : (tensor<8x28xf32>, tensor<8x28xi32>) -> tensor<8x28xf32>
  return %dx : tensor<8x28xf32>
}

// -----

func.func @border(%dy: tensor<1x8x28xf32>, %taps: tensor<1x8x28xi32>) -> tensor<1x8x28xf32> {
  // expected-error @below {{pool_grad_c2: borders must be zero; ringconv.fold_border adds what they map}}
  %dx = ringconv.pool_grad %dy, %taps dims [b, f, 0] -> [b, f, 0]
          window {size = [3], pad = [[1, 1]], border = ["circular"]}
        : (tensor<1x8x28xf32>, tensor<1x8x28xi32>) -> tensor<1x8x28xf32>
  return %dx : tensor<1x8x28xf32>
}

// -----

func.func @taps(%dy: tensor<1x8x28xf32>, %taps: tensor<1x8x27xi32>) -> tensor<1x8x28xf32> {
  // expected-error @below {{pool_grad_c3: taps must be i32 and have the shape of the input, got 'tensor<1x8x27xi32>'}}
  %dx = ringconv.pool_grad %dy, %taps dims [b, f, 0] -> [b, f, 0] window {size = [3], pad = [[1, 1]]}
        : (tensor<1x8x28xf32>, tensor<1x8x27xi32>) -> tensor<1x8x28xf32>
  return %dx : tensor<1x8x28xf32>
}

// -----

func.func @shape(%dy: tensor<1x8x28xf32>, %taps: tensor<1x8x28xi32>) -> tensor<1x8x29xf32> {
  // expected-error @below {{pool_grad_c4: the result must be 1x8x28, got 1x8x29}}
  %dx = ringconv.pool_grad %dy, %taps dims [b, f, 0] -> [b, f, 0] window {size = [3], pad = [[1, 1]]}
        : (tensor<1x8x28xf32>, tensor<1x8x28xi32>) -> tensor<1x8x29xf32>
  return %dx : tensor<1x8x29xf32>
}

// -----

func.func @dim(%g: tensor<1x8x59xf32>) -> tensor<1x8x56xf32> {
  // expected-error @below {{fold_border_c1: dim must be below 3, got 3}}
  %dx = ringconv.fold_border %g dim 3 pad [1, 2] circular : tensor<1x8x59xf32> -> tensor<1x8x56xf32>
  return %dx : tensor<1x8x56xf32>
}

// -----

func.func @element(%g: tensor<1x8x59xi32>) -> tensor<1x8x56xi32> {
  // expected-error @below {{fold_border_c2: element type must be f64, f32, f16 or bf16, got 'i32'}}
  %dx = ringconv.fold_border %g dim 2 pad [1, 2] circular : tensor<1x8x59xi32> -> tensor<1x8x56xi32>
  return %dx : tensor<1x8x56xi32>
}

// -----

func.func @size(%g: tensor<1x8x59xf32>) -> tensor<1x8x57xf32> {
  // expected-error @below {{fold_border_c3: the result must be 1x8x56, got 1x8x57}}
  %dx = ringconv.fold_border %g dim 2 pad [1, 2] circular : tensor<1x8x59xf32> -> tensor<1x8x57xf32>
  return %dx : tensor<1x8x57xf32>
}

// -----

func.func @reflect(%g: tensor<1x8x6xf32>) -> tensor<1x8x3xf32> {
  // expected-error @below {{fold_border_c4: reflect padding must be below the cropped size 3, not 3}}
  %dx = ringconv.fold_border %g dim 2 pad [3, 0] reflect : tensor<1x8x6xf32> -> tensor<1x8x3xf32>
  return %dx : tensor<1x8x3xf32>
}

// -----

ringconv.mesh @g = <["w" = 2]>
func.func @sums(%w: tensor<4xf32>, %b: tensor<4xf64>) -> tensor<4xf32> {
  // expected-error @below {{the tensors must share an element type, got 'tensor<4xf32>' and 'tensor<4xf64>'}}
  %s:2, %t = ringconv.start_reduce outs(%w, %b : tensor<4xf32>, tensor<4xf64>) over @g ["w"]
    -> tensor<4xf32>, tensor<4xf64>
  %r:2 = ringconv.wait %t outs(%s#0, %s#1 : tensor<4xf32>, tensor<4xf64>) -> tensor<4xf32>, tensor<4xf64>
  return %r#0 : tensor<4xf32>
}
