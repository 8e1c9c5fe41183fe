// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memrefs at bare pointers, as one cast that `ringconv-lower-buffer-casts`
// turns into a descriptor.
#ifndef RINGCONV_LIB_CONVERSION_COMMON_BUFFERCASTS_H
#define RINGCONV_LIB_CONVERSION_COMMON_BUFFERCASTS_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace ringconv {

/// A memref with offset 0. `parts`: the pointer to its first element, an index
/// for each dynamic size, then one for each dynamic stride.
mlir::Value bufferAt(mlir::OpBuilder &b, mlir::Location loc, mlir::MemRefType type, mlir::ValueRange parts);

/// The address of a memref's first element as `!llvm.ptr`: the other way.
mlir::Value pointerOf(mlir::OpBuilder &b, mlir::Location loc, mlir::Value memref);

/// Bytes from one element to the next, as the LLVM dialect lays memrefs out.
int64_t elementBytes(mlir::Type type);

} // namespace ringconv

#endif
