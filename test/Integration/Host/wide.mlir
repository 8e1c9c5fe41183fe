// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Many columns, in the vectorised form for 16 and for 32 registers.
// RUN: ringconv-run %s --check --target-cpu=x86-64-v3
// RUN: ringconv-run %s --check --target-cpu=x86-64-v3 --mesh=sp=1
// RUN: ringconv-run %s --check

ringconv.mesh @line = <["sp" = 2]>

func.func @main(%x: tensor<1x4x3x1501xf32> {ringconv.sharding = #ringconv.sharding<@line, [{}, {}, {}, {"sp"}]>},
                %w: tensor<17x4x3x5xf32>) -> tensor<1x17x3x1501xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [2, 2]]}
     : (tensor<1x4x3x1501xf32>, tensor<17x4x3x5xf32>) -> tensor<1x17x3x1501xf32>
  return %y : tensor<1x17x3x1501xf32>
}
