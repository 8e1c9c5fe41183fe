// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -ringconv-raise | FileCheck %s -enable-var-scope

// The pad of zeros is padding, the broadcast vector the bias.
// CHECK-LABEL: func.func @conv_pad_bias(
// CHECK-SAME:    %[[X:.+]]: tensor<1x6x9x2xf32>, %[[W:.+]]: tensor<3x3x2x4xf32>, %[[B:.+]]: tensor<4xf32>)
// CHECK-NEXT:    %[[Y:.+]] = ringconv.conv %[[X]], %[[W]] bias %[[B]] dims [b, 0, 1, f] x [0, 1, i, o] -> [b, 0, 1, f] window {stride = [2, 1], pad = {{\[\[}}1, 1], [1, 1]]}
// CHECK-NEXT:    return %[[Y]]
func.func @conv_pad_bias(%x: tensor<1x6x9x2xf32>, %w: tensor<3x3x2x4xf32>, %b: tensor<4xf32>) -> tensor<1x3x9x4xf32> {
  %zero = arith.constant 0.0 : f32
  %p = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<1x6x9x2xf32> to tensor<1x8x11x2xf32>
  %e = tensor.empty() : tensor<1x3x9x4xf32>
  %init = linalg.broadcast ins(%b : tensor<4xf32>) outs(%e : tensor<1x3x9x4xf32>) dimensions = [0, 1, 2]
  %y = linalg.conv_2d_nhwc_hwcf {strides = dense<[2, 1]> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
         ins(%p, %w : tensor<1x8x11x2xf32>, tensor<3x3x2x4xf32>) outs(%init : tensor<1x3x9x4xf32>) -> tensor<1x3x9x4xf32>
  return %y : tensor<1x3x9x4xf32>
}

// Any other init is added afterwards.
// CHECK-LABEL: func.func @conv_init(
// CHECK:         %[[Y:.+]] = ringconv.conv
// CHECK:         arith.addf %[[Y]], %arg2
func.func @conv_init(%x: tensor<2x3x8xf32>, %w: tensor<4x3x3xf32>, %i: tensor<2x4x6xf32>) -> tensor<2x4x6xf32> {
  %y = linalg.conv_1d_ncw_fcw ins(%x, %w : tensor<2x3x8xf32>, tensor<4x3x3xf32>) outs(%i : tensor<2x4x6xf32>) -> tensor<2x4x6xf32>
  return %y : tensor<2x4x6xf32>
}

// Group and channel become one dimension; the filter's group goes first.
// CHECK-LABEL: func.func @groups(
// CHECK-DAG:     tensor.collapse_shape %arg0 {{\[\[}}0], [1, 2], [3], [4]]
// CHECK-DAG:     linalg.transpose ins(%arg1 {{.*}} permutation = [1, 0, 2, 3, 4]
// CHECK:         ringconv.conv {{.*}} dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] {{.*}}feature_group_count = 2
// CHECK:         tensor.expand_shape
func.func @groups(%x: tensor<1x2x3x5x5xf32>, %w: tensor<4x2x3x2x2xf32>, %i: tensor<1x2x4x4x4xf32>) -> tensor<1x2x4x4x4xf32> {
  %y = linalg.conv_2d_ngchw_fgchw {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}
         ins(%x, %w : tensor<1x2x3x5x5xf32>, tensor<4x2x3x2x2xf32>) outs(%i : tensor<1x2x4x4x4xf32>) -> tensor<1x2x4x4x4xf32>
  return %y : tensor<1x2x4x4x4xf32>
}

// CHECK-LABEL: func.func @max_lowest(
// CHECK-NEXT:    %[[Y:.+]] = ringconv.pool max %arg0 dims [b, f, 0] -> [b, f, 0] window {size = [2], stride = [2]}
// CHECK-NEXT:    return %[[Y]]
func.func @max_lowest(%x: tensor<1x3x8xf32>) -> tensor<1x3x4xf32> {
  %low = arith.constant -3.4028234663852886e+38 : f32
  %e = tensor.empty() : tensor<1x3x4xf32>
  %init = linalg.fill ins(%low : f32) outs(%e : tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
  %k = tensor.empty() : tensor<2xf32>
  %y = linalg.pooling_ncw_max {strides = dense<2> : tensor<1xi64>, dilations = dense<1> : tensor<1xi64>}
         ins(%x, %k : tensor<1x3x8xf32>, tensor<2xf32>) outs(%init : tensor<1x3x4xf32>) -> tensor<1x3x4xf32>
  return %y : tensor<1x3x4xf32>
}

// Minima have no counterpart.
// CHECK-LABEL: func.func @min(
// CHECK:         linalg.pooling_nwc_min
func.func @min(%x: tensor<1x8x3xf32>, %i: tensor<1x7x3xf32>) -> tensor<1x7x3xf32> {
  %k = tensor.empty() : tensor<2xf32>
  %y = linalg.pooling_nwc_min ins(%x, %k : tensor<1x8x3xf32>, tensor<2xf32>) outs(%i : tensor<1x7x3xf32>) -> tensor<1x7x3xf32>
  return %y : tensor<1x7x3xf32>
}

// Element 1, 3, 5 of 9: one is cut off below, three above.
// CHECK-LABEL: func.func @slice(
// CHECK:         ringconv.pool max %arg0 dims [b, f, 0] -> [b, f, 0] window {size = [1], stride = [2], pad = {{\[\[}}-1, -3]]}
func.func @slice(%x: tensor<2x3x9xf32>) -> tensor<2x3x3xf32> {
  %y = tensor.extract_slice %x[0, 0, 1] [2, 3, 3] [1, 1, 2] : tensor<2x3x9xf32> to tensor<2x3x3xf32>
  return %y : tensor<2x3x3xf32>
}

// out_pad 1: the window reaches 3 - 1 + 1 before the first element.
// CHECK-LABEL: func.func @transpose_conv(
// CHECK:         ringconv.conv {{.*}} window {pad = {{\[\[}}3, 2], [2, 2]], lhs_dilate = [2, 1], reverse = [true, true]}
func.func @transpose_conv(%x: tensor<1x4x5x2xf32>, %w: tensor<3x3x3x2xf32>, %b: tensor<3xf32>) -> tensor<1x10x7x3xf32> {
  %z = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %y = tosa.transpose_conv2d %x, %w, %b, %z, %z {acc_type = f32, out_pad = array<i64: 1, 0, 0, 0>, stride = array<i64: 2, 1>}
     : (tensor<1x4x5x2xf32>, tensor<3x3x3x2xf32>, tensor<3xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x10x7x3xf32>
  return %y : tensor<1x10x7x3xf32>
}
