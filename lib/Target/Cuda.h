// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the target cuda needs of a compilation; part of builds with
// RINGCONV_ENABLE_CUDA.
#ifndef RINGCONV_LIB_TARGET_CUDA_H
#define RINGCONV_LIB_TARGET_CUDA_H

#include "ProgramDescriptor.h"
#include "ringconv/Target/Compiler.h"

namespace ringconv {

/// A partitioned module to the LLVM dialect; images of its kernels, and what the
/// runtime must know of them, go to `info`. Errors are diagnostics.
mlir::LogicalResult lowerForCuda(mlir::ModuleOp local, const CompileOptions &options, ProgramInfo &info);

} // namespace ringconv

#endif
