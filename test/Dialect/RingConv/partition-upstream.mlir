// What upstream operations become where their dimensions are cut.
// RUN: ringconv-opt %s -split-input-file -ringconv-partition -cse | FileCheck %s -enable-var-scope
// RUN: ringconv-opt %s -split-input-file -ringconv-partition -o /dev/null 2>&1 | FileCheck %s -check-prefix=REMARK

// Of 12 joined columns ranks own 3 each: rank 0 the three of the first operand's
// eight that it has; rank 2 its last two and the first of the second operand. The
// first operand's cuts 0 2 4 6 8 become 0 3 6 8 8, the second's 0 1 2 3 4 become
// 0 0 0 1 4.
// CHECK-LABEL: func @concat_along_cut
// CHECK-DAG: ringconv.redistribute {{.*}} from <@mesh, [{}, {"w"}]> to <@mesh, [{}, {"w", cuts = [0, 3, 6, 8, 8]}]>
// CHECK-DAG: ringconv.redistribute {{.*}} from <@mesh, [{}, {"w"}]> to <@mesh, [{}, {"w", cuts = [0, 0, 0, 1, 4]}]>
// CHECK: tensor.insert_slice
// CHECK: %[[ALL:.*]] = tensor.insert_slice {{.*}} into {{.*}}tensor<2x3xf32>
// CHECK: return %[[ALL]]
ringconv.mesh @mesh = <["w" = 4]>
func.func @concat_along_cut(
    %a: tensor<2x8xf32> {ringconv.sharding = #ringconv.sharding<@mesh, [{}, {"w"}]>},
    %b: tensor<2x4xf32> {ringconv.sharding = #ringconv.sharding<@mesh, [{}, {"w"}]>}) -> tensor<2x12xf32> {
  %y = tensor.concat dim(1) %a, %b : (tensor<2x8xf32>, tensor<2x4xf32>) -> tensor<2x12xf32>
  return %y : tensor<2x12xf32>
}

// -----

// The outermost of the joined dimensions is cut; nothing travels.
// CHECK-LABEL: func @join_and_split
// CHECK-NOT: ringconv.redistribute
// CHECK: tensor.collapse_shape {{.*}} : tensor<5x2x3xf32> into tensor<5x6xf32>
// CHECK: tensor.expand_shape {{.*}} : tensor<5x6xf32> into tensor<5x1x2x3xf32>
// CHECK-NOT: ringconv.redistribute
ringconv.mesh @mesh = <["w" = 4]>
func.func @join_and_split(%x: tensor<5x8x3xf32> {ringconv.sharding = #ringconv.sharding<@mesh, [{}, {"w"}, {}]>})
    -> tensor<5x1x8x3xf32> {
  %f = tensor.collapse_shape %x [[0], [1, 2]] : tensor<5x8x3xf32> into tensor<5x24xf32>
  %r = tensor.expand_shape %f [[0], [1, 2, 3]] output_shape [5, 1, 8, 3] : tensor<5x24xf32> into tensor<5x1x8x3xf32>
  return %r : tensor<5x1x8x3xf32>
}

// -----

// Sum and sum of squares: one message.
// REMARK: remark: 2 partial sums over ["w"] by one all-reduce
// CHECK-LABEL: func @two_sums
// CHECK: %[[BOTH:.*]] = ringconv.all_reduce {{.*}} tensor<2x3xf64>
// CHECK-NOT: all_reduce
// CHECK: tensor.extract_slice %[[BOTH]][0, 0] [1, 3] [1, 1]
// CHECK: tensor.extract_slice %[[BOTH]][1, 0] [1, 3] [1, 1]
#x = affine_map<(d0, d1) -> (d0, d1)>
#y = affine_map<(d0, d1) -> (d0)>
ringconv.mesh @mesh = <["w" = 4]>
func.func @two_sums(%x: tensor<3x10xf32> {ringconv.sharding = #ringconv.sharding<@mesh, [{}, {"w"}]>})
    -> (tensor<3xf64>, tensor<3xf64>) {
  %zero = arith.constant 0.0 : f64
  %empty = tensor.empty() : tensor<3xf64>
  %start = linalg.fill ins(%zero : f64) outs(%empty : tensor<3xf64>) -> tensor<3xf64>
  %s, %q = linalg.generic {indexing_maps = [#x, #y, #y], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x10xf32>) outs(%start, %start : tensor<3xf64>, tensor<3xf64>) {
  ^bb0(%v: f32, %sum: f64, %squares: f64):
    %w = arith.extf %v : f32 to f64
    %ww = arith.mulf %w, %w : f64
    %a = arith.addf %sum, %w : f64
    %b = arith.addf %squares, %ww : f64
    linalg.yield %a, %b : f64, f64
  } -> (tensor<3xf64>, tensor<3xf64>)
  return %s, %q : tensor<3xf64>, tensor<3xf64>
}

// -----

// A maximum of maxima: the ranks' results are gathered, not what they come from.
// CHECK-LABEL: func @largest
// CHECK-NOT: ringconv.all_reduce
// CHECK: %[[MINE:.*]] = linalg.generic {{.*}} ins({{.*}} : tensor<3x2xf32>) outs({{.*}} : tensor<3xf32>)
// CHECK: %[[ALL:.*]] = ringconv.redistribute {{.*}} of tensor<4x3xf32> from <@mesh, [{"w"}, {}]> to <@mesh, [{}, {}]> -> tensor<4x3xf32>
// CHECK: linalg.generic {{.*}} ins(%[[ALL]] : tensor<4x3xf32>) outs(%[[MINE]] : tensor<3xf32>)
// CHECK: arith.maximumf
#x = affine_map<(d0, d1) -> (d0, d1)>
#y = affine_map<(d0, d1) -> (d0)>
ringconv.mesh @mesh = <["w" = 4]>
func.func @largest(%x: tensor<3x8xf32> {ringconv.sharding = #ringconv.sharding<@mesh, [{}, {"w"}]>})
    -> tensor<3xf32> {
  %low = arith.constant 0xFF800000 : f32
  %empty = tensor.empty() : tensor<3xf32>
  %start = linalg.fill ins(%low : f32) outs(%empty : tensor<3xf32>) -> tensor<3xf32>
  %m = linalg.generic {indexing_maps = [#x, #y], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<3x8xf32>) outs(%start : tensor<3xf32>) {
  ^bb0(%v: f32, %best: f32):
    %b = arith.maximumf %best, %v : f32
    linalg.yield %b : f32
  } -> tensor<3xf32>
  return %m : tensor<3xf32>
}

// -----

// One operand cut unevenly, two evenly: the first moves.
// CHECK-LABEL: func @fewest_move
// CHECK: ringconv.redistribute {{.*}} from <@mesh, [{"w", cuts = [0, 5, 8]}, {}]> to <@mesh, [{"w"}, {}]>
// CHECK-NOT: ringconv.redistribute
// CHECK: tensor.insert_slice
ringconv.mesh @mesh = <["w" = 2]>
func.func @fewest_move(
    %a: tensor<8x1xf32> {ringconv.sharding = #ringconv.sharding<@mesh, [{"w", cuts = [0, 5, 8]}, {}]>},
    %b: tensor<8x1xf32> {ringconv.sharding = #ringconv.sharding<@mesh, [{"w"}, {}]>},
    %c: tensor<8x1xf32> {ringconv.sharding = #ringconv.sharding<@mesh, [{"w"}, {}]>}) -> tensor<8x3xf32> {
  %y = tensor.concat dim(1) %a, %b, %c : (tensor<8x1xf32>, tensor<8x1xf32>, tensor<8x1xf32>) -> tensor<8x3xf32>
  return %y : tensor<8x3xf32>
}

// -----

// The columns of a row are joined with the rows: no cut of them survives.
// REMARK: remark: dim 1 of 'tensor<4x6xf32>' gathered: it is cut, but needed whole
// CHECK-LABEL: func @inner_is_cut
ringconv.mesh @mesh = <["w" = 2]>
func.func @inner_is_cut(%x: tensor<4x6xf32> {ringconv.sharding = #ringconv.sharding<@mesh, [{}, {"w"}]>})
    -> tensor<24xf32> {
  %f = tensor.collapse_shape %x [[0, 1]] : tensor<4x6xf32> into tensor<24xf32>
  return %f : tensor<24xf32>
}
