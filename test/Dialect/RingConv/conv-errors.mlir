// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -split-input-file -verify-diagnostics

// conv_c1: dimension numbers.
func.func @rank(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c1: input has 3 dimensions, its dims name 4}}
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0] -> [b, f, 0] window {stride = [1]}
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}

// -----

func.func @twice(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c1: filter: dimension number 0 is named twice}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, 0, 0] -> [b, f, 0]
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}

// -----

func.func @too_high(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c1: result: spatial number 1 is not below 1}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 1]
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}

// -----

func.func @letters(%x: tensor<1x2xf32>, %w: tensor<3x2xf32>) -> tensor<1x3xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c1: input: dimension number -1 is named twice}}
  %y = ringconv.conv %x, %w dims [b, b] x [o, i] -> [b, f] : (tensor<1x2xf32>, tensor<3x2xf32>) -> tensor<1x3xf32>
  return %y : tensor<1x3xf32>
}

// -----

func.func @unknown_letter(%x: tensor<1x2xf32>, %w: tensor<3x2xf32>) -> tensor<1x3xf32> {
  // expected-error @+1 {{expected o, i or a spatial number, got f}}
  %y = ringconv.conv %x, %w dims [b, f] x [o, f] -> [b, f] : (tensor<1x2xf32>, tensor<3x2xf32>) -> tensor<1x3xf32>
  return %y : tensor<1x3xf32>
}

// -----

// conv_c2: window words.
func.func @entries(%x: tensor<1x2x8x8xf32>, %w: tensor<3x2x3x3xf32>) -> tensor<1x3x6x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c2: stride must have 2 entries, got 1}}
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {stride = [1]}
     : (tensor<1x2x8x8xf32>, tensor<3x2x3x3xf32>) -> tensor<1x3x6x6xf32>
  return %y : tensor<1x3x6x6xf32>
}

// -----

func.func @pads(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c2: pad must have 1 entries, got 2}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[0, 0], [0, 0]]}
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}

// -----

func.func @borders(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c2: border must have 1 entries, got 0}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {border = []}
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}

// -----

func.func @reversed(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c2: reverse must have 1 entries, got 2}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {reverse = [true, false]}
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}

// -----

func.func @stride(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c2: spatial dim 0: stride must be at least 1, got 0}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {stride = [0]}
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}

// -----

func.func @lhs_dilate(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c2: spatial dim 0: lhs_dilate must be at least 1, got -1}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {lhs_dilate = [-1]}
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}

// -----

func.func @rhs_dilate(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c2: spatial dim 0: rhs_dilate must be at least 1, got 0}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {rhs_dilate = [0]}
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}

// -----

func.func @pair(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{expected [low, high], got 1 values}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[0]]}
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}

// -----

func.func @word(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{unknown window word 'size', expected stride, pad, lhs_dilate, rhs_dilate, reverse or border}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {size = [3]}
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}

// -----

func.func @word_twice(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{window word 'stride' stands twice}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {stride = [1], stride = [1]}
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}

// -----

func.func @border_word(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{expected "zero", "circular", "reflect" or "replicate", got "mirror"}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {border = ["mirror"]}
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}

// -----

// conv_c3: element types.
func.func @integers(%x: tensor<1x2x8xi32>, %w: tensor<3x2x3xi32>) -> tensor<1x3x6xi32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c3: element type must be f64, f32, f16, bf16 or i8, got 'i32'}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x2x8xi32>, tensor<3x2x3xi32>) -> tensor<1x3x6xi32>
  return %y : tensor<1x3x6xi32>
}

// -----

func.func @unlike(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf16>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c3: input and filter must share an element type, got 'f32' and 'f16'}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x2x8xf32>, tensor<3x2x3xf16>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}

// -----

func.func @wide(%x: tensor<1x2x8xf16>, %w: tensor<3x2x3xf16>) -> tensor<1x3x6xf64> {
  // expected-error @+1 {{'ringconv.conv' op conv_c3: the result must be 'f16' or 'f32', got 'f64'}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x2x8xf16>, tensor<3x2x3xf16>) -> tensor<1x3x6xf64>
  return %y : tensor<1x3x6xf64>
}

// -----

// conv_c4: group counts.
func.func @no_group(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c4: group counts must be at least 1 and not both above 1, got feature 0 and batch 1}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] {feature_group_count = 0 : i64}
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}

// -----

func.func @both(%x: tensor<2x4x8xf32>, %w: tensor<4x2x3xf32>) -> tensor<1x4x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c4: group counts must be at least 1 and not both above 1, got feature 2 and batch 2}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
         {feature_group_count = 2 : i64, batch_group_count = 2 : i64}
     : (tensor<2x4x8xf32>, tensor<4x2x3xf32>) -> tensor<1x4x6xf32>
  return %y : tensor<1x4x6xf32>
}

