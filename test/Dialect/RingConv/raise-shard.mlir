// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -ringconv-raise | FileCheck %s

// The offsets of upstream are our cuts.
// CHECK:       ringconv.mesh @grid = <["axis0" = 2, "axis1" = 2]>
// CHECK-LABEL: func.func @annotated(
// CHECK-SAME:    tensor<4x9xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"axis1", cuts = [0, 4, 9]}]>}
// CHECK-SAME:    -> (tensor<4x9xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"axis0"}, {}]>})
// CHECK-NEXT:    %[[Y:.+]] = arith.negf %arg0
// CHECK-NEXT:    %[[R:.+]] = ringconv.reshard %[[Y]] <@grid, [{"axis0", "axis1"}, {}]>
// CHECK-NEXT:    %[[Z:.+]] = arith.negf %[[R]]
// CHECK-NEXT:    return %[[Z]]
shard.grid @grid(shape = 2x2)
func.func @annotated(%x: tensor<4x9xf32>) -> tensor<4x9xf32> {
  %s = shard.sharding @grid split_axes = [[], [1]] sharded_dims_offsets = [0, 4, 9] : !shard.sharding
  %s2 = shard.sharding @grid split_axes = [[0, 1]] : !shard.sharding
  %s3 = shard.sharding @grid split_axes = [[0]] : !shard.sharding
  %a = shard.shard %x to %s : tensor<4x9xf32>
  %b = shard.shard %a to %s annotate_for_users : tensor<4x9xf32>
  %y = arith.negf %b : tensor<4x9xf32>
  %c = shard.shard %y to %s2 annotate_for_users : tensor<4x9xf32>
  %z = arith.negf %c : tensor<4x9xf32>
  %d = shard.shard %z to %s3 : tensor<4x9xf32>
  return %d : tensor<4x9xf32>
}
