// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementary functions of f64 as arithmetic with fused multiply-adds. Errors are
// a few units in the last place (docs/cuda.md has them), except that sin, cos
// and tan of arguments from 2^45 on are NaN, and pow is relative to the
// magnitude of its exponent.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_F64MATH_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_F64MATH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace ringconv {

class F64Math {
public:
  using Value = mlir::Value;
  F64Math(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  Value exp(Value x);
  Value exp2(Value x);
  Value expm1(Value x);
  Value log(Value x);
  Value log2(Value x);
  Value log10(Value x) { return mul(log(x), 0.43429448190325182765); }
  Value log1p(Value x);
  Value sin(Value x) { return sinOrCos(x, 0); }
  Value cos(Value x) { return sinOrCos(x, 1); }
  Value tan(Value x) { return div(sin(x), cos(x)); }
  Value sinh(Value x);
  Value cosh(Value x);
  Value tanh(Value x);
  Value asinh(Value x);
  Value acosh(Value x);
  Value atanh(Value x);
  Value asin(Value x);
  Value acos(Value x);
  Value atan(Value x);
  Value atan2(Value y, Value x);
  Value erf(Value x);
  Value erfc(Value x);
  Value cbrt(Value x);
  Value pow(Value x, Value y);

private:
  Value constant(double v);
  Value integer(int64_t v);
  Value add(Value x, Value y);
  Value add(Value x, double y) { return add(x, constant(y)); }
  Value sub(Value x, Value y);
  Value mul(Value x, Value y);
  Value mul(Value x, double y) { return mul(x, constant(y)); }
  Value div(Value x, Value y);
  Value fma(Value x, Value y, Value z);
  Value fma(Value x, double y, Value z) { return fma(x, constant(y), z); }
  Value neg(Value x);
  Value abs(Value x);
  Value sqrt(Value x);
  Value round(Value x);
  Value copySign(Value x, Value sign);
  Value select(Value condition, Value yes, Value no);
  Value compare(mlir::arith::CmpFPredicate p, Value x, Value y);
  Value less(Value x, double y) { return compare(mlir::arith::CmpFPredicate::OLT, x, constant(y)); }
  Value greater(Value x, double y) { return compare(mlir::arith::CmpFPredicate::OGT, x, constant(y)); }
  Value equal(Value x, double y) { return compare(mlir::arith::CmpFPredicate::OEQ, x, constant(y)); }
  Value isNaN(Value x) { return compare(mlir::arith::CmpFPredicate::UNO, x, x); }
  Value bitsOf(Value x);
  Value fromBits(Value bits);
  Value toInteger(Value x);
  Value toReal(Value i);
  /// Horner's rule, highest coefficient first.
  Value polynomial(Value x, llvm::ArrayRef<double> coefficients);
  Value scale(Value x, Value exponent);
  Value expOfReduced(Value r, Value k, Value x, double highest, double lowest);
  /// x = 2^k (1 + f), f around 0.
  void split(Value x, Value &k, Value &f);
  Value logOf1p(Value f, Value kHigh, Value kLow);
  Value logSpecial(Value x, Value value);
  Value sinOrCos(Value x, int64_t quarter);
  Value erfcOfLarge(Value a);

  mlir::OpBuilder &b;
  mlir::Location loc;
};

} // namespace ringconv

#endif
