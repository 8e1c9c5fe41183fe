// Padding so wide that a rank's windows lie in it altogether: where its slabs
// stand then says nothing about its shard, and the interior may not be found
// from there.
// RUN: ringconv-run %s --check --always-overlap | FileCheck %s
// CHECK: check: output 0: {{max error|bit-identical}}
ringconv.mesh @m = <["sp" = 2]>
func.func @main(%x: tensor<6x31x1xf32> {ringconv.sharding = #ringconv.sharding<@m, [{}, {"sp"}, {}]>},
                %w: tensor<1x6x3xf32>) -> tensor<1x4x1xf32> {
  %a = ringconv.pool avg count_padding %x dims [f, 0, b] -> [f, 0, b] window {size = [4], stride = [5]}
       : tensor<6x31x1xf32> -> tensor<6x6x1xf32>
  %y = ringconv.conv %a, %w dims [f, 0, b] x [o, i, 0] -> [f, 0, b] window {stride = [5], pad = [[8, 8]]}
       : (tensor<6x6x1xf32>, tensor<1x6x3xf32>) -> tensor<1x4x1xf32>
  return %y : tensor<1x4x1xf32>
}
