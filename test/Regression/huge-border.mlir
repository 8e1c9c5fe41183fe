// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a border adds is listed element by element: too much of it is an error, not
// an exhausted memory.
// RUN: ringconv-opt %s --ringconv-partition -verify-diagnostics
ringconv.mesh @m = <["a" = 3, "b" = 5, "c" = 4]>
func.func @main(%x: tensor<4x6xf32> {ringconv.sharding = #ringconv.sharding<@m, [{"b"}, {}]>}) -> tensor<4x2xf32> {
  // expected-error @+1 {{a border other than zero adds at most 1048576 elements to a side, not 576460752303423488}}
  %y = ringconv.pool sum %x dims [f, 0] -> [f, 0]
         window {size = [576460752303423488], stride = [576460752303423488],
                 pad = [[576460752303423488, 576460752303423488]], border = ["replicate"]}
     : tensor<4x6xf32> -> tensor<4x2xf32>
  return %y : tensor<4x2xf32>
}
