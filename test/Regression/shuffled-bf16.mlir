// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM 22 cannot select all shuffles of bf16 where the processor computes with it.
// RUN: ringconv-compile %s --emit=obj --target-cpu=znver4 -o %t.o
// RUN: ringconv-compile %s --emit=obj --target-cpu=x86-64-v3 -o %t.o
ringconv.mesh @m = <[]>
func.func @main(%a0: tensor<4x1x12xbf16>,
    %a1: tensor<1x4x4xbf16>)
    -> (tensor<1x1x13xbf16>) {
  %v0 = ringconv.conv %a0, %a1 dims [f, b, 0] x [o, 0, i] -> [f, b, 0] window {pad = [[4, 0]]} : (tensor<4x1x12xbf16>, tensor<1x4x4xbf16>) -> tensor<1x1x13xbf16>
  return %v0 : tensor<1x1x13xbf16>
}
