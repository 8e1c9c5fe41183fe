// Every operation and attribute that a user writes.
ringconv.mesh @grid = <["dp" = 2, "sp" = 3], device_ids = [5, 4, 3, 2, 1, 0]>
func.func @main(
    %x: tensor<4x6x9x13xf32> {ringconv.name = "x", ringconv.sharding = #ringconv.sharding<@grid, [{"dp"}, {}, {}, {"sp", cuts = [0, 3, 7, 13]}]>},
    %w: tensor<8x3x3x3xf32> {ringconv.parameter, ringconv.wants_grad}, %b: tensor<8xf32> {ringconv.parameter})
    -> (tensor<4x8x5x7xf32>, tensor<4x8x3x7xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"dp"}, {}, {}, {}]>}) {
  %y = ringconv.conv %x, %w bias %b dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
         window {stride = [2, 2], pad = [[1, 1], [1, 1]], border = ["reflect", "circular"]} {feature_group_count = 2 : i64}
       : (tensor<4x6x9x13xf32>, tensor<8x3x3x3xf32>, tensor<8xf32>) -> tensor<4x8x5x7xf32>
  %r = ringconv.reshard %y <@grid, [{"dp"}, {"sp"}, {}, {}]> : tensor<4x8x5x7xf32>
  %p = ringconv.pool avg count_padding %r dims [b, f, 0, 1] -> [b, f, 0, 1]
         window {size = [3, 1], stride = [2, 1], pad = [[1, 1], [0, 0]], rhs_dilate = [1, 1]}
       : tensor<4x8x5x7xf32> -> tensor<4x8x3x7xf32>
  return %y, %p : tensor<4x8x5x7xf32>, tensor<4x8x3x7xf32>
}
