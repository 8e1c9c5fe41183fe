// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_LIB_TRANSFORMS_ENTRIES_H
#define RINGCONV_LIB_TRANSFORMS_ENTRIES_H

#include "Decision.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ringconv {

/// The start of passes that ask for shardings: private functions are inlined, a
/// mesh of one rank is made where there is none; then `visit` is called for each
/// public function. Errors at what can have no shardings: external functions,
/// several blocks, dynamic shapes.
mlir::LogicalResult forEachEntry(mlir::ModuleOp module,
                                 llvm::function_ref<mlir::LogicalResult(mlir::func::FuncOp, const MeshContext &)> visit);

} // namespace ringconv

#endif
