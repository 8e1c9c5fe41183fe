// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_DIALECT_RINGCONV_TRANSFORMS_PASSES_H
#define RINGCONV_DIALECT_RINGCONV_TRANSFORMS_PASSES_H

#include "mlir/Pass/Pass.h"
#include <memory>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
namespace func {
class FuncOp;
} // namespace func
} // namespace mlir

namespace ringconv {

#define GEN_PASS_DECL
#include "ringconv/Dialect/RingConv/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "ringconv/Dialect/RingConv/Transforms/Passes.h.inc"

} // namespace ringconv

#endif
