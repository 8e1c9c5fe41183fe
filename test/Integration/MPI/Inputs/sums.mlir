// Sums over ranks of one process, of different processes, and of both: input
// channels cut by "c". Columns cut by "w" besides.
ringconv.mesh @grid = <["c" = 2, "w" = 2]>
func.func @main(%x: tensor<2x6x5x9xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"c"}, {}, {"w"}]>},
                %w: tensor<4x6x3x3xf32> {ringconv.parameter}) -> (tensor<2x4x5x9xf32>, tensor<2x4x5x9xf32>
                {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {}, {"c", "w"}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<2x6x5x9xf32>, tensor<4x6x3x3xf32>) -> tensor<2x4x5x9xf32>
  return %y, %y : tensor<2x4x5x9xf32>, tensor<2x4x5x9xf32>
}
