// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -ringconv-set-mesh="mesh=sp=8" | FileCheck %s --check-prefix=ONE
// RUN: ringconv-opt %s -ringconv-set-mesh="mesh=dp=1,sp=4" | FileCheck %s --check-prefix=TWO
// RUN: ringconv-opt %s -ringconv-set-mesh="mesh=sp=1,dp=4" | FileCheck %s --check-prefix=SAME
// RUN: ringconv-opt %s -ringconv-set-mesh | FileCheck %s --check-prefix=NONE
// RUN: not ringconv-opt %s -ringconv-set-mesh="mesh=tp=2" 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not ringconv-opt %s -ringconv-set-mesh="mesh=sp=0" 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not ringconv-opt %s -ringconv-set-mesh="mesh=sp=two" 2>&1 | FileCheck %s --check-prefix=WORD
// RUN: not ringconv-opt %s -ringconv-set-mesh="mesh=sp" 2>&1 | FileCheck %s --check-prefix=NOTHING
// RUN: not ringconv-opt %s -ringconv-set-mesh="mesh=sp=1048576,dp=1048576" 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not ringconv-opt %s -ringconv-set-mesh="mesh=sp=2,sp=4" 2>&1 | FileCheck %s --check-prefix=TWICE

// Other axes keep their extent; device ids of another size mean nothing.
// ONE: ringconv.mesh @grid = <["dp" = 2, "sp" = 8]>{{$}}
// TWO: ringconv.mesh @grid = <["dp" = 1, "sp" = 4], device_ids = [3, 1, 2, 0]>{{$}}
// SAME: ringconv.mesh @grid = <["dp" = 4, "sp" = 1], device_ids = [3, 1, 2, 0]>{{$}}
// NONE: ringconv.mesh @grid = <["dp" = 2, "sp" = 2], device_ids = [3, 1, 2, 0]>{{$}}
// AXIS: error: 'ringconv.mesh' op the mesh has no axis "tp" in 'tp=2'
// ZERO: error: 'ringconv.mesh' op axis "sp" needs an extent of at least 1, got '0' in 'sp=0'
// WORD: error: 'ringconv.mesh' op axis "sp" needs an extent of at least 1, got 'two' in 'sp=two'
// NOTHING: error: 'ringconv.mesh' op axis "sp" needs an extent of at least 1, got '' in 'sp'
// TWICE: axis "sp" has an extent already in 'sp=2,sp=4'
// LARGE: error: 'ringconv.mesh' op mesh_c4: a mesh has at most 1048576 ranks
ringconv.mesh @grid = <["dp" = 2, "sp" = 2], device_ids = [3, 1, 2, 0]>
