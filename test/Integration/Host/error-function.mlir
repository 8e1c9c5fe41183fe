// Values, and NaN, beside the C library's.
// RUN: ringconv-run %s --check | FileCheck %s
// CHECK: check: output 0
func.func @main(%x: tensor<5x37xf32>) -> tensor<5x37xf32> {
  %six = arith.constant dense<6.0> : tensor<5x37xf32>
  %wide = arith.mulf %x, %six : tensor<5x37xf32>
  %root = math.sqrt %x : tensor<5x37xf32>
  %some = arith.addf %wide, %root : tensor<5x37xf32>
  %y = math.erf %some : tensor<5x37xf32>
  return %y : tensor<5x37xf32>
}
