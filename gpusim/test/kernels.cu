// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels for kernels.py. kernels.ptx is made from this file by
//   nvcc -std=c++17 -arch=sm_80 -ptx kernels.cu -o kernels.ptx
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

extern "C" __global__ void vectorAdd(const float *a, const float *b, float *c,
                                     int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    c[i] = a[i] + b[i];
}

constexpr int tile = 16;
extern "C" __global__ void matmul(const float *a, const float *b, float *c,
                                  int m, int n, int k) {
  __shared__ float as[tile][tile + 1], bs[tile][tile + 1];
  int x = threadIdx.x, y = threadIdx.y;
  int row = blockIdx.y * tile + y, col = blockIdx.x * tile + x;
  float sum = 0;
  for (int k0 = 0; k0 < k; k0 += tile) {
    as[y][x] = row < m && k0 + x < k ? a[row * k + k0 + x] : 0;
    bs[y][x] = col < n && k0 + y < k ? b[(k0 + y) * n + col] : 0;
    __syncthreads();
    for (int i = 0; i < tile; ++i)
      sum += as[y][i] * bs[i][x];
    __syncthreads();
  }
  if (row < m && col < n)
    c[row * n + col] = sum;
}

extern "C" __global__ void reduceSum(const float *a, float *out, int n) {
  __shared__ float parts[32];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n;
       i += gridDim.x * blockDim.x)
    sum += a[i];
  for (int d = 16; d; d >>= 1)
    sum += __shfl_down_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0)
    parts[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    sum = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0;
    for (int d = 16; d; d >>= 1)
      sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x == 0)
      atomicAdd(out, sum);
  }
}

/// NCHW, 3x3, padding 1.
extern "C" __global__ void conv3x3(const float *x, const float *w, float *y,
                                   int c, int h, int wd) {
  int q = blockIdx.x * blockDim.x + threadIdx.x;
  int p = blockIdx.y * blockDim.y + threadIdx.y, k = blockIdx.z;
  if (q >= wd || p >= h)
    return;
  float sum = 0;
  for (int ci = 0; ci < c; ++ci)
    for (int r = 0; r < 3; ++r)
      for (int s = 0; s < 3; ++s) {
        int i = p + r - 1, j = q + s - 1;
        if (i >= 0 && i < h && j >= 0 && j < wd)
          sum += x[(ci * h + i) * wd + j] * w[((k * c + ci) * 3 + r) * 3 + s];
      }
  y[(k * h + p) * wd + q] = sum;
}

/// One warp per 16x8 tile of C = A * B^T, A [m,k], B [n,k]; ldmatrix, cp.async.
extern "C" __global__ void tensorMatmul(const __half *a, const __half *b,
                                        float *c, int m, int n, int k) {
  __shared__ __align__(16) __half as[2][16][16], bs[2][8][16];
  int lane = threadIdx.x, row0 = blockIdx.y * 16, col0 = blockIdx.x * 8;
  auto copy = [](void *to, const void *from) {
    uint32_t s = (uint32_t)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(s),
                 "l"(from));
  };
  auto stage = [&](int slot, int k0) {
    copy(&as[slot][lane / 2][lane % 2 * 8],
         a + (row0 + lane / 2) * k + k0 + lane % 2 * 8);
    if (lane < 16)
      copy(&bs[slot][lane / 2][lane % 2 * 8],
           b + (col0 + lane / 2) * k + k0 + lane % 2 * 8);
    asm volatile("cp.async.commit_group;");
  };
  float d[4] = {};
  stage(0, 0);
  for (int k0 = 0; k0 < k; k0 += 16) {
    int slot = k0 / 16 % 2;
    if (k0 + 16 < k)
      stage(slot ^ 1, k0 + 16);
    else
      asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 1;");
    __syncwarp();
    uint32_t ar[4], br[2];
    uint32_t pa =
        (uint32_t)__cvta_generic_to_shared(&as[slot][lane % 16][lane / 16 * 8]);
    uint32_t pb = (uint32_t)__cvta_generic_to_shared(
        &bs[slot][lane % 8][lane / 8 % 2 * 8]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(ar[0]), "=r"(ar[1]), "=r"(ar[2]), "=r"(ar[3])
                 : "r"(pa));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(br[0]), "=r"(br[1])
                 : "r"(pb));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
                 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(ar[0]), "r"(ar[1]), "r"(ar[2]), "r"(ar[3]), "r"(br[0]),
                   "r"(br[1]));
    __syncwarp();
  }
  int r = row0 + lane / 4, q = col0 + lane % 4 * 2;
  c[r * n + q] = d[0], c[r * n + q + 1] = d[1];
  c[(r + 8) * n + q] = d[2], c[(r + 8) * n + q + 1] = d[3];
  (void)m;
}

extern "C" __global__ void mathF32(const float *a, float *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float x = a[i];
  o[0 * n + i] = expf(x);
  o[1 * n + i] = logf(fabsf(x) + 0.5f);
  o[2 * n + i] = tanhf(x);
  o[3 * n + i] = sinf(x * 1000);
  o[4 * n + i] = powf(fabsf(x), 0.3f);
  o[5 * n + i] = erff(x);
  o[6 * n + i] = x / (x * x + 2.f);
  o[7 * n + i] = sqrtf(fabsf(x));
  o[8 * n + i] = fmodf(x, 0.7f);
  o[9 * n + i] = rsqrtf(x * x + 1);
}
extern "C" __global__ void mathF64(const double *a, double *o, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  double x = a[i];
  o[0 * n + i] = exp(x);
  o[1 * n + i] = x / (3.0 + x * x);
  o[2 * n + i] = sqrt(fabs(x));
  o[3 * n + i] = sin(x * 1e6);
  o[4 * n + i] = log(fabs(x) + 1);
}

__device__ __noinline__ int collatz(int n) {
  int steps = 0;
  while (n != 1) {
    n = n % 2 ? 3 * n + 1 : n / 2;
    ++steps;
  }
  return steps;
}
/// Divergent loops, a function call, local arrays, a jump table.
extern "C" __global__ void control(int *a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  int steps = collatz(i + 1), t[8];
  for (int j = 0; j < 8; ++j)
    t[j] = a[i] * j + steps;
  int v = t[a[i] & 7];
  switch (steps % 7) {
  case 0:
    v += 1;
    break;
  case 1:
    v *= 3;
    break;
  case 2:
    v -= 7;
    break;
  case 3:
    v ^= 0x55;
    break;
  case 4:
    v = -v;
    break;
  case 5:
    v <<= 1;
    break;
  default:
    v += steps;
    break;
  }
  a[i] = v;
}
extern "C" __global__ void trapIfNegative(const int *a) {
  if (a[threadIdx.x] < 0)
    __trap();
}
/// Histogram in shared memory, a prefix sum by shuffles, votes.
extern "C" __global__ void warpStuff(const int *a, int *hist, int *scan,
                                     int *vote) {
  __shared__ int h[16];
  int i = threadIdx.x;
  if (i < 16)
    h[i] = 0;
  __syncthreads();
  atomicAdd(&h[a[i] & 15], 1);
  int v = a[i];
  for (int d = 1; d < 32; d *= 2) {
    int u = __shfl_up_sync(~0u, v, d);
    if (i % 32 >= d)
      v += u;
  }
  scan[i] = v;
  vote[i] = __popc(__ballot_sync(~0u, a[i] & 1)) +
            100 * __any_sync(~0u, a[i] == 77) +
            1000 * __reduce_max_sync(~0u, (unsigned)a[i]);
  __syncthreads();
  if (i < 16)
    hist[i] = h[i];
}
