// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The two kernels of ring.c. ring.ptx is made from this file by
//   nvcc -std=c++17 -arch=sm_80 -ptx ring.cu -o ring.ptx
extern "C" __global__ void produce(float *out, int rank, int step, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = rank * 1000 + step * 10 + i % 7;
}
extern "C" __global__ void consume(const float *left, const float *right,
                                   float *sum, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    sum[i] += left[i] + 2 * right[i];
}
