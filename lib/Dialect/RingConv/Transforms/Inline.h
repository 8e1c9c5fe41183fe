// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_LIB_TRANSFORMS_INLINE_H
#define RINGCONV_LIB_TRANSFORMS_INLINE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ringconv {

/// Replaces calls by the bodies of their callees; annotations of the callee
/// become ringconv.reshard around the body. Private functions are then erased.
/// Recursion and bodies of several blocks are errors.
mlir::LogicalResult inlinePrivateFunctions(mlir::ModuleOp module);
/// The same for the calls of one function, which stay where others call.
mlir::LogicalResult inlineCallsOf(mlir::func::FuncOp func);

} // namespace ringconv

#endif
