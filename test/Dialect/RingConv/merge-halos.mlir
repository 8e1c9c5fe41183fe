// RUN: ringconv-opt %s --ringconv-partition --ringconv-lower-halo --ringconv-merge-halos | FileCheck %s
// RUN: ringconv-opt %s --ringconv-partition --ringconv-lower-halo | FileCheck %s --check-prefix=APART

ringconv.mesh @ring = <["w" = 4]>
#cut = #ringconv.sharding<@ring, [{}, {}, {"w"}]>

// Two windows with the same reach over one value: its halo is fetched once.
// CHECK-LABEL: func.func @same_value
// CHECK: ringconv.start
// CHECK-NOT: ringconv.start
// CHECK: ringconv.local_conv {{.*}} halos(%[[LOW:.*]]#0, %[[LOW]]#1
// CHECK: ringconv.local_conv {{.*}} halos(%[[LOW]]#0, %[[LOW]]#1
// APART-LABEL: func.func @same_value
// APART-COUNT-2: ringconv.start
func.func @same_value(%x: tensor<1x2x16xf32> {ringconv.sharding = #cut}, %a: tensor<2x2x3xf32>, %b: tensor<2x2x3xf32>)
    -> (tensor<1x2x16xf32> {ringconv.sharding = #cut}, tensor<1x2x16xf32> {ringconv.sharding = #cut}) {
  %0 = ringconv.conv %x, %a dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
       : (tensor<1x2x16xf32>, tensor<2x2x3xf32>) -> tensor<1x2x16xf32>
  %1 = ringconv.conv %x, %b dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
       : (tensor<1x2x16xf32>, tensor<2x2x3xf32>) -> tensor<1x2x16xf32>
  return %0, %1 : tensor<1x2x16xf32>, tensor<1x2x16xf32>
}

// Two values that are there at one point: one start, so that each neighbour gets
// one message.
// CHECK-LABEL: func.func @two_values
// CHECK: ringconv.start {{.*}} ins(%arg0, %arg1 :
// CHECK-NOT: ringconv.start
// CHECK: ringconv.wait {{.*}} ins(%arg0, %arg1 :
func.func @two_values(%x: tensor<1x2x16xf32> {ringconv.sharding = #cut}, %y: tensor<1x2x16xf32> {ringconv.sharding = #cut},
                      %a: tensor<2x2x3xf32>) -> (tensor<1x2x16xf32> {ringconv.sharding = #cut}) {
  %0 = ringconv.conv %x, %a dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
       : (tensor<1x2x16xf32>, tensor<2x2x3xf32>) -> tensor<1x2x16xf32>
  %1 = ringconv.conv %y, %a dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
       : (tensor<1x2x16xf32>, tensor<2x2x3xf32>) -> tensor<1x2x16xf32>
  %2 = arith.addf %0, %1 : tensor<1x2x16xf32>
  return %2 : tensor<1x2x16xf32>
}

// The second layer needs the first: its exchange stays where it is.
// CHECK-LABEL: func.func @in_a_row
// CHECK: ringconv.start
// CHECK: ringconv.local_conv
// CHECK: ringconv.start
func.func @in_a_row(%x: tensor<1x2x16xf32> {ringconv.sharding = #cut}, %a: tensor<2x2x3xf32>)
    -> (tensor<1x2x16xf32> {ringconv.sharding = #cut}) {
  %0 = ringconv.conv %x, %a dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
       : (tensor<1x2x16xf32>, tensor<2x2x3xf32>) -> tensor<1x2x16xf32>
  %1 = ringconv.conv %0, %a dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
       : (tensor<1x2x16xf32>, tensor<2x2x3xf32>) -> tensor<1x2x16xf32>
  return %1 : tensor<1x2x16xf32>
}
