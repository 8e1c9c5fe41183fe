// Halos of the window 3 + 2 rows and columns: one on each side, sent by the
// neighbours or, at the border of the image, repeated.
// RUN: image-opt %s --ringconv-partition 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t
ringconv.mesh @grid = <["y" = 2, "x" = 3]>

// CHECK-LABEL: func.func @range
// CHECK-SAME: (%[[X:.*]]: tensor<?x?xf32> {ringconv.shard_of
// CHECK: %[[SLABS:.*]]:4 = ringconv.halo_exchange %[[X]] @grid
// CHECK-SAME: #ringconv.halo_dim<0, ["y"], low = 1, high = 1
// CHECK-SAME: #ringconv.halo_dim<1, ["x"], low = 1, high = 1
// CHECK: tensor.concat dim(0) %[[SLABS]]#0, %[[X]], %[[SLABS]]#1
// CHECK: linalg.generic
// CHECK-NOT: image.range
// REMARK: dim 1: halo of 1 low and 1 high elements, {{.*}} 1 hop, two-sided
func.func @range(%x: tensor<7x11xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"y"}, {"x"}]>})
    -> tensor<7x11xf32> {
  %r = image.range %x size 3 : tensor<7x11xf32>
  return %r : tensor<7x11xf32>
}

// Cut columns make partial sums, cut rows none.
// CHECK-LABEL: func.func @row_sum
// CHECK: %[[PART:.*]] = linalg.reduce
// CHECK: ringconv.all_reduce {{.*}}["x"]
// CHECK-NOT: image.row_sum
func.func @row_sum(%x: tensor<7x11xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"y"}, {"x"}]>})
    -> tensor<7xf32> {
  %s = image.row_sum %x : tensor<7x11xf32> -> tensor<7xf32>
  return %s : tensor<7xf32>
}

// Where nothing is cut the operations get their local forms too.
// CHECK-LABEL: func.func @uncut
// CHECK-NOT: image.
func.func @uncut(%x: tensor<7x11xf32>) -> tensor<7xf32> {
  %r = image.range %x size 3 : tensor<7x11xf32>
  %s = image.row_sum %r : tensor<7x11xf32> -> tensor<7xf32>
  return %s : tensor<7xf32>
}
