// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-run %s --check

// Both programs need upstream's `dealloc_helper` for the buffer that a branch may allocate.

ringconv.mesh @grid = <["x" = 4]>

func.func @main(%x: tensor<6x8xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{}, {"x"}]>},
                %y: tensor<6x8xf32> {ringconv.sharding = #ringconv.sharding<@grid, [{"x"}, {}]>})
    -> (tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %r:3 = scf.for %i = %c0 to %c3 step %c1 iter_args(%a = %x, %b = %y, %c = %x)
      -> (tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>) {
    %s = arith.addf %a, %b : tensor<6x8xf32>
    %second = arith.cmpi eq, %i, %c1 : index
    %q:2 = scf.if %second -> (tensor<6x8xf32>, tensor<6x8xf32>) {
      %u = arith.subf %s, %c : tensor<6x8xf32>
      scf.yield %u, %a : tensor<6x8xf32>, tensor<6x8xf32>
    } else {
      %k = scf.for %j = %c0 to %i step %c1 iter_args(%l = %b) -> tensor<6x8xf32> {
        %m = arith.addf %l, %s : tensor<6x8xf32>
        scf.yield %m : tensor<6x8xf32>
      }
      scf.yield %c, %k : tensor<6x8xf32>, tensor<6x8xf32>
    }
    scf.yield %q#1, %q#0, %a : tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>
  }
  return %r#0, %r#1, %r#2 : tensor<6x8xf32>, tensor<6x8xf32>, tensor<6x8xf32>
}
