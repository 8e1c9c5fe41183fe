// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s --ringconv-differentiate --ringconv-partition-pipeline=overlap=false | FileCheck %s
// RUN: ringconv-opt %s --ringconv-differentiate --ringconv-partition-pipeline=start-reductions=false | FileCheck %s --check-prefix=APART

ringconv.mesh @g = <["w" = 4]>
#cut = #ringconv.sharding<@g, [{}, {}, {"w"}]>

// Two layers with a bias: one sum each, started when its operands are there; the
// first travels behind all of the layer below it. The waits stand at the end, and
// what turns a filter's taps round is behind them.
// CHECK-LABEL: func.func @main_grad
// CHECK-NOT: ringconv.all_reduce
// CHECK: ringconv.local_conv {{.*}} -> tensor<1x2x4xf32>
// CHECK: ringconv.local_conv {{.*}} -> tensor<2x2x3xf32>
// CHECK: } -> tensor<2xf32>
// CHECK: ringconv.start_reduce {{.*}} : tensor<2x2x3xf32>, tensor<2xf32>) over @g ["w"]
// CHECK: ringconv.local_conv {{.*}} -> tensor<2x2x3xf32>
// CHECK: } -> tensor<2xf32>
// CHECK: ringconv.start_reduce {{.*}} : tensor<2x2x3xf32>, tensor<2xf32>) over @g ["w"]
// CHECK-COUNT-2: ringconv.wait
// CHECK-NOT: ringconv.local_conv
// CHECK: return
// APART-LABEL: func.func @main_grad
// APART-COUNT-4: ringconv.all_reduce
func.func @main(%x: tensor<1x2x16xf32> {ringconv.sharding = #cut},
                %v: tensor<2x2x3xf32> {ringconv.wants_grad}, %a: tensor<2xf32> {ringconv.wants_grad},
                %w: tensor<2x2x3xf32> {ringconv.wants_grad}, %b: tensor<2xf32> {ringconv.wants_grad})
    -> (tensor<1x2x16xf32> {ringconv.sharding = #cut}) {
  %0 = ringconv.conv %x, %v bias %a dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
       : (tensor<1x2x16xf32>, tensor<2x2x3xf32>, tensor<2xf32>) -> tensor<1x2x16xf32>
  %1 = ringconv.conv %0, %w bias %b dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
       : (tensor<1x2x16xf32>, tensor<2x2x3xf32>, tensor<2xf32>) -> tensor<1x2x16xf32>
  return %1 : tensor<1x2x16xf32>
}
