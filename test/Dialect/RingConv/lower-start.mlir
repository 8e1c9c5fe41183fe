// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -ringconv-lower-start -canonicalize -cse | FileCheck %s

ringconv.mesh @grid = <["dp" = 2, "sp" = 4]>

// A column from the left: rank 0 of sp receives nothing, rank 3 sends nothing.
// The peer has this rank's other coordinates: one less in sp is one less.
// CHECK-LABEL: func.func @low
// CHECK-SAME: %[[X:.*]]: memref<2x8xf32>, %[[LOW:.*]]: memref<2x1xf32>, %[[HIGH:.*]]: memref<2x0xf32>
// CHECK: %[[TOKEN:.*]] = ringconv.group {
// CHECK-DAG: %[[SP:.*]] = ringconv.coord @grid ["sp"]
// CHECK-DAG: %[[SELF:.*]] = ringconv.coord @grid ["dp", "sp"]
// CHECK-DAG: %[[FROM:.*]] = ringconv.lookup %[[SP]] <0: -1 + 1>
// CHECK: %[[SOME:.*]] = arith.cmpi sge, %[[FROM]], %{{.*}} : index
// CHECK: scf.if %[[SOME]] {
// CHECK:   ringconv.recv %{{.*}} from %{{.*}}
// CHECK: %[[TO:.*]] = ringconv.lookup %[[SP]] <0: 1 + 1, 3: -1>
// CHECK: scf.if
// CHECK:   %[[BOX:.*]] = memref.subview %[[X]][0, 7] [2, 1] [1, 1]
// CHECK:   ringconv.send %[[BOX]] to
// CHECK: } {report = array<i64: 0>}
// CHECK: ringconv.wait %[[TOKEN]] ins(%[[X]] : memref<2x8xf32>) outs(%[[LOW]], %[[HIGH]] :
func.func @low(%x: memref<2x8xf32>, %low: memref<2x1xf32>, %high: memref<2x0xf32>) {
  %t = ringconv.start @grid [[#ringconv.halo_dim<1, ["sp"], low = 1, high = 0, [
         <own copy from <0: 0 + 1> at <0> extended <1> size <8> to <0: 0 + 1> source <0> count <8>>,
         <low copy from <0: -1 + 1> at <0> extended <0> size <1> to <0: 1 + 1, 3: -1> source <7> count <1>>]>]]
    ins(%x : memref<2x8xf32>) outs(%low, %high : memref<2x1xf32>, memref<2x0xf32>) {report = array<i64: 0>}
  ringconv.wait %t ins(%x : memref<2x8xf32>) outs(%low, %high : memref<2x1xf32>, memref<2x0xf32>)
  return
}

// Two dimensions: the corner belongs to the slab of the columns, at its own
// place in the rows; the same piece of the shard goes out.
// CHECK-LABEL: func.func @corner
// CHECK-SAME: %[[X:[^:]*]]: memref<4x8xf32>, %[[H:[^:]*]]: memref<1x8xf32>, %[[H0:[^:]*]]: memref<0x8xf32>, %[[W:[^:]*]]: memref<5x1xf32>
// CHECK-COUNT-3: ringconv.recv
// CHECK-NOT: ringconv.recv
func.func @corner(%x: memref<4x8xf32>, %h: memref<1x8xf32>, %h0: memref<0x8xf32>, %w: memref<5x1xf32>,
                  %w0: memref<5x0xf32>) {
  %t = ringconv.start @grid [[
    #ringconv.halo_dim<0, ["dp"], low = 1, high = 0, [
      <own copy from <0: 0 + 1> at <0> extended <1> size <4> to <0: 0 + 1> source <0> count <4>>,
      <low copy from <0: -1 + 1> at <0> extended <0> size <1> to <0: 1 + -2> source <3> count <1>>]>,
    #ringconv.halo_dim<1, ["sp"], low = 1, high = 0, [
      <own copy from <0: 0 + 1> at <0> extended <1> size <8> to <0: 0 + 1> source <0> count <8>>,
      <low copy from <0: -1 + 1> at <0> extended <0> size <1> to <0: 1 + 1, 3: -1> source <7> count <1>>]>]]
    ins(%x : memref<4x8xf32>)
    outs(%h, %h0, %w, %w0 : memref<1x8xf32>, memref<0x8xf32>, memref<5x1xf32>, memref<5x0xf32>)
  ringconv.wait %t ins(%x : memref<4x8xf32>)
    outs(%h, %h0, %w, %w0 : memref<1x8xf32>, memref<0x8xf32>, memref<5x1xf32>, memref<5x0xf32>)
  return
}

