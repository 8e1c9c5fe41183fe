// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernel 7, stride 2, padding 3: three elements from the left, two from the right.
ringconv.mesh @ring = <["w" = 4]>
func.func @main(%x: tensor<1x1x56xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{}, {}, {"w"}]>},
                %w: tensor<1x1x7xf32>) -> tensor<1x1x28xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {stride = [2], pad = [[3, 3]]}
     : (tensor<1x1x56xf32>, tensor<1x1x7xf32>) -> tensor<1x1x28xf32>
  return %y : tensor<1x1x28xf32>
}
