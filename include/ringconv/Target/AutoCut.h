// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_TARGET_AUTOCUT_H
#define RINGCONV_TARGET_AUTOCUT_H

#include "ringconv/Target/Compiler.h"

namespace ringconv {

/// Cuts the largest input of the entry that is no parameter over the axes of the
/// mesh so that a run is predicted to take least on a system of ringconv/Cost/Cost.h
/// (none named: cores). Every assignment of
/// axes to dimensions is partitioned and priced, and none of them; what else is
/// annotated stays. A remark says the choice, the alternatives and their seconds.
/// Fails with a diagnostic where there is no such system, no mesh, no such input, no cut that can be
/// partitioned, or more than 256 of them.
mlir::LogicalResult chooseCut(mlir::ModuleOp module, const CompileOptions &options, llvm::StringRef system);

} // namespace ringconv

#endif
