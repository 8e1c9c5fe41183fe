// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic of the host on sizes and strides, folded where they are static.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_HOSTNUMBERS_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_HOSTNUMBERS_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace ringconv {

struct HostNumbers {
  using Number = mlir::OpFoldResult;

  mlir::OpBuilder &b;
  mlir::Location loc;

  Number constant(int64_t v) { return b.getIndexAttr(v); }
  Number add(Number x, Number y) { return make<mlir::arith::AddIOp>(x, y); }
  Number add(Number x, int64_t y) { return add(x, constant(y)); }
  Number sub(Number x, Number y) { return make<mlir::arith::SubIOp>(x, y); }
  Number mul(Number x, Number y) { return make<mlir::arith::MulIOp>(x, y); }
  Number mul(Number x, int64_t y) { return mul(x, constant(y)); }
  Number min(Number x, Number y) { return make<mlir::arith::MinSIOp>(x, y); }
  Number max(Number x, Number y) { return make<mlir::arith::MaxSIOp>(x, y); }
  /// Rounded down (up), for any sign of x and y > 0.
  Number floorDiv(Number x, int64_t y) { return make<mlir::arith::FloorDivSIOp>(x, constant(y)); }
  Number ceilDiv(Number x, int64_t y) { return make<mlir::arith::CeilDivSIOp>(x, constant(y)); }
  /// x - y * floorDiv(x, y).
  Number modulo(Number x, int64_t y) { return sub(x, mul(floorDiv(x, y), y)); }

private:
  template <typename OpTy> Number make(Number x, Number y) {
    mlir::Value v = b.createOrFold<OpTy>(loc, mlir::getValueOrCreateConstantIndexOp(b, loc, x),
                                         mlir::getValueOrCreateConstantIndexOp(b, loc, y));
    if (std::optional<int64_t> known = mlir::getConstantIntValue(v))
      return constant(*known);
    return v;
  }
};

} // namespace ringconv

#endif
