// One convolution, its input cut in columns over four ranks.
//   ringconv-run first.mlir --check --report
ringconv.mesh @ring = <["w" = 4]>

func.func @main(
    %x: tensor<1x8x56x56xf32> {ringconv.name = "x", ringconv.sharding = #ringconv.sharding<@ring, [{}, {}, {}, {"w"}]>},
    %w: tensor<16x8x3x3xf32> {ringconv.name = "w", ringconv.parameter}) -> tensor<1x16x56x56xf32> {
  %y = ringconv.conv %x, %w
         dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
         window {pad = [[1, 1], [1, 1]]}
       : (tensor<1x8x56x56xf32>, tensor<16x8x3x3xf32>) -> tensor<1x16x56x56xf32>
  return %y : tensor<1x16x56x56xf32>
}
