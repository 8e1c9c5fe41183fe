// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the operations with window words share.
#ifndef RINGCONV_LIB_DIALECT_WINDOWOPS_H
#define RINGCONV_LIB_DIALECT_WINDOWOPS_H

#include "WindowText.h"

namespace ringconv {

/// The window words of an operation.
template <typename OpTy> WindowWords wordsOf(OpTy op) {
  WindowWords words;
  words.stride.assign(op.getStride().begin(), op.getStride().end());
  words.padLow.assign(op.getPadLow().begin(), op.getPadLow().end());
  words.padHigh.assign(op.getPadHigh().begin(), op.getPadHigh().end());
  words.lhsDilate.assign(op.getLhsDilate().begin(), op.getLhsDilate().end());
  words.rhsDilate.assign(op.getRhsDilate().begin(), op.getRhsDilate().end());
  words.reverse.assign(op.getReverse().begin(), op.getReverse().end());
  words.border.assign(op.getBorder().begin(), op.getBorder().end());
  return words;
}

llvm::SmallVector<halo::Window> makeWindows(llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> stride,
                                            llvm::ArrayRef<int64_t> padLow, llvm::ArrayRef<int64_t> padHigh,
                                            llvm::ArrayRef<int64_t> lhsDilate, llvm::ArrayRef<int64_t> rhsDilate,
                                            llvm::ArrayRef<int64_t> border);

/// Checks the windows against the input's sizes (conv_c10, conv_c11 and their
/// twins of pools), and gives the result's spatial sizes.
mlir::FailureOr<llvm::SmallVector<int64_t>> windowSizes(mlir::Operation *op, llvm::ArrayRef<halo::Window> windows,
                                                        llvm::ArrayRef<int64_t> inputDims,
                                                        llvm::ArrayRef<int64_t> shape, llvm::StringRef emptyLabel,
                                                        llvm::StringRef borderLabel);

/// Error `label` where the result's type has not the inferred shape.
mlir::LogicalResult verifyShape(mlir::Operation *op, llvm::StringRef label, llvm::ArrayRef<int64_t> inferred,
                                mlir::RankedTensorType type);

/// The numbers of a mixed list, kDynamic where a scalar stands; the scalars of
/// several lists follow one another in the order offset, begin, end.
mlir::DenseI64ArrayAttr mixedNumbers(mlir::Builder &b, llvm::ArrayRef<mlir::OpFoldResult> values,
                                     llvm::SmallVectorImpl<mlir::Value> &scalars);

} // namespace ringconv

#endif
