// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -split-input-file -ringconv-lower-reference | FileCheck %s -enable-var-scope

// Stride 2, 3 positions of padding: o * 2 + t - 3 is read where it is in [0, 8).
// The filter gives the extents of taps and input features; sums are in f64.
// CHECK-DAG: #[[$FILTER:.+]] = affine_map<(d0, d1, d2, d3, d4) -> (d4, d3, d2)>
// CHECK-DAG: #[[$SUMS:.+]] = affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d4)>
// CHECK-DAG: #[[$RESULT:.+]] = affine_map<(d0, d1, d2) -> (d0, d2, d1)>
// CHECK-NOT: ringconv
// CHECK-LABEL: func.func @conv(
// CHECK-SAME:    %[[X:.+]]: tensor<2x3x8xf32>, %[[W:.+]]: tensor<4x3x7xf32>, %[[BIAS:.+]]: tensor<4xf32>)
// CHECK:         %[[ZERO:.+]] = linalg.fill {{.*}} -> tensor<2x4x4xf64>
// CHECK:         %[[SUM:.+]] = linalg.generic
// CHECK-SAME:      indexing_maps = [#[[$FILTER]], #[[$SUMS]]]
// CHECK-SAME:      iterator_types = ["parallel", "parallel", "reduction", "reduction", "parallel"]
// CHECK-SAME:      ins(%[[W]] : tensor<4x3x7xf32>) outs(%[[ZERO]] : tensor<2x4x4xf64>)
// CHECK:         ^bb0(%[[WEIGHT:.+]]: f32, %[[ACC:.+]]: f64):
// CHECK:           %[[O:.+]] = linalg.index 1
// CHECK:           %[[T:.+]] = linalg.index 2
// CHECK:           %[[SCALED:.+]] = arith.muli %[[O]], %{{.*}}
// CHECK:           %[[SHIFTED:.+]] = arith.addi %[[SCALED]], %[[T]]
// CHECK:           %[[M3:.+]] = arith.constant -3 : index
// CHECK:           %[[P:.+]] = arith.addi %[[SHIFTED]], %[[M3]]
// CHECK:           arith.cmpi sge, %[[P]], %{{.*}}
// CHECK:           arith.cmpi slt, %[[P]], %{{.*}}
// CHECK:           %[[READS:.+]] = arith.andi
// CHECK:           %[[I:.+]] = linalg.index 3
// CHECK:           %[[NEXT:.+]] = scf.if %[[READS]] -> (f64) {
// CHECK:             %[[ELEMENT:.+]] = tensor.extract %[[X]][%{{.+}}, %[[I]], %[[P]]]
// CHECK:             %[[WIDE:.+]] = arith.extf %[[ELEMENT]] : f32 to f64
// CHECK:             %[[PRODUCT:.+]] = arith.mulf %[[WIDE]], %{{.+}} : f64
// CHECK:             %[[ADDED:.+]] = arith.addf %[[ACC]], %[[PRODUCT]] : f64
// CHECK:             scf.yield %[[ADDED]]
// CHECK:           } else {
// CHECK:             scf.yield %[[ACC]]
// CHECK:           linalg.yield %[[NEXT]]
// CHECK:         linalg.generic
// CHECK-SAME:      indexing_maps = [#[[$RESULT]],
// CHECK-SAME:      ins(%[[SUM]], %[[BIAS]] : tensor<2x4x4xf64>, tensor<4xf32>)
// CHECK:           %[[B:.+]] = arith.extf
// CHECK:           %[[ALL:.+]] = arith.addf %{{.+}}, %[[B]] : f64
// CHECK:           arith.truncf %[[ALL]] : f64 to f32
ringconv.mesh @grid = <["x" = 2]>
func.func @conv(%x: tensor<2x3x8xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"x"}]>, ringconv.name = "x"},
                %w: tensor<4x3x7xf32> {ringconv.parameter}, %b: tensor<4xf32>)
    -> (tensor<2x4x4xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"x"}]>}) {
  %y = ringconv.conv %x, %w bias %b dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {stride = [2], pad = [[3, 3]]}
     : (tensor<2x3x8xf32>, tensor<4x3x7xf32>, tensor<4xf32>) -> tensor<2x4x4xf32>
  return %y : tensor<2x4x4xf32>
}

