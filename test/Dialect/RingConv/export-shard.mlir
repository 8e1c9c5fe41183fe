// Annotations to upstream's and back: the same but for the names of axes.
// RUN: ringconv-opt %s -split-input-file -verify-diagnostics --ringconv-export-shard | FileCheck %s
// RUN: ringconv-opt %s -split-input-file -verify-diagnostics --ringconv-export-shard \
// RUN:   | ringconv-opt -split-input-file --ringconv-raise | FileCheck %s --check-prefix=BACK

// 9 columns over 4 ranks: 3 + 2 + 2 + 2. Even cuts need no offsets.
// CHECK: shard.grid @grid(shape = 2x4)
// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[X:.*]]: tensor<8x3x8x9xf32> {ringconv.name = "x"}, %[[W:.*]]: tensor<6x3x3x3xf32>)
// CHECK-SAME: -> tensor<8x6x8x9xf32>
// CHECK: %[[S:.*]] = shard.sharding @grid split_axes = {{\[\[}}0], [], [], [1]]
// CHECK-SAME: sharded_dims_offsets = [0, 4, 8, 0, 3, 5, 7, 9]
// CHECK: %[[XS:.*]] = shard.shard %[[X]] to %[[S]] : tensor<8x3x8x9xf32>
// CHECK: %[[Y:.*]] = ringconv.conv %[[XS]], %[[W]]
// CHECK: %[[T:.*]] = shard.sharding @grid split_axes = {{\[\[}}0, 1], [], [], []]
// CHECK-NOT: offsets
// CHECK: %[[R:.*]] = shard.shard %[[Y]] to %[[T]] annotate_for_users
// CHECK: %[[U:.*]] = shard.sharding @grid split_axes = {{\[\[}}0], [], [1], []]
// CHECK-NOT: offsets
// CHECK: %[[V:.*]] = shard.shard %[[R]] to %[[U]]
// CHECK: return %[[V]]

// BACK: ringconv.mesh @grid = <["axis0" = 2, "axis1" = 4]>
// BACK: %[[X:.*]]: tensor<8x3x8x9xf32> {ringconv.name = "x", ringconv.sharding = #ringconv.sharding<@grid, [{"axis0"
// BACK-SAME: {"axis1"
// BACK-SAME: -> (tensor<8x6x8x9xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"axis0"}, {}, {"axis1"}, {}]>})
// BACK: %[[Y:.*]] = ringconv.conv %[[X]],
// BACK: %[[R:.*]] = ringconv.reshard %[[Y]] <@grid, [{"axis0", "axis1"}, {}, {}, {}]>
// BACK: return %[[R]]
ringconv.mesh @grid = <["dp" = 2, "sp" = 4]>
func.func @main(%x: tensor<8x3x8x9xf32> {ringconv.name = "x", ringconv.sharding = #ringconv.sharding<@grid, [{"dp"}, {}, {}, {"sp"}]>},
                %w: tensor<6x3x3x3xf32>)
    -> (tensor<8x6x8x9xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"dp"}, {}, {"sp"}, {}]>}) {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}
     : (tensor<8x3x8x9xf32>, tensor<6x3x3x3xf32>) -> tensor<8x6x8x9xf32>
  %r = ringconv.reshard %y <@grid, [{"dp", "sp"}, {}, {}, {}]> : tensor<8x6x8x9xf32>
  return %r : tensor<8x6x8x9xf32>
}

// -----

// expected-error@+1 {{'ringconv.mesh' op cannot be exported: a shard.grid has no device_ids}}
ringconv.mesh @pair = <["x" = 2], device_ids = [1, 0]>
