// One program for each way in which counting could go wrong.
ringconv.mesh @grid = <["h" = 2, "w" = 3], device_ids = [4, 2, 0, 5, 1, 3]>

// Corners, holes of a stride, a reflected and a repeating border.
func.func @corners(%x: tensor<1x2x7x11xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"h"}, {"w"}]>},
                   %w: tensor<3x2x3x2xf32>) -> tensor<1x3x4x15xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
       window {stride = [2, 1], pad = [[1, 1], [3, 2]], border = ["reflect", "circular"]}
     : (tensor<1x2x7x11xf32>, tensor<3x2x3x2xf32>) -> tensor<1x3x4x15xf32>
  return %y : tensor<1x3x4x15xf32>
}

// Several hops, and ranks that own nothing; the filter moves first.
func.func @hops(%x: tensor<2x2x9xf64> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"w", cuts = [0, 8, 8, 9]}]>},
                %w: tensor<4x2x5xf64> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"h"}, {}]>})
    -> (tensor<2x4x9xf64> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"h"}, {"w"}]>}) {
  %v = ringconv.reshard %w <@grid, [{"h"}, {}, {}]> : tensor<4x2x5xf64>
  %y = ringconv.conv %x, %v dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[2, 2]]}
     : (tensor<2x2x9xf64>, tensor<4x2x5xf64>) -> tensor<2x4x9xf64>
  return %y : tensor<2x4x9xf64>
}

// Upsampled, groups, one dimension over both axes.
func.func @upsampled(%x: tensor<1x8x4xf16> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"w", "h"}, {}]>},
                     %w: tensor<3x2x4xf16>) -> tensor<1x17x4xf16> {
  %y = ringconv.conv %x, %w dims [b, 0, f] x [0, i, o] -> [b, 0, f] window {pad = [[2, 2]], lhs_dilate = [2]}
       {feature_group_count = 2 : i64} : (tensor<1x8x4xf16>, tensor<3x2x4xf16>) -> tensor<1x17x4xf16>
  return %y : tensor<1x17x4xf16>
}

// No window of a rank reads beyond its shard: no message at all.
func.func @apart(%x: tensor<6x12xi8> {ringconv.sharding = #ringconv.sharding<@grid, [{"h"}, {"w"}]>}) -> tensor<3x3xi8> {
  %y = ringconv.pool max %x dims [0, 1] -> [0, 1] window {size = [1, 3], stride = [2, 4]}
     : tensor<6x12xi8> -> tensor<3x3xi8>
  return %y : tensor<3x3xi8>
}