// One piece of each of several kinds: a loop over their tables. Part 0 of dp gets
// 1 element of part 1, then 2 more; nobody else gets anything.
// CHECK-LABEL: func.func @several
// CHECK: ringconv.group {
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c2
// CHECK:   %[[ROW:.*]] = arith.muli %[[I]], %c2
// CHECK:   %[[AT:.*]] = arith.addi %[[ROW]], %{{.*}}
// CHECK:   ringconv.lookup %[[AT]] <0: 1 + -2, 2: 1 + -2>
// CHECK:   ringconv.recv
// CHECK-NOT: ringconv.recv
// CHECK: ringconv.wait
func.func @several(%x: memref<8xf32>, %low: memref<0xf32>, %high: memref<7xf32>) {
  %t = ringconv.start @grid [[#ringconv.halo_dim<0, ["dp"], low = 0, high = 7, [
         <high copy from <0: 1 + -2> at <0> extended <8> size <1> to <0: -1 + 1> source <0> count <1>>,
         <high copy from <0: 1 + -2> at <5> extended <13> size <2> to <0: -1 + 1> source <5> count <2>>]>]]
    ins(%x : memref<8xf32>) outs(%low, %high : memref<0xf32>, memref<7xf32>)
  ringconv.wait %t ins(%x : memref<8xf32>) outs(%low, %high : memref<0xf32>, memref<7xf32>)
  return
}

// Copies after the messages: a box of columns from the shard and, around it,
// from the slabs of the rows; and the rows above in the slabs of the columns,
// element by element because they are mirrored.
// CHECK-LABEL: func.func @copies
// CHECK-SAME: %[[X:[^:]*]]: memref<4x8xf32>, %[[H:[^:]*]]: memref<2x8xf32>, %{{[^:]*}}: memref<0x8xf32>, %[[W:[^:]*]]: memref<6x1xf32>
// CHECK: ringconv.wait
// CHECK: scf.for %[[J:.*]] = %c0 to %c2
// CHECK-DAG: memref.subview %[[W]][%{{.*}}, 0] [1, 1] [1, 1]
// CHECK: memref.copy
// CHECK: scf.for
// CHECK-DAG: memref.subview %[[X]][%{{.*}}, 0] [1, 8] [1, 1]
// CHECK-DAG: memref.subview %[[H]][%{{.*}}, 0] [1, 8] [1, 1]
// CHECK: memref.copy
// CHECK-DAG: %[[ABOVE:.*]] = memref.subview %[[H]][0, 7] [2, 1] [1, 1]
// CHECK-DAG: %[[CORNER:.*]] = memref.subview %[[W]][0, 0] [2, 1] [1, 1]
// CHECK: memref.copy %[[ABOVE]], %[[CORNER]]
// CHECK-DAG: %[[RIGHT:.*]] = memref.subview %[[X]][0, 7] [4, 1] [1, 1]
// CHECK-DAG: %[[LEFT:.*]] = memref.subview %[[W]][2, 0] [4, 1] [1, 1]
// CHECK: memref.copy %[[RIGHT]], %[[LEFT]]
func.func @copies(%x: memref<4x8xf32>, %h: memref<2x8xf32>, %h0: memref<0x8xf32>, %w: memref<6x1xf32>,
                  %w0: memref<6x0xf32>) {
  %t = ringconv.start @grid [[
    #ringconv.halo_dim<0, [], low = 2, high = 0, [
      <own copy from <0> at <0> extended <2> size <4> to <0> source <0> count <4>>],
      fills = [<low from own step -1 at <1> extended <1> source <1> source_extended <3> size <2>>]>,
    #ringconv.halo_dim<1, [], low = 1, high = 0, [
      <own copy from <0> at <0> extended <1> size <8> to <0> source <0> count <8>>],
      fills = [<low from own at <0> extended <0> source <7> source_extended <8> size <1>>]>]]
    ins(%x : memref<4x8xf32>)
    outs(%h, %h0, %w, %w0 : memref<2x8xf32>, memref<0x8xf32>, memref<6x1xf32>, memref<6x0xf32>)
  ringconv.wait %t ins(%x : memref<4x8xf32>)
    outs(%h, %h0, %w, %w0 : memref<2x8xf32>, memref<0x8xf32>, memref<6x1xf32>, memref<6x0xf32>)
  return
}

// Boxes between any two cuts: one loop over the ranks, whatever their number.
// CHECK-LABEL: func.func @boxes
// CHECK: ringconv.group {
// CHECK: scf.for %[[Q:.*]] = %{{.*}} to %{{.*}} step
// CHECK: ringconv.recv %{{.*}} from %[[Q]]
// CHECK: ringconv.send %{{.*}} to %[[Q]]
// CHECK: ringconv.wait
// CHECK-NOT: redistribute
func.func @boxes(%x: memref<8x2xf32>, %y: memref<8x4xf32>) {
  ringconv.redistribute ins(%x : memref<8x2xf32>) outs(%y : memref<8x4xf32>) of tensor<8x8xf32>
    from <@grid, [{}, {"sp"}]> to <@grid, [{}, {"dp"}]>
  return
}
