// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a gpu.module in NVVM to what GPUs load.
#ifndef RINGCONV_LIB_TARGET_KERNELS_H
#define RINGCONV_LIB_TARGET_KERNELS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <optional>
#include <string>

namespace ringconv {

/// PTX of the kernels for sm_`arch`, readable and complete: it calls nothing
/// that it does not hold. Errors are diagnostics of the module.
mlir::FailureOr<std::string> emitPTX(mlir::gpu::GPUModuleOp kernels, int64_t arch);

/// Whether `arch` is one that kernels can be made for.
bool isKnownArch(int64_t arch);

/// The ptxas to use: RINGCONV_PTXAS, the PATH's, or CUDA's usual place; empty if
/// there is none.
std::string findPtxas();
/// Machine code of PTX by ptxas; on failure nothing, and `why` says so.
std::optional<std::string> assemble(llvm::StringRef ptxas, llvm::StringRef ptx, int64_t arch, std::string &why);

} // namespace ringconv

#endif
