// Programs around convolutions: constants, elementwise functions, loops that
// swap what they carry, conditions and single elements that the host looks at.
// RUN: ringconv-run %s --target=cuda --simulate --check --entry=around | FileCheck %s
// RUN: ringconv-run %s --target=cuda --simulate --check --entry=swapping | FileCheck %s
// RUN: ringconv-run %s --target=cuda --simulate --check --entry=until | FileCheck %s
// RUN: ringconv-run %s --target=cuda --simulate --check --entry=sums --mesh=w=3 | FileCheck %s
// RUN: not ringconv-run %s --target=cuda --simulate --entry=until --graph 2>&1 | FileCheck %s --check-prefix=GRAPH
// CHECK: check: output 0:
// GRAPH: error: rank {{[0-9]}}: the program looks at a value while it runs, which cannot be captured in a graph
#w = #ringconv.sharding<@ring, [{}, {}, {"w"}]>
ringconv.mesh @ring = <["w" = 4]>

func.func @around(%x: tensor<1x3x19xf32> {ringconv.sharding = #w}, %k: tensor<2x3x3xf32>) -> tensor<1x2x19xf32> {
  %scale = arith.constant dense<[[[0.5], [-1.5]]]> : tensor<1x2x1xf32>
  %0 = ringconv.conv %x, %k dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]], border = ["circular"]}
     : (tensor<1x3x19xf32>, tensor<2x3x3xf32>) -> tensor<1x2x19xf32>
  %1 = math.tanh %0 : tensor<1x2x19xf32>
  %2 = tensor.empty() : tensor<1x2x19xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a, b, 0)>,
                                        affine_map<(a, b, c) -> (a, b, c)>],
                       iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%1, %scale : tensor<1x2x19xf32>, tensor<1x2x1xf32>) outs(%2 : tensor<1x2x19xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %v = arith.mulf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<1x2x19xf32>
  return %3 : tensor<1x2x19xf32>
}

func.func @swapping(%x: tensor<1x2x19xf64> {ringconv.sharding = #w}, %y: tensor<1x2x19xf64> {ringconv.sharding = #w},
                    %k: tensor<2x2x3xf64>) -> (tensor<1x2x19xf64>, tensor<1x2x19xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %0:2 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x, %b = %y) -> (tensor<1x2x19xf64>, tensor<1x2x19xf64>) {
    %1 = ringconv.conv %a, %k dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
       : (tensor<1x2x19xf64>, tensor<2x2x3xf64>) -> tensor<1x2x19xf64>
    scf.yield %b, %1 : tensor<1x2x19xf64>, tensor<1x2x19xf64>
  }
  return %0#0, %0#1 : tensor<1x2x19xf64>, tensor<1x2x19xf64>
}

func.func @until(%x: tensor<1x1x19xf32> {ringconv.sharding = #w}, %n: tensor<i32>, %k: tensor<1x1x3xf32>)
    -> tensor<1x1x19xf32> {
  %one = arith.constant 1 : i32
  %limit = arith.constant 7 : i32
  %start = tensor.extract %n[] : tensor<i32>
  %0:2 = scf.while (%v = %x, %i = %start) : (tensor<1x1x19xf32>, i32) -> (tensor<1x1x19xf32>, i32) {
    %more = arith.cmpi slt, %i, %limit : i32
    scf.condition(%more) %v, %i : tensor<1x1x19xf32>, i32
  } do {
  ^bb0(%v: tensor<1x1x19xf32>, %i: i32):
    %1 = ringconv.conv %v, %k dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[1, 1]]}
       : (tensor<1x1x19xf32>, tensor<1x1x3xf32>) -> tensor<1x1x19xf32>
    %2 = math.tanh %1 : tensor<1x1x19xf32>
    %next = arith.addi %i, %one : i32
    scf.yield %2, %next : tensor<1x1x19xf32>, i32
  }
  return %0#0 : tensor<1x1x19xf32>
}

// Input channels are cut unevenly: partial sums by all-reduce, and by
// reduce-scatter where the result is cut by the same axis, unevenly too.
func.func @sums(%x: tensor<2x7x9xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{}, {"w"}, {}]>},
                %k: tensor<5x7x1xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{}, {"w"}, {}]>})
    -> (tensor<2x5x9xf32>, tensor<2x5x9xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{}, {"w"}, {}]>}) {
  %0 = ringconv.conv %x, %k dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<2x7x9xf32>, tensor<5x7x1xf32>) -> tensor<2x5x9xf32>
  %1 = ringconv.conv %x, %k dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
     : (tensor<2x7x9xf32>, tensor<5x7x1xf32>) -> tensor<2x5x9xf32>
  return %0, %1 : tensor<2x5x9xf32>, tensor<2x5x9xf32>
}

// A long reduction goes by a block of threads for each element, and gives the
// bits of one rank where it is not cut.
// RUN: ringconv-run %s --target=cuda --simulate --check --entry=long --output=0=%t.4.npy | FileCheck %s
// RUN: ringconv-run %s --target=cuda --simulate --mesh=w=1 --entry=long --output=0=%t.1.npy && cmp %t.4.npy %t.1.npy
func.func @long(%x: tensor<5x3x700xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{"w"}, {}, {}]>})
    -> (tensor<5xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{"w"}]>}, tensor<5xf32>, tensor<5x3x700xf32>) {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<5xf32>
  %0 = linalg.fill ins(%zero : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %1 = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a)>],
                       iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%x : tensor<5x3x700xf32>) outs(%0 : tensor<5xf32>) {
  ^bb0(%a: f32, %s: f32):
    %v = math.absf %a : f32
    %w = arith.addf %s, %v : f32
    linalg.yield %w : f32
  } -> tensor<5xf32>
  %2 = linalg.fill ins(%low : f32) outs(%e : tensor<5xf32>) -> tensor<5xf32>
  %3 = linalg.generic {indexing_maps = [affine_map<(a, b, c) -> (a, b, c)>, affine_map<(a, b, c) -> (a)>],
                       iterator_types = ["parallel", "reduction", "reduction"]}
      ins(%x : tensor<5x3x700xf32>) outs(%2 : tensor<5xf32>) {
  ^bb0(%a: f32, %s: f32):
    %w = arith.maximumf %s, %a : f32
    linalg.yield %w : f32
  } -> tensor<5xf32>
  %4 = arith.mulf %x, %x : tensor<5x3x700xf32>
  return %1, %3, %4 : tensor<5xf32>, tensor<5xf32>, tensor<5x3x700xf32>
}
