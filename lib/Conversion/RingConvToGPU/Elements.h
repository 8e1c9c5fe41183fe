// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels with one thread per element.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_ELEMENTS_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_ELEMENTS_H

#include "../RingConvToLoops/LoopBuilder.h"
#include "Kernels.h"

namespace ringconv {

/// Threads of a block.
inline constexpr int64_t kThreads = 256;

/// Builds the body of the kernel's thread, which gets the coordinates of its
/// element.
using ElementBody = llvm::function_ref<void(Loops &l, llvm::ArrayRef<mlir::Value> index)>;

/// Launches the kernel with one thread for each point of a box of `sizes`: in
/// row-major order along blocks, so that neighbouring threads touch
/// neighbouring elements of the last dimension.
void forEachElement(KernelBuilder &kernel, llvm::ArrayRef<mlir::OpFoldResult> sizes, ElementBody body);
/// The same for the elements of a memref of the host.
void forEachElement(KernelBuilder &kernel, mlir::Value memref, ElementBody body);

/// For kernels with one block for each point of a box of `sizes`: the number of
/// blocks, on the host; the block's point, in the kernel.
mlir::OpFoldResult blockCount(KernelBuilder &kernel, llvm::ArrayRef<mlir::OpFoldResult> sizes);
llvm::SmallVector<mlir::Value> blockCoordinates(KernelBuilder &kernel, llvm::ArrayRef<mlir::OpFoldResult> sizes);

} // namespace ringconv

#endif
