// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two cut dimensions: eight neighbours, the corners directly.
ringconv.mesh @grid = <["h" = 3, "w" = 4]>
func.func @main(%x: tensor<1x1x24x32xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"h"}, {"w"}]>},
                %w: tensor<1x1x5x5xf32>) -> tensor<1x1x24x32xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[2, 2], [2, 2]]}
     : (tensor<1x1x24x32xf32>, tensor<1x1x5x5xf32>) -> tensor<1x1x24x32xf32>
  return %y : tensor<1x1x24x32xf32>
}
