// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What lies outside travels to the ranks that it was read from, and nothing else
// does: 16 elements and padding 1 below and 2 above on 4 ranks. The extended
// dimension is cut 5, 4, 4, 6.
// RUN: ringconv-opt %s --ringconv-partition -o - 2>/dev/null | FileCheck %s
// RUN: ringconv-opt %s --ringconv-partition -o %t 2>&1 | FileCheck %s --check-prefix=REMARK

ringconv.mesh @g = <["w" = 4]>
#extended = #ringconv.sharding<@g, [{"w", cuts = [0, 5, 9, 13, 19]}]>
#cut = #ringconv.sharding<@g, [{"w"}]>

// Position -1 is element 15 of rank 3, positions 16 and 17 are elements 0 and 1
// of rank 0.
// CHECK-LABEL: func.func @circular
// CHECK: ringconv.halo_exchange %arg0 @g [#ringconv.halo_dim<0, ["w"], low = 1, high = 2, [
// CHECK-SAME: <low copy from <0: -1, 3: 0>
// CHECK-SAME: <high copy from
// REMARK: remark: dim 0: 1 low and 2 high elements from outside go to the elements they were read from
func.func @circular(%g: tensor<19xf32> {ringconv.sharding = #extended}) -> (tensor<16xf32> {ringconv.sharding = #cut}) {
  %0 = ringconv.fold_border %g dim 0 pad [1, 2] circular : tensor<19xf32> -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// A mirrored end stays with its rank, and comes in reverse.
// CHECK-LABEL: func.func @reflect
// CHECK: ringconv.halo_exchange
// CHECK-SAME: <low reverse from
// CHECK-SAME: <high reverse from <0: -1, 3: 3>
func.func @reflect(%g: tensor<19xf32> {ringconv.sharding = #extended}) -> (tensor<16xf32> {ringconv.sharding = #cut}) {
  %0 = ringconv.fold_border %g dim 0 pad [1, 2] reflect : tensor<19xf32> -> tensor<16xf32>
  return %0 : tensor<16xf32>
}

// All positions above are added to the last element: a reduction.
// CHECK-LABEL: func.func @replicate
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
func.func @replicate(%g: tensor<19xf32> {ringconv.sharding = #extended}) -> (tensor<16xf32> {ringconv.sharding = #cut}) {
  %0 = ringconv.fold_border %g dim 0 pad [1, 2] replicate : tensor<19xf32> -> tensor<16xf32>
  return %0 : tensor<16xf32>
}
