// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: ringconv-opt %s -split-input-file -verify-diagnostics

// mesh_c1: extents are at least 1.
// expected-error @+1 {{mesh_c1: extent of axis "x" must be at least 1, got 0}}
ringconv.mesh @grid = <["x" = 0]>

// -----

// expected-error @+1 {{mesh_c1: extent of axis "sp" must be at least 1, got -4}}
ringconv.mesh @grid = <["dp" = 2, "sp" = -4]>

// -----

// mesh_c2: names differ and are not empty.
// expected-error @+1 {{mesh_c2: axis names must differ and not be empty, got "x" twice}}
ringconv.mesh @grid = <["x" = 2, "y" = 2, "x" = 2]>

// -----

// expected-error @+1 {{mesh_c2: axis names must differ and not be empty, got ""}}
ringconv.mesh @grid = <["" = 2]>

// -----

// mesh_c3: device ids are a permutation.
// expected-error @+1 {{mesh_c3: expected 4 device_ids, got 3}}
ringconv.mesh @grid = <["x" = 4], device_ids = [0, 1, 2]>

// -----

// expected-error @+1 {{mesh_c3: device_ids must be a permutation of 0 .. 3, got 1 twice}}
ringconv.mesh @grid = <["x" = 4], device_ids = [0, 1, 1, 3]>

// -----

// expected-error @+1 {{mesh_c3: device_ids must be a permutation of 0 .. 3, got 4}}
ringconv.mesh @grid = <["x" = 4], device_ids = [0, 1, 2, 4]>

// -----

// expected-error @+1 {{mesh_c3: device_ids must be a permutation of 0 .. 1, got -1}}
ringconv.mesh @grid = <["x" = 2], device_ids = [-1, 0]>

// -----

// mesh_c4: at most 2^20 ranks, also where the product overflows.
// expected-error @+1 {{mesh_c4: a mesh has at most 1048576 ranks}}
ringconv.mesh @grid = <["x" = 1048577]>

// -----

// expected-error @+1 {{mesh_c4: a mesh has at most 1048576 ranks}}
ringconv.mesh @grid = <["x" = 4294967296, "y" = 4294967296]>

// -----

// expected-error @+1 {{expected 'device_ids'}}
ringconv.mesh @grid = <["x" = 2], >

// -----

// expected-error @+1 {{expected 'device_ids'}}
ringconv.mesh @grid = <["x" = 2], devices = [1, 0]>

// -----

// expected-error @+1 {{expected string}}
ringconv.mesh @grid = <[x = 2]>