// -----

// Half types are read through f32 and rounded once: to odd first, so that the
// step from f32 is the only one that counts.
// CHECK-LABEL: func.func @bf16(
// CHECK:         arith.extf %{{.+}} : bf16 to f32
// CHECK:         arith.extf %{{.+}} : f32 to f64
// CHECK:         linalg.generic
// CHECK:           %[[NEAREST:.+]] = arith.truncf %[[V:.+]] : f64 to f32
// CHECK:           %[[BACK:.+]] = arith.extf %[[NEAREST]] : f32 to f64
// CHECK:           arith.cmpi ugt
// CHECK:           %[[INEXACT:.+]] = arith.cmpf one, %[[BACK]], %[[V]]
// CHECK:           %[[BITS:.+]] = arith.select %[[INEXACT]]
// CHECK:           %[[ODD:.+]] = arith.bitcast %[[BITS]] : i32 to f32
// CHECK:           arith.truncf %[[ODD]] : f32 to bf16
func.func @bf16(%x: tensor<1x1x5xbf16>, %w: tensor<1x1x2xbf16>) -> tensor<1x1x4xbf16> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x1x5xbf16>, tensor<1x1x2xbf16>) -> tensor<1x1x4xbf16>
  return %y : tensor<1x1x4xbf16>
}

// -----

// Holes: position o + t - 1 holds an element where 3 divides it. A reversed
// window counts taps from its end.
// CHECK-LABEL: func.func @holes(
// CHECK:         %[[T:.+]] = linalg.index 2
// CHECK:         %[[LAST:.+]] = arith.constant 3 : index
// CHECK:         %[[FROMEND:.+]] = arith.subi %[[LAST]], %[[T]]
// CHECK:         %[[SUM:.+]] = arith.addi %{{.+}}, %[[FROMEND]]
// CHECK:         %[[P:.+]] = arith.addi %[[SUM]], %{{.+}}
// CHECK:         %[[REST:.+]] = arith.remsi %[[P]]
// CHECK:         arith.cmpi eq, %[[REST]]
// CHECK:         %[[E:.+]] = arith.divsi %[[P]]
// CHECK:         arith.cmpi slt, %[[E]]
// CHECK:         tensor.extract %{{.+}}[%{{.+}}, %{{.+}}, %[[E]]]
func.func @holes(%x: tensor<1x1x5xf64>, %w: tensor<1x1x4xf64>) -> tensor<1x1x12xf64> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
         window {pad = [[1, 1]], lhs_dilate = [3], reverse = [true]}
     : (tensor<1x1x5xf64>, tensor<1x1x4xf64>) -> tensor<1x1x12xf64>
  return %y : tensor<1x1x12xf64>
}

// -----

// Cropped by 2 below, continued by 1 above: the period is elements 2 to 6. All
// taps read an element.
// CHECK-LABEL: func.func @circular(
// CHECK:         %[[TWO:.+]] = arith.constant 2 : index
// CHECK:         %[[P:.+]] = arith.addi %{{.+}}, %[[TWO]]
// CHECK:         %[[Q:.+]] = arith.addi %[[P]], %{{.+}}
// CHECK:         %[[FIVE:.+]] = arith.constant 5 : index
// CHECK:         arith.remsi %[[Q]], %[[FIVE]]
// CHECK-NOT:     scf.if
func.func @circular(%x: tensor<1x1x7xf32>, %w: tensor<1x1x3xf32>) -> tensor<1x1x4xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
         window {pad = [[-2, 1]], border = ["circular"]}
     : (tensor<1x1x7xf32>, tensor<1x1x3xf32>) -> tensor<1x1x4xf32>
  return %y : tensor<1x1x4xf32>
}

// -----

