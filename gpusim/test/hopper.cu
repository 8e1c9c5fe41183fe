// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A matrix product in the way of sm_90a for hopper.py: one warp fetches tiles
// by tensor maps, a warpgroup multiplies them with wgmma, two stages of shared
// memory change hands through mbarriers. hopper.ptx is made from this file by
//   nvcc -std=c++17 -arch=sm_90a -ptx hopper.cu -o hopper.ptx
#include <cstdint>
#include <cuda_fp16.h>

struct alignas(64) TensorMap {
  uint64_t opaque[16];
};

constexpr int tileM = 64, tileN = 64, tileK = 64, stages = 2; // a row of a tile is a line of the swizzle
constexpr uint32_t tileBytes = tileM * tileK * 2;

__device__ uint32_t sharedAddress(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

__device__ void initBarrier(uint64_t *b, uint32_t count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(b)), "r"(count));
}
__device__ void arrive(uint64_t *b) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sharedAddress(b)) : "memory");
}
__device__ void expectBytes(uint64_t *b, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(sharedAddress(b)), "r"(bytes) : "memory");
}
__device__ void await(uint64_t *b, uint32_t parity) {
  asm volatile("{\n.reg .pred p;\n"
               "WAIT_%=: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
               "@p bra DONE_%=;\nbra WAIT_%=;\nDONE_%=:\n}" ::"r"(sharedAddress(b)),
               "r"(parity)
               : "memory");
}
__device__ void fetch(const TensorMap &map, void *to, int x, int y, uint64_t *b) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
          sharedAddress(to)),
      "l"(&map), "r"(x), "r"(y), "r"(sharedAddress(b))
      : "memory");
}

/// Rows along k in lines of 128 bytes, eight of them 1,024 bytes on.
__device__ uint64_t descriptor(const void *p) {
  return (sharedAddress(p) >> 4 & 0x3fff) | (uint64_t)(1024 >> 4) << 32 | (uint64_t)1 << 62;
}

/// sums += A * B^T, 64 x 64 x 16
__device__ void multiply(float (&d)[32], uint64_t a, uint64_t b) {
  asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 "
               "{%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31}, "
               "%32, %33, 1, 1, 1, 0, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
                 "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
                 "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
                 "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31])
               : "l"(a), "l"(b));
}

/// c (m x n, f32) = a (m x k, f16) * b (n x k, f16)^T; 160 threads a block.
extern "C" __global__ void tmaMatmul(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b, float *c,
                                     int m, int n, int k) {
  __shared__ alignas(1024) __half as[stages][tileM * tileK], bs[stages][tileN * tileK];
  __shared__ uint64_t full[stages], empty[stages];
  const int row0 = blockIdx.y * tileM, column0 = blockIdx.x * tileN, steps = (k + tileK - 1) / tileK;
  if (threadIdx.x == 0) {
    for (int s = 0; s < stages; ++s)
      initBarrier(&full[s], 1), initBarrier(&empty[s], 128);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x >= 128) {
    if (threadIdx.x == 128)
      for (int step = 0; step < steps; ++step) {
        const int s = step % stages;
        await(&empty[s], (step / stages + 1) % 2);
        expectBytes(&full[s], 2 * tileBytes);
        fetch(a, as[s], step * tileK, row0, &full[s]);
        fetch(b, bs[s], step * tileK, column0, &full[s]);
      }
    return;
  }
  float sums[32] = {};
  for (int step = 0; step < steps; ++step) {
    const int s = step % stages;
    await(&full[s], step / stages % 2);
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int inner = 0; inner < tileK; inner += 16)
      multiply(sums, descriptor(&as[s][inner]), descriptor(&bs[s][inner]));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    arrive(&empty[s]);
  }
  const int row = row0 + threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = column0 + threadIdx.x % 4 * 2;
  for (int i = 0; i < 32; ++i) {
    const int y = row + i / 2 % 2 * 8, x = column + i / 4 * 8 + i % 2;
    if (y < m && x < n)
      c[(size_t)y * n + x] = sums[i];
  }
}
