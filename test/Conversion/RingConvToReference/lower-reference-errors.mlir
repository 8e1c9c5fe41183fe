// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -split-input-file -ringconv-lower-reference -verify-diagnostics

func.func @dynamic(%x: tensor<1x1x?xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x?xf32> {
  // expected-error @below {{'ringconv.conv' op needs static shapes for the reference, got 'tensor<1x1x?xf32>'}}
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x1x?xf32>, tensor<1x1x3xf32>) -> tensor<1x1x?xf32>
  return %y : tensor<1x1x?xf32>
}

// -----

ringconv.mesh @grid = <["x" = 2]>
func.func @local() -> index {
  // expected-error @below {{'ringconv.coord' op is not part of a program over whole tensors, which has only ringconv.conv, ringconv.pool, their gradients and ringconv.reshard}}
  %c = ringconv.coord @grid ["x"]
  return %c : index
}