// Output feature o of 6 in 3 groups reads input features from (o / 2) * 1 on.
// CHECK-LABEL: func.func @groups(
// CHECK:         %[[O:.+]] = linalg.index 4
// CHECK:         %[[I:.+]] = linalg.index 3
// CHECK:         %[[TWO:.+]] = arith.constant 2 : index
// CHECK:         %[[GROUP:.+]] = arith.divui %[[O]], %[[TWO]]
// CHECK:         %[[FIRST:.+]] = arith.muli %[[GROUP]]
// CHECK:         %[[F:.+]] = arith.addi %[[FIRST]], %[[I]]
// CHECK:         tensor.extract %{{.+}}[%{{.+}}, %[[F]], %{{.+}}]
func.func @groups(%x: tensor<1x3x5xf32>, %w: tensor<6x1x2xf32>) -> tensor<1x6x4xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0] {feature_group_count = 3 : i64}
     : (tensor<1x3x5xf32>, tensor<6x1x2xf32>) -> tensor<1x6x4xf32>
  return %y : tensor<1x6x4xf32>
}

// -----

// Integers are summed in i64 and wrap at the end.
// CHECK-LABEL: func.func @integers(
// CHECK:         arith.muli %{{.+}}, %{{.+}} : i64
// CHECK:         arith.addi %{{.+}}, %{{.+}} : i64
// CHECK:         arith.trunci %{{.+}} : i64 to i32
func.func @integers(%x: tensor<1x1x5xi8>, %w: tensor<1x1x2xi8>) -> tensor<1x1x4xi32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<1x1x5xi8>, tensor<1x1x2xi8>) -> tensor<1x1x4xi32>
  return %y : tensor<1x1x4xi32>
}

// -----

// The average counts the taps that read something, and divides by at least 1.
// CHECK-LABEL: func.func @average(
// CHECK:         %[[WINDOW:.+]] = tensor.empty() : tensor<3xf32>
// CHECK:         linalg.generic
// CHECK-SAME:      iterator_types = ["parallel", "parallel", "reduction"]
// CHECK-SAME:      ins(%[[WINDOW]] : tensor<3xf32>)
// CHECK-SAME:      tensor<2x5xf64>, tensor<2x5xf64>
// CHECK:           scf.if {{.*}} -> (f64, f64)
// CHECK:         linalg.generic
// CHECK:           %[[COUNT:.+]] = arith.maximumf
// CHECK:           arith.divf %{{.+}}, %[[COUNT]] : f64
func.func @average(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %y = ringconv.pool avg %x dims [b, 0] -> [b, 0] window {size = [3], pad = [[1, 1]]} : tensor<2x5xf32> -> tensor<2x5xf32>
  return %y : tensor<2x5xf32>
}

// -----

// With count_padding nothing is counted: the window has 3 taps.
// CHECK-LABEL: func.func @count_padding(
// CHECK-NOT:     arith.maximumf
// CHECK:         %[[THREE:.+]] = arith.constant 3.000000e+00 : f64
// CHECK:         arith.divf %{{.+}}, %[[THREE]] : f64
func.func @count_padding(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %y = ringconv.pool avg count_padding %x dims [b, 0] -> [b, 0] window {size = [3], pad = [[1, 1]]}
     : tensor<2x5xf32> -> tensor<2x5xf32>
  return %y : tensor<2x5xf32>
}

// -----

// A maximum starts from -inf and lets NaN win; a reshard is its operand.
// CHECK-NOT:   ringconv
// CHECK-LABEL: func.func @max(
// CHECK:         %[[INF:.+]] = arith.constant 0xFFF0000000000000 : f64
// CHECK:         linalg.fill ins(%[[INF]] : f64)
// CHECK:         arith.maximumf
// CHECK:         %[[Y:.+]] = linalg.generic
// CHECK:         return %[[Y]]
ringconv.mesh @grid = <["x" = 2]>
func.func @max(%x: tensor<2x5xf32>) -> tensor<2x5xf32> {
  %y = ringconv.pool max %x dims [b, 0] -> [b, 0] window {size = [3], pad = [[1, 1]]} : tensor<2x5xf32> -> tensor<2x5xf32>
  %z = ringconv.reshard %y <@grid, [{}, {"x"}]> : tensor<2x5xf32>
  return %z : tensor<2x5xf32>
}
