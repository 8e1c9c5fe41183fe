// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers that differ by rank, as code.
#ifndef RINGCONV_LIB_CONVERSION_COMMON_LOOKUP_H
#define RINGCONV_LIB_CONVERSION_COMMON_LOOKUP_H

#include "ringconv/Dialect/RingConv/IR/RingConv.h"

namespace ringconv {

/// The value of `table` for `part`, an index. Few runs: a chain of selects.
/// Many: a private constant of the module around `b`'s insertion point.
mlir::Value lowerLookup(mlir::OpBuilder &b, mlir::Location loc, mlir::Value part, TableAttr table);

} // namespace ringconv

#endif
