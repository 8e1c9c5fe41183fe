// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-run %s --check
// RUN: ringconv-run %s --check --mesh=x=1
// RUN: ringconv-opt %s -ringconv-partition | FileCheck %s

// The filter's columns are cut, the input is whole, and taps beyond its ends
// are mapped into it: copied from there, as no rank lacks anything. Padding was
// skipped instead. Input 6, kernel 4, circular padding 1 and 2: rank 0 has taps 0
// and 1 and reads from -1 on, rank 1 has taps 2 and 3 and reads up to 7.

ringconv.mesh @grid = <["x" = 2]>

// CHECK-LABEL: func.func @main
// CHECK: ringconv.halo_exchange %{{.*}} @grid [#ringconv.halo_dim<2, ["x"], low = 1, high = 2
// CHECK-SAME: fills = [<high from own at <0> extended <7> source <0> source_extended <1> size <0: 0 + 2>>,
// CHECK-SAME: <low from own at <0> extended <0> source <5> source_extended <6> size <0: 1 + -1>>]
// CHECK: ringconv.all_reduce
func.func @main(%x: tensor<1x2x6xf32>,
                %w: tensor<3x2x4xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {}, {"x"}]>})
    -> tensor<1x3x6xf32> {
  %y = ringconv.conv %x, %w dims [b, f, 0] x [o, i, 0] -> [b, f, 0]
         window {pad = [[1, 2]], border = ["circular"]}
     : (tensor<1x2x6xf32>, tensor<3x2x4xf32>) -> tensor<1x3x6xf32>
  return %y : tensor<1x3x6xf32>
}
