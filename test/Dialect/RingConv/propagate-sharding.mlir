// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -split-input-file -ringconv-propagate-sharding | FileCheck %s
// RUN: ringconv-opt %s -split-input-file -ringconv-propagate-sharding -ringconv-propagate-sharding | FileCheck %s
//
// What partitioning makes of it is what it makes without.
// RUN: ringconv-opt %s -split-input-file -ringconv-partition > %t.direct
// RUN: ringconv-opt %s -split-input-file -ringconv-propagate-sharding -ringconv-partition > %t.propagated
// RUN: diff %t.direct %t.propagated

ringconv.mesh @grid = <["x" = 4]>

// Forwards: 10 columns in 3, 3, 2, 2; a 3x3 window without padding has 8
// outputs, anchored at their first column: 3, 3, 2, 0. The result says so; in
// between nothing changes its cuts.
// CHECK-LABEL: func.func @forwards
// CHECK-SAME: -> (tensor<1x3x8xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"x", cuts = [0, 3, 6, 8, 8]}]>})
// CHECK-NOT: ringconv.reshard
// CHECK: return
func.func @forwards(%x: tensor<1x2x10xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"x"}]>},
                    %w: tensor<3x2x3xf32>) -> tensor<1x3x8xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x2x10xf32>, tensor<3x2x3xf32>) -> tensor<1x3x8xf32>
  %z = math.tanh %y : tensor<1x3x8xf32>
  return %z : tensor<1x3x8xf32>
}

// -----

ringconv.mesh @grid = <["x" = 2]>

// Backwards: what the result asks for is computed from a whole argument, of
// which each rank takes its slice; the negation is cut as it is.
// CHECK-LABEL: func.func @backwards
// CHECK-SAME: (%[[X:.*]]: tensor<4x6xf32>)
// CHECK: %[[MINE:.*]] = ringconv.reshard %[[X]] <@grid, [{"x"}, {}]> : tensor<4x6xf32>
// CHECK: %[[Y:.*]] = arith.negf %[[MINE]]
// CHECK: return %[[Y]]
func.func @backwards(%x: tensor<4x6xf32>)
    -> (tensor<4x6xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x"}, {}]>}) {
  %y = arith.negf %x : tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

ringconv.mesh @grid = <["x" = 2]>

// Two operands at different cuts: the second follows the first. Rows are cut,
// the result is wanted in columns: it moves where it has been computed.
// CHECK-LABEL: func.func @meeting
// CHECK-SAME: (%[[A:.*]]: tensor<4x6xf32> {{.*}}, %[[B:.*]]: tensor<4x6xf32>
// CHECK: %[[ROWS:.*]] = ringconv.reshard %[[B]] <@grid, [{"x"}, {}]> : tensor<4x6xf32>
// CHECK: %[[SUM:.*]] = arith.addf %[[A]], %[[ROWS]]
// CHECK: %[[COLUMNS:.*]] = ringconv.reshard %[[SUM]] <@grid, [{}, {"x"}]> : tensor<4x6xf32>
// CHECK: return %[[COLUMNS]]
func.func @meeting(%a: tensor<4x6xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x"}, {}]>},
                   %b: tensor<4x6xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"x"}]>})
    -> (tensor<4x6xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"x"}]>}) {
  %y = arith.addf %a, %b : tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

ringconv.mesh @grid = <["x" = 2]>

// A value comes whole into a loop whose body cuts it: it is cut on the way in,
// and on the way out again where the branch computed it whole.
// CHECK-LABEL: func.func @regions
// CHECK: %[[IN:.*]] = ringconv.reshard %{{.*}} <@grid, [{"x"}, {}]>
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[IN]])
// CHECK: return
func.func @regions(%x: tensor<4x6xf32>, %d: tensor<4x6xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x"}, {}]>})
    -> tensor<4x6xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%v = %x) -> tensor<4x6xf32> {
    %s = arith.addf %d, %v : tensor<4x6xf32>
    scf.yield %s : tensor<4x6xf32>
  }
  return %r : tensor<4x6xf32>
}
