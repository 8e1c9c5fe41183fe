// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_LIB_DIALECT_WINDOWTEXT_H
#define RINGCONV_LIB_DIALECT_WINDOWTEXT_H

#include "ringconv/Dialect/RingConv/IR/RingConv.h"

namespace ringconv {

/// The window words by spatial number, all filled in.
struct WindowWords {
  llvm::SmallVector<int64_t> size, stride, padLow, padHigh, lhsDilate, rhsDilate, border;
  llvm::SmallVector<bool> reverse;
};

/// `[b, f, 0, 1]`; `first` and `second` are the letters for -1 and -2.
mlir::ParseResult parseDims(mlir::OpAsmParser &parser, mlir::DenseI64ArrayAttr &dims, llvm::StringRef first,
                            llvm::StringRef second);
void printDims(mlir::OpAsmPrinter &printer, llvm::ArrayRef<int64_t> dims, llvm::StringRef first,
               llvm::StringRef second);

/// An optional `window {...}`; words left out get their neutral value for
/// `spatial` dimensions. Only pools know `size`.
mlir::ParseResult parseWindow(mlir::OpAsmParser &parser, WindowWords &words, int64_t spatial, bool pool);
void printWindow(mlir::OpAsmPrinter &printer, const WindowWords &words, bool pool);

/// Errors of dimension numbers (conv_c1, pool_c1) and window words (conv_c2,
/// pool_c2), with the label given.
mlir::LogicalResult verifyDims(mlir::Operation *op, llvm::StringRef label, llvm::StringRef tensor,
                               llvm::ArrayRef<int64_t> dims, int64_t rank, int64_t spatial, bool lettersOptional);
mlir::LogicalResult verifyWords(mlir::Operation *op, llvm::StringRef label, const WindowWords &words,
                                int64_t spatial);

} // namespace ringconv

#endif
