// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations other than ours that become kernels.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_OPERATIONS_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_OPERATIONS_H

#include "Kernels.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace ringconv {

/// Each replaces the operation by a kernel and its launch.
mlir::LogicalResult makeKernel(mlir::linalg::LinalgOp op, KernelModule &kernels);
void makeKernel(mlir::memref::CopyOp op, KernelModule &kernels);
/// A store of host code: one thread.
void makeKernel(mlir::memref::StoreOp op, KernelModule &kernels);

/// Threads of a block of the kernel for boxes.
inline constexpr int32_t kBoxThreads = 256;
/// Adds `ringconv_boxes`, which the runtime launches.
void makeBoxKernel(KernelModule &kernels);

} // namespace ringconv

#endif
