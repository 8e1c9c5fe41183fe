// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One exchange serves both gradients, and the interior of dx is computed while
// it travels: 160 columns on 4 ranks, edges 8 wide of 40.
// RUN: ringconv-opt %s --ringconv-differentiate --ringconv-partition-pipeline 2>%t.remarks | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK < %t.remarks

ringconv.mesh @ring = <["w" = 4]>
#cut = #ringconv.sharding<@ring, [{}, {}, {"w"}]>

// CHECK-LABEL: func.func @main_grad
// CHECK: ringconv.start {{.*}} low = 1, high = 1
// CHECK-NOT: #ringconv.halo_dim
// CHECK: ringconv.local_conv
// CHECK-SAME: outs({{.*}}tensor<1x2x24xf32>)
// CHECK-NOT: #ringconv.halo_dim
// CHECK: ringconv.wait
// CHECK: ringconv.local_conv {{.*}} halos({{.*}} outs({{.*}}tensor<1x2x8xf32>)
// CHECK: ringconv.local_conv {{.*}} halos({{.*}} outs({{.*}}tensor<1x2x8xf32>)
// CHECK: ringconv.local_conv {{.*}} halos({{.*}} outs({{.*}}tensor<8x2x3xf32>)
// CHECK: ringconv.start_reduce
// REMARK: filter gradient: shares the exchange of the result's gradient
// REMARK: interior computed while halos travel
func.func @main(%x: tensor<1x2x160xf32> {ringconv.sharding = #cut}, %w: tensor<8x2x3xf32>, %b: tensor<8xf32>)
    -> (tensor<1x8x160xf32> {ringconv.sharding = #cut}) {
  %y = ringconv.conv %x, %w bias %b dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
     : (tensor<1x2x160xf32>, tensor<8x2x3xf32>, tensor<8xf32>) -> tensor<1x8x160xf32>
  return %y : tensor<1x8x160xf32>
}
