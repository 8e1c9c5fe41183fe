// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels for mlir.py, which says how kernels.ptx is made from this file.
module attributes {gpu.container_module} {
  gpu.module @kernels {
    memref.global "private" @as : memref<16x17xf32, #gpu.address_space<workgroup>>
    memref.global "private" @bs : memref<16x17xf32, #gpu.address_space<workgroup>>
    memref.global "private" @parts : memref<4xf32, #gpu.address_space<workgroup>>
    memref.global "private" @ta : memref<16x16xf16, #gpu.address_space<workgroup>> {alignment = 16 : i64}
    memref.global "private" @tb : memref<8x16xf16, #gpu.address_space<workgroup>> {alignment = 16 : i64}

    gpu.func @vector_add(%a: memref<1000xf32>, %b: memref<1000xf32>, %c: memref<1000xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
      %n = arith.constant 1000 : index
      %i = gpu.global_id x
      %in = arith.cmpi ult, %i, %n : index
      scf.if %in {
        %x = memref.load %a[%i] : memref<1000xf32>
        %y = memref.load %b[%i] : memref<1000xf32>
        %s = arith.addf %x, %y : f32
        memref.store %s, %c[%i] : memref<1000xf32>
      }
      gpu.return
    }

    gpu.func @matmul(%a: memref<64x48xf32>, %b: memref<48x32xf32>, %c: memref<64x32xf32>) kernel attributes {known_block_size = array<i32: 16, 16, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      %c48 = arith.constant 48 : index
      %zero = arith.constant 0.0 : f32
      %as = memref.get_global @as : memref<16x17xf32, #gpu.address_space<workgroup>>
      %bs = memref.get_global @bs : memref<16x17xf32, #gpu.address_space<workgroup>>
      %tx = gpu.thread_id x
      %ty = gpu.thread_id y
      %col = gpu.global_id x
      %row = gpu.global_id y
      %sum = scf.for %k0 = %c0 to %c48 step %c16 iter_args(%outer = %zero) -> (f32) {
        %ka = arith.addi %k0, %tx : index
        %kb = arith.addi %k0, %ty : index
        %va = memref.load %a[%row, %ka] : memref<64x48xf32>
        %vb = memref.load %b[%kb, %col] : memref<48x32xf32>
        memref.store %va, %as[%ty, %tx] : memref<16x17xf32, #gpu.address_space<workgroup>>
        memref.store %vb, %bs[%ty, %tx] : memref<16x17xf32, #gpu.address_space<workgroup>>
        gpu.barrier
        %inner = scf.for %k = %c0 to %c16 step %c1 iter_args(%acc = %outer) -> (f32) {
          %x = memref.load %as[%ty, %k] : memref<16x17xf32, #gpu.address_space<workgroup>>
          %y = memref.load %bs[%k, %tx] : memref<16x17xf32, #gpu.address_space<workgroup>>
          %next = math.fma %x, %y, %acc : f32
          scf.yield %next : f32
        }
        gpu.barrier
        scf.yield %inner : f32
      }
      memref.store %sum, %c[%row, %col] : memref<64x32xf32>
      gpu.return
    }

    gpu.func @reduce(%a: memref<4096xf32>, %out: memref<1xf32>) kernel attributes {known_block_size = array<i32: 128, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %c32 = arith.constant 32 : index
      %c512 = arith.constant 512 : index
      %c4096 = arith.constant 4096 : index
      %zero = arith.constant 0.0 : f32
      %w = arith.constant 32 : i32
      %parts = memref.get_global @parts : memref<4xf32, #gpu.address_space<workgroup>>
      %i = gpu.global_id x
      %t = gpu.thread_id x
      %mine = scf.for %k = %i to %c4096 step %c512 iter_args(%acc = %zero) -> (f32) {
        %v = memref.load %a[%k] : memref<4096xf32>
        %s = arith.addf %acc, %v : f32
        scf.yield %s : f32
      }
      %o16 = arith.constant 16 : i32
      %o8 = arith.constant 8 : i32
      %o4 = arith.constant 4 : i32
      %o2 = arith.constant 2 : i32
      %o1 = arith.constant 1 : i32
      %s0, %p0 = gpu.shuffle xor %mine, %o16, %w : f32
      %r0 = arith.addf %mine, %s0 : f32
      %s1, %p1 = gpu.shuffle xor %r0, %o8, %w : f32
      %r1 = arith.addf %r0, %s1 : f32
      %s2, %p2 = gpu.shuffle xor %r1, %o4, %w : f32
      %r2 = arith.addf %r1, %s2 : f32
      %s3, %p3 = gpu.shuffle xor %r2, %o2, %w : f32
      %r3 = arith.addf %r2, %s3 : f32
      %s4, %p4 = gpu.shuffle xor %r3, %o1, %w : f32
      %r4 = arith.addf %r3, %s4 : f32
      %warp = arith.divui %t, %c32 : index
      %lane = arith.remui %t, %c32 : index
      %first = arith.cmpi eq, %lane, %c0 : index
      scf.if %first {
        memref.store %r4, %parts[%warp] : memref<4xf32, #gpu.address_space<workgroup>>
      }
      gpu.barrier
      %leader = arith.cmpi eq, %t, %c0 : index
      scf.if %leader {
        %total = scf.for %k = %c0 to %c4 step %c1 iter_args(%acc = %zero) -> (f32) {
          %v = memref.load %parts[%k] : memref<4xf32, #gpu.address_space<workgroup>>
          %s = arith.addf %acc, %v : f32
          scf.yield %s : f32
        }
        %old = memref.atomic_rmw addf %total, %out[%c0] : (f32, memref<1xf32>) -> f32
      }
      gpu.return
    }

    gpu.func @conv3x3(%x: memref<4x18x34xf32>, %w: memref<8x4x3x3xf32>, %y: memref<8x16x32xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      %c4 = arith.constant 4 : index
      %zero = arith.constant 0.0 : f32
      %q = gpu.thread_id x
      %p = gpu.block_id x
      %k = gpu.block_id y
      %sum = scf.for %c = %c0 to %c4 step %c1 iter_args(%a0 = %zero) -> (f32) {
        %s1 = scf.for %r = %c0 to %c3 step %c1 iter_args(%a1 = %a0) -> (f32) {
          %s2 = scf.for %s = %c0 to %c3 step %c1 iter_args(%a2 = %a1) -> (f32) {
            %i = arith.addi %p, %r : index
            %j = arith.addi %q, %s : index
            %vx = memref.load %x[%c, %i, %j] : memref<4x18x34xf32>
            %vw = memref.load %w[%k, %c, %r, %s] : memref<8x4x3x3xf32>
            %m = arith.mulf %vx, %vw : f32
            %n = arith.addf %a2, %m : f32
            scf.yield %n : f32
          }
          scf.yield %s2 : f32
        }
        scf.yield %s1 : f32
      }
      memref.store %sum, %y[%k, %p, %q] : memref<8x16x32xf32>
      gpu.return
    }

    // One 16x8 tile: asynchronous copies, ldmatrix, mma.sync.
    gpu.func @tensor(%a: memref<16x16xf16>, %b: memref<8x16xf16>, %c: memref<16x8xf32>) kernel attributes {known_block_size = array<i32: 32, 1, 1>} {
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %c8 = arith.constant 8 : index
      %c16 = arith.constant 16 : index
      %ta = memref.get_global @ta : memref<16x16xf16, #gpu.address_space<workgroup>>
      %tb = memref.get_global @tb : memref<8x16xf16, #gpu.address_space<workgroup>>
      %acc = arith.constant dense<0.0> : vector<2x2xf32>
      %t = gpu.thread_id x
      %row = arith.divui %t, %c2 : index
      %odd = arith.remui %t, %c2 : index
      %col = arith.muli %odd, %c8 : index
      %k0 = nvgpu.device_async_copy %a[%row, %col], %ta[%row, %col], 8 : memref<16x16xf16> to memref<16x16xf16, #gpu.address_space<workgroup>>
      %half = arith.cmpi ult, %t, %c16 : index
      scf.if %half {
        %k1 = nvgpu.device_async_copy %b[%row, %col], %tb[%row, %col], 8 : memref<8x16xf16> to memref<8x16xf16, #gpu.address_space<workgroup>>
      }
      %g = nvgpu.device_async_create_group %k0
      nvgpu.device_async_wait %g {numGroups = 0 : i32}
      gpu.barrier
      %ar = arith.remui %t, %c16 : index
      %ah = arith.divui %t, %c16 : index
      %ac = arith.muli %ah, %c8 : index
      %fa = nvgpu.ldmatrix %ta[%ar, %ac] {numTiles = 4 : i32, transpose = false} : memref<16x16xf16, #gpu.address_space<workgroup>> -> vector<4x2xf16>
      %br = arith.remui %t, %c8 : index
      %bq = arith.divui %t, %c8 : index
      %bo = arith.remui %bq, %c2 : index
      %bc = arith.muli %bo, %c8 : index
      %fb = nvgpu.ldmatrix %tb[%br, %bc] {numTiles = 2 : i32, transpose = false} : memref<8x16xf16, #gpu.address_space<workgroup>> -> vector<2x2xf16>
      %d = nvgpu.mma.sync (%fa, %fb, %acc) {mmaShape = [16, 8, 16]} : (vector<4x2xf16>, vector<2x2xf16>, vector<2x2xf32>) -> vector<2x2xf32>
      %r0 = arith.divui %t, %c4 : index
      %r1 = arith.addi %r0, %c8 : index
      %q0 = arith.remui %t, %c4 : index
      %q = arith.muli %q0, %c2 : index
      %d0 = vector.extract %d[0] : vector<2xf32> from vector<2x2xf32>
      %d1 = vector.extract %d[1] : vector<2xf32> from vector<2x2xf32>
      vector.store %d0, %c[%r0, %q] {alignment = 8 : i64} : memref<16x8xf32>, vector<2xf32>
      vector.store %d1, %c[%r1, %q] {alignment = 8 : i64} : memref<16x8xf32>, vector<2xf32>
      gpu.return
    }
  }
}
