// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A GEMM and a convolution of CUTLASS for sm_80, instantiated by cutlass.py.
// The host part of CUTLASS computes the kernels' parameter blocks and prints
// them, because those are structures that only CUTLASS knows.
#include <cstdio>
#include <cstdlib>
#include <cutlass/conv/conv2d_problem_size.h>
#include <cutlass/conv/conv3d_problem_size.h>
// These come first: the header of the device-level class needs them.

#include <cutlass/conv/device/implicit_gemm_convolution.h>
#include <cutlass/conv/kernel/default_conv2d_fprop.h>
#include <cutlass/gemm/device/gemm.h>

using Half = cutlass::half_t;
using Row = cutlass::layout::RowMajor;
using Column = cutlass::layout::ColumnMajor;
using NHWC = cutlass::layout::TensorNHWC;

using Gemm = cutlass::gemm::device::Gemm<
    Half, Row, Half, Column, float, Row, float, cutlass::arch::OpClassTensorOp,
    cutlass::arch::Sm80, cutlass::gemm::GemmShape<64, 64, 32>,
    cutlass::gemm::GemmShape<32, 32, 32>, cutlass::gemm::GemmShape<16, 8, 16>,
    cutlass::epilogue::thread::LinearCombination<float, 4, float, float>,
    cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, 3>;

using ConvKernel = typename cutlass::conv::kernel::DefaultConv2dFprop<
    Half, NHWC, Half, NHWC, float, NHWC, float, cutlass::arch::OpClassTensorOp,
    cutlass::arch::Sm80, cutlass::gemm::GemmShape<64, 64, 32>,
    cutlass::gemm::GemmShape<32, 32, 32>, cutlass::gemm::GemmShape<16, 8, 16>,
    cutlass::epilogue::thread::LinearCombination<float, 4, float, float>,
    cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<>, 3,
    cutlass::arch::OpMultiplyAdd,
    cutlass::conv::IteratorAlgorithm::kOptimized>::Kernel;
using Conv = cutlass::conv::device::ImplicitGemmConvolution<ConvKernel>;

template __global__ void
    cutlass::Kernel<Gemm::GemmKernel>(Gemm::GemmKernel::Params);
template __global__ void cutlass::Kernel<ConvKernel>(ConvKernel::Params);

static void print(const char *name, dim3 grid, int threads, size_t shared,
                  const void *params, size_t bytes) {
  printf("%s %u %u %u %d %zu ", name, grid.x, grid.y, grid.z, threads, shared);
  for (size_t n = 0; n < bytes; ++n)
    printf("%02x", ((const unsigned char *)params)[n]);
  printf("\n");
}

/// cutlass M N K A B C, or cutlass conv N H W C K A B C, with addresses.
int main(int argc, char **argv) {
  auto number = [&](int n) { return strtoull(argv[n], nullptr, 0); };
  if (argc == 7) {
    int m = number(1), n = number(2), k = number(3);
    cutlass::gemm::GemmCoord size(m, n, k);
    typename Gemm::ThreadblockSwizzle swizzle;
    cutlass::gemm::GemmCoord tiles =
        swizzle.get_tiled_shape(size, {64, 64, 32}, 1);
    Gemm::GemmKernel::Params params(
        size, tiles, {(Half *)number(4), k}, {(Half *)number(5), k},
        {(float *)number(6), n}, {(float *)number(6), n}, {1.0f, 0.0f});
    print("gemm", swizzle.get_grid_shape(tiles), Gemm::GemmKernel::kThreadCount,
          sizeof(Gemm::GemmKernel::SharedStorage), &params, sizeof params);
    return 0;
  }
  int n = number(2), h = number(3), w = number(4), c = number(5), k = number(6);
  cutlass::conv::Conv2dProblemSize problem(
      {n, h, w, c}, {k, 3, 3, c}, {1, 1, 1, 1}, {1, 1}, {1, 1},
      cutlass::conv::Mode::kCrossCorrelation, 1);
  typename Conv::Arguments args(
      problem, {(Half *)number(7), NHWC::packed({n, h, w, c})},
      {(Half *)number(8), NHWC::packed({k, 3, 3, c})},
      {(float *)number(9), NHWC::packed({n, h, w, k})},
      {(float *)number(9), NHWC::packed({n, h, w, k})}, {1.0f, 0.0f});
  ConvKernel::Params params(args, nullptr);
  typename ConvKernel::ThreadblockSwizzle swizzle;
  print("conv", swizzle.get_grid_shape(params.grid_tiled_shape),
        ConvKernel::kThreadCount, sizeof(typename ConvKernel::SharedStorage),
        &params, sizeof params);
}
