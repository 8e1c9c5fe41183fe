// One entry, @blur: a 3x3 average of each channel, rows cut over two ranks.
ringconv.mesh @pair = <["y" = 2]>
func.func @blur(
    %image: tensor<1x2x6x5xf32> {ringconv.name = "image", ringconv.sharding = #ringconv.sharding<@pair, [{}, {}, {"y"}, {}]>},
    %kernel: tensor<2x1x3x3xf32> {ringconv.name = "kernel", ringconv.parameter})
    -> (tensor<1x2x6x5xf32> {ringconv.sharding = #ringconv.sharding<@pair, [{}, {}, {"y"}, {}]>}) {
  %y = ringconv.conv %image, %kernel dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
         window {pad = [[1, 1], [1, 1]]} {feature_group_count = 2 : i64}
       : (tensor<1x2x6x5xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x6x5xf32>
  return %y : tensor<1x2x6x5xf32>
}
