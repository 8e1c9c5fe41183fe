// RUN: image-opt %s -split-input-file -verify-diagnostics
func.func @even(%x: tensor<7x5xf32>) {
  // expected-error@+1 {{'image.range' op expected an odd size, got 2}}
  %r = image.range %x size 2 : tensor<7x5xf32>
  return
}
