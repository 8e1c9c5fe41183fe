// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_CONVERSION_PASSES_H
#define RINGCONV_CONVERSION_PASSES_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace mlir {
class ModuleOp;
namespace gpu {
class GPUModuleOp;
} // namespace gpu
namespace func {
class FuncOp;
} // namespace func
} // namespace mlir

namespace ringconv {

#define GEN_PASS_DECL
#include "ringconv/Conversion/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ringconv/Conversion/Passes.h.inc"

} // namespace ringconv

#endif
