// Convolutions of each kind that cuDNN is asked for, and of some that it is not.
#w = #ringconv.sharding<@ring, [{}, {}, {}, {"w"}]>
#rows = #ringconv.sharding<@ring, [{}, {"w"}, {}, {}]>
#line = #ringconv.sharding<@ring, [{}, {}, {"w"}]>
#depth = #ringconv.sharding<@ring, [{}, {}, {"w"}, {}, {}]>
ringconv.mesh @ring = <["w" = 3]>

// Uneven cuts; padding at the outer ends only.
func.func @image(%x: tensor<2x3x6x20xf32> {ringconv.sharding = #w}, %k: tensor<4x3x3x3xf32>, %b: tensor<4xf32>)
    -> tensor<2x4x6x20xf32> {
  %0 = ringconv.conv %x, %k bias %b dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<2x3x6x20xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<2x4x6x20xf32>
  return %0 : tensor<2x4x6x20xf32>
}

// The interior in place, features last, two groups, a filter in another order.
func.func @overlapped(%x: tensor<1x30x4x6xf16> {ringconv.sharding = #rows}, %k: tensor<3x3x3x4xf16>)
    -> tensor<1x30x4x4xf16> {
  %0 = ringconv.conv %x, %k dims [b, 0, 1, f] x [i, 0, 1, o] -> [b, 0, 1, f] window {pad = [[1, 1], [1, 1]]}
       {feature_group_count = 2} : (tensor<1x30x4x6xf16>, tensor<3x3x3x4xf16>) -> tensor<1x30x4x4xf16>
  return %0 : tensor<1x30x4x4xf16>
}

func.func @line(%x: tensor<2x3x31xbf16> {ringconv.sharding = #line}, %k: tensor<2x3x4xbf16>) -> tensor<2x2x16xbf16> {
  %0 = ringconv.conv %x, %k dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
       window {stride = [2], pad = [[1, 2]], reverse = [true]}
     : (tensor<2x3x31xbf16>, tensor<2x3x4xbf16>) -> tensor<2x2x16xbf16>
  return %0 : tensor<2x2x16xbf16>
}

func.func @volume(%x: tensor<1x2x11x4x5xf64> {ringconv.sharding = #depth}, %k: tensor<2x2x2x3x2xf64>)
    -> tensor<1x2x9x2x4xf64> {
  %0 = ringconv.conv %x, %k dims [b, f, 0, 1, 2] x [o, i, 0, 1, 2] -> [b, f, 0, 1, 2] window {rhs_dilate = [2, 1, 1]}
     : (tensor<1x2x11x4x5xf64>, tensor<2x2x2x3x2xf64>) -> tensor<1x2x9x2x4xf64>
  return %0 : tensor<1x2x9x2x4xf64>
}

func.func @others(%x: tensor<1x2x9xf32> {ringconv.sharding = #line}, %n: tensor<1x2x9xi8>, %k: tensor<2x2x3xf32>,
                  %j: tensor<2x2x3xi8>) -> (tensor<1x2x17xf32>, tensor<1x2x7xi32>) {
  %0 = ringconv.conv %x, %k dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]], lhs_dilate = [2]}
     : (tensor<1x2x9xf32>, tensor<2x2x3xf32>) -> tensor<1x2x17xf32>
  %1 = ringconv.conv %n, %j dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x2x9xi8>, tensor<2x2x3xi8>) -> tensor<1x2x7xi32>
  return %0, %1 : tensor<1x2x17xf32>, tensor<1x2x7xi32>
}
