// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: not ringconv-opt %s -ringconv-set-mesh="mesh=dp=3" 2>&1 | FileCheck %s
// RUN: ringconv-opt %s -ringconv-set-mesh="mesh=sp=3" | FileCheck %s --check-prefix=OTHER

ringconv.mesh @grid = <["dp" = 2, "sp" = 2]>

// Explicit cuts that no longer fit are an error; cuts by other axes stay.
// CHECK: error: argument 0: sharding_c5: dim 1: 3 parts need 4 cuts, but there are 3
// OTHER: ringconv.mesh @grid = <["dp" = 2, "sp" = 3]>
// OTHER: {ringconv.sharding = #ringconv.sharding<@grid, [{"sp"}, {"dp", cuts = [0, 6, 8]}]>}
func.func @main(
    %x: tensor<4x8xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"sp"}, {"dp", cuts = [0, 6, 8]}]>}) {
  return
}
