// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: not ringconv-run %s --entry=indices 2>&1 | FileCheck %s --check-prefix=INDEX
// RUN: not ringconv-run %s --entry=halves 2>&1 | FileCheck %s --check-prefix=HALF

// Files and callers hold eight element types; what is no number crashed, and what is
// narrower than i64 was written over its end.

// INDEX: [[#@LINE+1]]:1: error: argument 0 of an entry must have f64, f32, f16, bf16, i64, i32, i8 or i1 elements, got 'tensor<8xindex>'
func.func @indices(%x: tensor<8xindex>) -> tensor<8xindex> {
  return %x : tensor<8xindex>
}

// HALF: [[#@LINE+1]]:1: error: result 0 of an entry must have {{.*}} elements, got 'tensor<8xi16>'
func.func @halves(%x: tensor<8xi32>) -> tensor<8xi16> {
  %y = arith.trunci %x : tensor<8xi32> to tensor<8xi16>
  return %y : tensor<8xi16>
}