// -----

// conv_c5: features.
func.func @features(%x: tensor<1x6x8xf32>, %w: tensor<4x2x3xf32>) -> tensor<1x4x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c5: the input has 6 features, the filter takes 2 x 2 groups}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] {feature_group_count = 2 : i64}
     : (tensor<1x6x8xf32>, tensor<4x2x3xf32>) -> tensor<1x4x6xf32>
  return %y : tensor<1x4x6xf32>
}

// -----

// conv_c6: outputs and groups.
func.func @outputs(%x: tensor<1x4x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c6: 3 filter outputs are not divisible by the group count 2}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] {feature_group_count = 2 : i64}
     : (tensor<1x4x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}

// -----

func.func @outputs_batch(%x: tensor<2x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c6: 3 filter outputs are not divisible by the group count 2}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] {batch_group_count = 2 : i64}
     : (tensor<2x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}

// -----

// conv_c7: batch and groups.
func.func @batch(%x: tensor<3x2x8xf32>, %w: tensor<4x2x3xf32>) -> tensor<1x4x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c7: batch 3 is not divisible by batch_group_count 2}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] {batch_group_count = 2 : i64}
     : (tensor<3x2x8xf32>, tensor<4x2x3xf32>) -> tensor<1x4x6xf32>
  return %y : tensor<1x4x6xf32>
}

// -----

// conv_c8: the result's shape. (9 - 5) / 2 + 1 = 3 windows of reach 5.
func.func @shape(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x4xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c8: the result must be 1x3x3, got 1x3x4}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
         window {stride = [2], pad = [[1, 0]], rhs_dilate = [2]}
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x4xf32>
  return %y : tensor<1x3x4xf32>
}

// -----

// No window fits.
func.func @nothing(%x: tensor<1x2x2xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x1xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c8: the result must be 1x3x0, got 1x3x1}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x2x2xf32>, tensor<3x2x3xf32>) -> tensor<1x3x1xf32>
  return %y : tensor<1x3x1xf32>
}

// -----

// conv_c9: bias.
func.func @bias_size(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>, %b: tensor<2xf32>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c9: bias must have one dimension of 3, got 'tensor<2xf32>'}}
  %y = ringconv.conv %x, %w bias %b dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>, tensor<2xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}

// -----

func.func @bias_rank(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>, %b: tensor<3x1xf32>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c9: bias must have one dimension of 3, got 'tensor<3x1xf32>'}}
  %y = ringconv.conv %x, %w bias %b dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>, tensor<3x1xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}

// -----

func.func @bias_type(%x: tensor<1x2x8xi8>, %w: tensor<3x2x3xi8>, %b: tensor<3xi8>) -> tensor<1x3x6xi32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c9: bias must have the result's element type 'i32', got 'i8'}}
  %y = ringconv.conv %x, %w bias %b dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x2x8xi8>, tensor<3x2x3xi8>, tensor<3xi8>) -> tensor<1x3x6xi32>
  return %y : tensor<1x3x6xi32>
}

// -----

// conv_c10: nothing to read.
func.func @empty(%x: tensor<1x2x0xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x0xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c10: dim 2 of the input has size 0}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x2x0xf32>, tensor<3x2x3xf32>) -> tensor<1x3x0xf32>
  return %y : tensor<1x3x0xf32>
}

// -----

// conv_c11: borders.
func.func @border_dilated(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x15xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c11: spatial dim 0: a border other than zero needs a base dilation of 1, not 2}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
         window {pad = [[1, 1]], lhs_dilate = [2], border = ["circular"]}
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x15xf32>
  return %y : tensor<1x3x15xf32>
}

// -----

func.func @reflect(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x14xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c11: spatial dim 0: reflect padding must be below the cropped size 8, not 8}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
         window {pad = [[8, 0]], border = ["reflect"]}
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x14xf32>
  return %y : tensor<1x3x14xf32>
}

// -----

func.func @reflect_cropped(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x8xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c11: spatial dim 0: reflect padding must be below the cropped size 5, not 5}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
         window {pad = [[-3, 5]], border = ["reflect"]}
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x8xf32>
  return %y : tensor<1x3x8xf32>
}

// -----

func.func @cropped_away(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c11: spatial dim 0: a border other than zero needs elements, but cropping leaves 0 of 8}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
         window {pad = [[-8, 8]], border = ["replicate"]}
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}

// -----

// Numbers that no formula can hold.
func.func @huge(%x: tensor<1x2x8xf32>, %w: tensor<3x2x3xf32>) -> tensor<1x3x6xf32> {
  // expected-error @+1 {{'ringconv.conv' op conv_c11: spatial dim 0: padding must stay below 2^60, not 9223372036854775807}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[9223372036854775807, 0]]}
     : (tensor<1x2x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}
