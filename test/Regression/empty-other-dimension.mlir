// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-run %s --check
// RUN: ringconv-opt %s -ringconv-partition-pipeline -one-shot-bufferize="bufferize-function-boundaries" \
// RUN:   -ringconv-lower-start | FileCheck %s

// Rank 0 has no columns: what it would exchange of the rows, with itself and
// with the rank beside it, has no elements, and a piece without elements does
// not exist. Rows 0..2 and 2..4, columns none and 5; halo of one row each.

ringconv.mesh @grid = <["y" = 2, "x" = 2]>

// CHECK-LABEL: func.func @main
// CHECK: ringconv.group
// CHECK: %[[COLUMNS:.*]] = memref.dim %{{.*}}, %{{.*}} : memref<1x1x2x?xf32
// CHECK: %[[SOME:.*]] = arith.cmpi sgt, %[[COLUMNS]], %{{.*}} : index
// CHECK: scf.if
func.func @main(
    %x: tensor<1x1x4x5xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"y"}, {"x", cuts = [0, 0, 5]}]>},
    %w: tensor<1x1x3x1xf32>) -> tensor<1x1x4x5xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
         window {pad = [[1, 1], [0, 0]], border = ["circular", "zero"]}
     : (tensor<1x1x4x5xf32>, tensor<1x1x3x1xf32>) -> tensor<1x1x4x5xf32>
  return %y : tensor<1x1x4x5xf32>
}
