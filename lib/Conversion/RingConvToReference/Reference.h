// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The definition of windows, as IR: shared by convolutions, pools and their gradients in
// ringconv-lower-reference.
#ifndef RINGCONV_LIB_CONVERSION_REFERENCE_H
#define RINGCONV_LIB_CONVERSION_REFERENCE_H

#include "ringconv/Dialect/RingConv/IR/RingConv.h"

namespace ringconv::reference {

/// The element of one dimension that a tap reads. It is in bounds only where
/// `reads` holds; null: always.
struct Tap {
  mlir::Value element, reads;
};
/// Tap `tap` (counted along the window) of output `out`, for a dimension of
/// `size` elements.
Tap makeTap(mlir::OpBuilder &b, mlir::Location loc, const halo::Window &window, int64_t size, mlir::Value out,
            mlir::Value tap);
/// The conjunction of what is not null; null for none.
mlir::Value allOf(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<Tap> taps);

/// f64 or i64: where sums of `type` are kept.
mlir::Type sumType(mlir::Type type);
/// A value of any element type as f64 or i64, exactly.
mlir::Value widen(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value);
/// f64 or i64 to `type`: one rounding to nearest even, integers wrap.
mlir::Value roundTo(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, mlir::Type type);

/// A tensor of `shape` whose elements are all `value`.
mlir::Value filled(mlir::OpBuilder &b, mlir::Location loc, llvm::ArrayRef<int64_t> shape, mlir::TypedAttr value);

mlir::Value lowerConv(mlir::OpBuilder &b, ConvOp op);
mlir::Value lowerPool(mlir::OpBuilder &b, PoolOp op);
mlir::Value lowerPoolGrad(mlir::OpBuilder &b, PoolGradOp op);
mlir::Value lowerFold(mlir::OpBuilder &b, FoldBorderOp op);

} // namespace ringconv::reference

#endif
