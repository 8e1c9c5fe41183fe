func.func @other(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @pooled(%x: tensor<1x2x8x8xf32>, %w: tensor<2x2x1x1xf32>) -> tensor<1x2x7x7xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
     : (tensor<1x2x8x8xf32>, tensor<2x2x1x1xf32>) -> tensor<1x2x8x8xf32>
  %z = ringconv.pool max %x dims [b, f, 0, 1] -> [b, f, 0, 1] window {size = [2, 2]}
     : tensor<1x2x8x8xf32> -> tensor<1x2x7x7xf32>
  return %z : tensor<1x2x7x7xf32>
}
