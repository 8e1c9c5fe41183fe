// Three exchanges that look different: batch and two spatial cuts with corners,
// one of them around a circle; a window wider than a shard; uneven cuts with a
// stride.
ringconv.mesh @grid = <["b" = 2, "h" = 2, "w" = 3]>
func.func @main(%x: tensor<2x3x9x12xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"b"}, {}, {"h"}, {"w"}]>},
                %w: tensor<4x3x3x5xf32>, %v: tensor<2x4x1x11xf32>, %u: tensor<2x2x2x3xf32>) -> tensor<2x2x4x6xf32> {
  %0 = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
         window {pad = [[1, 1], [2, 2]], border = ["zero", "circular"]}
       : (tensor<2x3x9x12xf32>, tensor<4x3x3x5xf32>) -> tensor<2x4x9x12xf32>
  %1 = ringconv.conv %0, %v dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[0, 0], [5, 5]]}
       : (tensor<2x4x9x12xf32>, tensor<2x4x1x11xf32>) -> tensor<2x2x9x12xf32>
  %2 = ringconv.reshard %1 <@grid, [{}, {}, {"b"}, {"h", "w", cuts = [0, 0, 2, 5, 5, 9, 12]}]> : tensor<2x2x9x12xf32>
  %3 = ringconv.conv %2, %u dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
         window {stride = [2, 2], pad = [[0, 0], [1, 1]]}
       : (tensor<2x2x9x12xf32>, tensor<2x2x2x3xf32>) -> tensor<2x2x4x6xf32>
  return %3 : tensor<2x2x4x6xf32>
}
