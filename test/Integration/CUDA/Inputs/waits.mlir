// Two convolutions in a row, of which the second is overlapped, and one whose
// input channels are cut: halos and sums between streams.
ringconv.mesh @ring = <["w" = 4]>
func.func @main(%x: tensor<1x2x4x160xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{}, {}, {}, {"w"}]>},
                %w: tensor<2x2x3x3xf32>,
                %z: tensor<1x8x6x6xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{}, {"w"}, {}, {}]>},
                %v: tensor<4x8x1x1xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{}, {"w"}, {}, {}]>})
    -> (tensor<1x2x4x160xf32>, tensor<1x4x6x6xf32>) {
  %0 = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<1x2x4x160xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x4x160xf32>
  %1 = ringconv.conv %0, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<1x2x4x160xf32>, tensor<2x2x3x3xf32>) -> tensor<1x2x4x160xf32>
  %2 = ringconv.conv %z, %v dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
     : (tensor<1x8x6x6xf32>, tensor<4x8x1x1xf32>) -> tensor<1x4x6x6xf32>
  return %1, %2 : tensor<1x2x4x160xf32>, tensor<1x4x6x6xf32>
}
