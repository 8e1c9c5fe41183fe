// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -ringconv-lower-halo | FileCheck %s

ringconv.mesh @grid = <["h" = 2, "w" = 2]>

// Slabs of the first dimension have the shard's range in the second; slabs of
// the second are extended in the first: 4 + 1 + 2 = 7 rows.
// CHECK-LABEL: func.func @two
// CHECK-SAME: %[[X:.*]]: tensor<4x6xf32>
// CHECK: %[[S0:.*]] = tensor.empty() : tensor<1x6xf32>
// CHECK: %[[S1:.*]] = tensor.empty() : tensor<2x6xf32>
// CHECK: %[[S2:.*]] = tensor.empty() : tensor<7x3xf32>
// CHECK: %[[S3:.*]] = tensor.empty() : tensor<7x0xf32>
// CHECK: %[[FLIGHT:.*]]:4, %[[TOKEN:.*]] = ringconv.start @grid
// CHECK-SAME: ins(%[[X]] : tensor<4x6xf32>) outs(%[[S0]], %[[S1]], %[[S2]], %[[S3]] :
// CHECK-SAME: {report = array<i64: 5>}
// CHECK: %[[THERE:.*]]:4 = ringconv.wait %[[TOKEN]] ins(%[[X]] : tensor<4x6xf32>) outs(%[[FLIGHT]]#0, %[[FLIGHT]]#1, %[[FLIGHT]]#2, %[[FLIGHT]]#3 :
// CHECK-NOT: halo_exchange
// CHECK: return %[[THERE]]#2, %[[THERE]]#0
func.func @two(%x: tensor<4x6xf32>) -> (tensor<7x3xf32>, tensor<1x6xf32>) {
  %s:4 = ringconv.halo_exchange %x @grid [#ringconv.halo_dim<0, ["h"], low = 1, high = 2, []>,
                                          #ringconv.halo_dim<1, ["w"], low = 3, high = 0, []>] {report = 5 : i64}
       : tensor<4x6xf32> -> tensor<1x6xf32>, tensor<2x6xf32>, tensor<7x3xf32>, tensor<7x0xf32>
  return %s#2, %s#0 : tensor<7x3xf32>, tensor<1x6xf32>
}

// A dynamic shard: its extent is asked for, and extended by the halo of 3.
// CHECK-LABEL: func.func @dynamic
// CHECK-SAME: %[[X:.*]]: tensor<?x6xf32>
// CHECK: %[[ROWS:.*]] = tensor.dim %[[X]], %{{.*}} : tensor<?x6xf32>
// CHECK: tensor.empty() : tensor<1x6xf32>
// CHECK: tensor.empty() : tensor<2x6xf32>
// CHECK: %[[THREE:.*]] = arith.constant 3 : index
// CHECK: %[[EXTENDED:.*]] = arith.addi %[[ROWS]], %[[THREE]] : index
// CHECK: tensor.empty(%[[EXTENDED]]) : tensor<?x1xf32>
func.func @dynamic(%x: tensor<?x6xf32>) -> tensor<?x1xf32> {
  %s:4 = ringconv.halo_exchange %x @grid [#ringconv.halo_dim<0, ["h"], low = 1, high = 2, []>,
                                          #ringconv.halo_dim<1, ["w"], low = 1, high = 0, []>]
       : tensor<?x6xf32> -> tensor<1x6xf32>, tensor<2x6xf32>, tensor<?x1xf32>, tensor<?x0xf32>
  return %s#2 : tensor<?x1xf32>
}
