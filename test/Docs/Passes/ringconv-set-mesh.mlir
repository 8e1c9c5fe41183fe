// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s --ringconv-set-mesh=mesh=sp=8 | FileCheck %s
// CHECK: ringconv.mesh @grid = <["dp" = 2, "sp" = 8]>

ringconv.mesh @grid = <["dp" = 2, "sp" = 4]>
