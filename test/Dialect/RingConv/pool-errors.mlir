// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -split-input-file -verify-diagnostics

// pool_c1: dimension numbers.
func.func @rank(%x: tensor<2x8xf32>) -> tensor<2x6xf32> {
  // expected-error @+1 {{'ringconv.pool' op pool_c1: input has 2 dimensions, its dims name 3}}
  %y = ringconv.pool max %x dims [b, f, 0] -> [b, f, 0] window {size = [3]} : tensor<2x8xf32> -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// -----

func.func @letter(%x: tensor<2x8xf32>) -> tensor<2x6xf32> {
  // expected-error @+1 {{'ringconv.pool' op pool_c1: b must be named by both or none of input and result}}
  %y = ringconv.pool max %x dims [b, 0] -> [f, 0] window {size = [3]} : tensor<2x8xf32> -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// -----

func.func @missing(%x: tensor<2x8xf32>) -> tensor<2x6xf32> {
  // expected-error @+1 {{'ringconv.pool' op pool_c1: result: spatial number 1 is missing}}
  %y = ringconv.pool max %x dims [0, 1] -> [b, 0] window {size = [1, 3]} : tensor<2x8xf32> -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// -----

// pool_c2: window words.
func.func @entries(%x: tensor<2x8xf32>) -> tensor<2x6xf32> {
  // expected-error @+1 {{'ringconv.pool' op pool_c2: rhs_dilate must have 1 entries, got 2}}
  %y = ringconv.pool max %x dims [f, 0] -> [f, 0] window {size = [3], rhs_dilate = [1, 1]}
     : tensor<2x8xf32> -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// -----

func.func @size_entries(%x: tensor<2x8xf32>) -> tensor<2x6xf32> {
  // expected-error @+1 {{'ringconv.pool' op pool_c2: size must have 1 entries, got 2}}
  %y = ringconv.pool max %x dims [f, 0] -> [f, 0] window {size = [3, 3]} : tensor<2x8xf32> -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// -----

func.func @size(%x: tensor<2x8xf32>) -> tensor<2x6xf32> {
  // expected-error @+1 {{'ringconv.pool' op pool_c2: spatial dim 0: size must be at least 1, got 0}}
  %y = ringconv.pool max %x dims [f, 0] -> [f, 0] window {size = [0]} : tensor<2x8xf32> -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// -----

func.func @stride(%x: tensor<2x8xf32>) -> tensor<2x6xf32> {
  // expected-error @+1 {{'ringconv.pool' op pool_c2: spatial dim 0: stride must be at least 1, got -2}}
  %y = ringconv.pool max %x dims [f, 0] -> [f, 0] window {size = [3], stride = [-2]}
     : tensor<2x8xf32> -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// -----

func.func @word(%x: tensor<2x8xf32>) -> tensor<2x6xf32> {
  // expected-error @+1 {{unknown window word 'kernel', expected size, stride, pad, lhs_dilate, rhs_dilate, reverse or border}}
  %y = ringconv.pool max %x dims [f, 0] -> [f, 0] window {kernel = [3]} : tensor<2x8xf32> -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// -----

// pool_c3: element types.
func.func @unlike(%x: tensor<2x8xf32>) -> tensor<2x6xf64> {
  // expected-error @+1 {{'ringconv.pool' op pool_c3: input and result must share an element type, got 'f32' and 'f64'}}
  %y = ringconv.pool max %x dims [f, 0] -> [f, 0] window {size = [3]} : tensor<2x8xf32> -> tensor<2x6xf64>
  return %y : tensor<2x6xf64>
}

// -----

func.func @short(%x: tensor<2x8xi16>) -> tensor<2x6xi16> {
  // expected-error @+1 {{'ringconv.pool' op pool_c3: element type must be f64, f32, f16, bf16, i8 or i32, got 'i16'}}
  %y = ringconv.pool max %x dims [f, 0] -> [f, 0] window {size = [3]} : tensor<2x8xi16> -> tensor<2x6xi16>
  return %y : tensor<2x6xi16>
}

// -----

func.func @average(%x: tensor<2x8xi32>) -> tensor<2x6xi32> {
  // expected-error @+1 {{'ringconv.pool' op pool_c3: avg needs a float element type, got 'i32'}}
  %y = ringconv.pool avg %x dims [f, 0] -> [f, 0] window {size = [3]} : tensor<2x8xi32> -> tensor<2x6xi32>
  return %y : tensor<2x6xi32>
}

// -----

// pool_c4: the result's shape.
func.func @shape(%x: tensor<2x8xf32>) -> tensor<2x8xf32> {
  // expected-error @+1 {{'ringconv.pool' op pool_c4: the result must be 2x6, got 2x8}}
  %y = ringconv.pool max %x dims [f, 0] -> [f, 0] window {size = [3]} : tensor<2x8xf32> -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

// pool_c5: kinds.
func.func @count(%x: tensor<2x8xf32>) -> tensor<2x6xf32> {
  // expected-error @+1 {{'ringconv.pool' op pool_c5: count_padding goes with avg, got sum}}
  %y = ringconv.pool sum count_padding %x dims [f, 0] -> [f, 0] window {size = [3]}
     : tensor<2x8xf32> -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// -----

func.func @kind(%x: tensor<2x8xf32>) -> tensor<2x6xf32> {
  // expected-error @+1 {{expected max, sum, avg or argmax, got min}}
  %y = ringconv.pool min %x dims [f, 0] -> [f, 0] window {size = [3]} : tensor<2x8xf32> -> tensor<2x6xf32>
  return %y : tensor<2x6xf32>
}

// -----

// pool_c6: nothing to read.
func.func @empty(%x: tensor<2x0xf32>) -> tensor<2x0xf32> {
  // expected-error @+1 {{'ringconv.pool' op pool_c6: dim 1 of the input has size 0}}
  %y = ringconv.pool max %x dims [f, 0] -> [f, 0] window {size = [3]} : tensor<2x0xf32> -> tensor<2x0xf32>
  return %y : tensor<2x0xf32>
}

// -----

// pool_c7: borders.
func.func @reflect(%x: tensor<2x8xf32>) -> tensor<2x14xf32> {
  // expected-error @+1 {{'ringconv.pool' op pool_c7: spatial dim 0: reflect padding must be below the cropped size 8, not 8}}
  %y = ringconv.pool max %x dims [f, 0] -> [f, 0] window {size = [3], pad = [[0, 8]], border = ["reflect"]}
     : tensor<2x8xf32> -> tensor<2x14xf32>
  return %y : tensor<2x14xf32>
}

// -----

// pool_c8: an integer has no -inf. Padding 3 of 3 taps: window 0 reads nothing.
func.func @nothing(%x: tensor<2x8xi8>) -> tensor<2x9xi8> {
  // expected-error @+1 {{'ringconv.pool' op pool_c8: spatial dim 0: window 0 reads no element, an integer max has no value there}}
  %y = ringconv.pool max %x dims [f, 0] -> [f, 0] window {size = [3], pad = [[3, 0]]}
     : tensor<2x8xi8> -> tensor<2x9xi8>
  return %y : tensor<2x9xi8>
}

// -----

// A hole of the base dilation: windows of one tap read every other position.
func.func @hole(%x: tensor<2x4xi32>) -> tensor<2x7xi32> {
  // expected-error @+1 {{'ringconv.pool' op pool_c8: spatial dim 0: window 1 reads no element, an integer max has no value there}}
  %y = ringconv.pool max %x dims [f, 0] -> [f, 0] window {size = [1], lhs_dilate = [2]}
     : tensor<2x4xi32> -> tensor<2x7xi32>
  return %y : tensor<2x7xi32>
}
