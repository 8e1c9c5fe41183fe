// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrix fragments of a warp and their product, for 16-bit floats.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_TENSORCORE_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_TENSORCORE_H

#include "KernelCode.h"

namespace ringconv {

/// Four 8x8 matrices from shared memory; lane l gives the address of row l % 8 of
/// matrix l / 8. As vector<4x2xT>.
mlir::Value loadMatrices(KernelCode &k, mlir::Value memory, mlir::Value address, bool transpose);

/// Matrices `first` and `first` + 1 of four, as vector<2x2xT>: the right operand
/// of one product.
mlir::Value pairOf(KernelCode &k, mlir::Value four, int64_t first);

/// 16x8 accumulators in f32, as vector<2x2xf32>: + (16x16) * (16x8).
mlir::Value multiplyAccumulate(KernelCode &k, mlir::Value left, mlir::Value right, mlir::Value sums);

} // namespace ringconv

#endif
