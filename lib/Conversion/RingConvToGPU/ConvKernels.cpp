// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which family of kernels does a convolution.
#include "Kernels.h"

using namespace mlir;
using namespace ringconv;

FailureOr<std::string> ringconv::selectConvKernel(LocalConvOp op, KernelModule &kernels, const GPUOptions &options) {
  return failure();
}
