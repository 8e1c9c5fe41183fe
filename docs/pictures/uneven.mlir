// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Given cuts, one part empty: it reads nothing, and its neighbours read past it.
ringconv.mesh @ring = <["w" = 4]>
func.func @main(%x: tensor<1x1x24xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{}, {}, {"w", cuts = [0, 10, 10, 15, 24]}]>},
                %w: tensor<1x1x5xf32>) -> tensor<1x1x24xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[2, 2]]}
     : (tensor<1x1x24xf32>, tensor<1x1x5xf32>) -> tensor<1x1x24xf32>
  return %y : tensor<1x1x24xf32>
}
