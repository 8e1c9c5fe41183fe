// The error function becomes arithmetic on vectors and, for the rest of a row, on
// elements: both the same. NaN stays NaN.
// RUN: ringconv-opt %s -convert-ringconv-to-loops | FileCheck %s
// RUN: ringconv-opt %s -convert-ringconv-to-loops=vectorize=false | FileCheck %s -check-prefix=PLAIN

// CHECK-LABEL: func @erf
// CHECK-NOT: math.erf
// CHECK: %[[X:.*]] = vector.load
// CHECK-DAG: arith.cmpf uno, %[[X]], %[[X]] : vector<8xf32>
// CHECK-DAG: math.fma {{.*}} : vector<8xf32>
// CHECK: %[[E:.*]] = memref.load
// CHECK-DAG: arith.cmpf uno, %[[E]], %[[E]] : f32
// CHECK-DAG: math.fma {{.*}} : f32
// PLAIN: math.erf
#m = affine_map<(d0) -> (d0)>
func.func @erf(%x: memref<13xf32>, %y: memref<13xf32>) {
  linalg.generic {indexing_maps = [#m, #m], iterator_types = ["parallel"]} ins(%x : memref<13xf32>)
      outs(%y : memref<13xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.erf %a : f32
    linalg.yield %r : f32
  }
  return
}
