// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Derivatives of arith and math, read as: the gradient of an operand is that of
// the result times ... The same lines serve scalars and, elementwise, tensors.
#include "Differentiate.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;
using namespace ringconv;

namespace {
/// Arithmetic on values of one type, scalar or tensor.
struct Term {
  OpBuilder &b;
  Location loc;

  Value constant(Value like, double v) { return makeConstant(b, loc, like.getType(), v); }
  Value mul(Value x, Value y) { return arith::MulFOp::create(b, loc, x, y); }
  Value mul(double x, Value y) { return mul(constant(y, x), y); }
  Value div(Value x, Value y) { return arith::DivFOp::create(b, loc, x, y); }
  Value add(Value x, Value y) { return arith::AddFOp::create(b, loc, x, y); }
  Value add(double x, Value y) { return add(constant(y, x), y); }
  Value sub(Value x, Value y) { return arith::SubFOp::create(b, loc, x, y); }
  Value sub(double x, Value y) { return sub(constant(y, x), y); }
  Value neg(Value x) { return arith::NegFOp::create(b, loc, x); }
  template <typename OpTy> Value apply(Value x) { return OpTy::create(b, loc, x); }
  Value power(Value x, Value y) { return math::PowFOp::create(b, loc, x, y); }
  Value compare(arith::CmpFPredicate p, Value x, Value y) { return arith::CmpFOp::create(b, loc, p, x, y); }
  /// x where the condition holds, else 0.
  Value where(Value condition, Value x) { return arith::SelectOp::create(b, loc, condition, x, constant(x, 0)); }
  Value whereNot(Value condition, Value x) { return arith::SelectOp::create(b, loc, condition, constant(x, 0), x); }
  Value square(Value x) { return mul(x, x); }
};
} // namespace

/// y = larger or smaller of both. The operand that is differentiated counts only
/// where it beats the other; where both are, the first counts in a tie.
static void pullBackExtremum(Operation *op, Value dy, Gradients &g, Term t, arith::CmpFPredicate beats) {
  Value x = op->getOperand(0), z = op->getOperand(1), y = op->getResult(0);
  if (g.wants(x) && g.wants(z)) {
    Value second = t.compare(beats, z, x);
    g.add(x, t.whereNot(second, dy));
    g.add(z, t.where(second, dy));
    return;
  }
  // The result tells as much as the operand, which need not be kept.
  if (g.wants(x))
    g.add(x, t.where(t.compare(beats, y, z), dy));
  if (g.wants(z))
    g.add(z, t.where(t.compare(beats, y, x), dy));
}

/// Of two operands or more.
static bool pullBackArith(Operation *op, Value dy, Gradients &g, Term t) {
  auto x = [&](unsigned i) { return op->getOperand(i); };
  auto put = [&](unsigned i, llvm::function_ref<Value()> gradient) {
    if (g.wants(x(i)))
      g.add(x(i), gradient());
  };
  Value y = op->getResult(0);
  return TypeSwitch<Operation *, bool>(op)
      .Case([&](arith::AddFOp) { return put(0, [&] { return dy; }), put(1, [&] { return dy; }), true; })
      .Case([&](arith::SubFOp) { return put(0, [&] { return dy; }), put(1, [&] { return t.neg(dy); }), true; })
      .Case([&](arith::MulFOp) {
        put(0, [&] { return t.mul(dy, x(1)); });
        put(1, [&] { return t.mul(dy, x(0)); });
        return true;
      })
      .Case([&](arith::DivFOp) {
        put(0, [&] { return t.div(dy, x(1)); });
        put(1, [&] { return t.neg(t.mul(dy, t.div(y, x(1)))); });
        return true;
      })
      .Case([&](math::FmaOp) {
        put(0, [&] { return t.mul(dy, x(1)); });
        put(1, [&] { return t.mul(dy, x(0)); });
        put(2, [&] { return dy; });
        return true;
      })
      .Case([&](math::PowFOp) {
        put(0, [&] { return t.mul(dy, t.mul(x(1), t.power(x(0), t.add(-1.0, x(1))))); });
        put(1, [&] { return t.mul(dy, t.mul(y, t.apply<math::LogOp>(x(0)))); });
        return true;
      })
      .Case([&](arith::SelectOp select) {
        put(1, [&] { return t.where(select.getCondition(), dy); });
        put(2, [&] { return t.whereNot(select.getCondition(), dy); });
        return true;
      })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>(
          [&](auto) { return pullBackExtremum(op, dy, g, t, arith::CmpFPredicate::OGT), true; })
      .Case<arith::MinimumFOp, arith::MinNumFOp>(
          [&](auto) { return pullBackExtremum(op, dy, g, t, arith::CmpFPredicate::OLT), true; })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) {
        put(0, [&] { return convertTo(t.b, t.loc, dy, getElementTypeOrSelf(x(0).getType())); });
        return true;
      })
      .Default([](Operation *) { return false; });
}

/// dy/dx of a function of one number, by x and y.
static Value derivative(Operation *op, Value x, Value y, Term t) {
  using namespace math;
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](ExpOp) { return y; })
      .Case([&](Exp2Op) { return t.mul(llvm::numbers::ln2, y); })
      .Case([&](ExpM1Op) { return t.add(1, y); })
      .Case([&](LogOp) { return t.div(t.constant(x, 1), x); })
      .Case([&](Log1pOp) { return t.div(t.constant(x, 1), t.add(1, x)); })
      .Case([&](Log2Op) { return t.div(t.constant(x, 1 / llvm::numbers::ln2), x); })
      .Case([&](Log10Op) { return t.div(t.constant(x, 1 / llvm::numbers::ln10), x); })
      .Case([&](SqrtOp) { return t.div(t.constant(x, 0.5), y); })
      .Case([&](RsqrtOp) { return t.mul(-0.5, t.mul(y, t.square(y))); })
      .Case([&](CbrtOp) { return t.div(t.constant(x, 1.0 / 3), t.square(y)); })
      .Case([&](SinOp) { return t.apply<CosOp>(x); })
      .Case([&](CosOp) { return t.neg(t.apply<SinOp>(x)); })
      .Case([&](TanOp) { return t.add(1, t.square(y)); })
      .Case([&](AsinOp) { return t.apply<RsqrtOp>(t.sub(1, t.square(x))); })
      .Case([&](AcosOp) { return t.neg(t.apply<RsqrtOp>(t.sub(1, t.square(x)))); })
      .Case([&](AtanOp) { return t.div(t.constant(x, 1), t.add(1, t.square(x))); })
      .Case([&](SinhOp) { return t.apply<CoshOp>(x); })
      .Case([&](CoshOp) { return t.apply<SinhOp>(x); })
      .Case([&](TanhOp) { return t.sub(1, t.square(y)); })
      .Case([&](ErfOp) { return t.mul(2 / std::sqrt(llvm::numbers::pi), t.apply<ExpOp>(t.neg(t.square(x)))); })
      .Default([](Operation *) { return Value(); });
}

/// Piecewise constant: nothing flows back.
static bool isFlat(Operation *op) {
  return isa<math::CeilOp, math::FloorOp, math::RoundOp, math::RoundEvenOp, math::TruncOp>(op);
}

LogicalResult ringconv::pullBackScalar(Operation *op, Value dy, Gradients &g) {
  Term t{g.b, g.loc};
  if (isFlat(op) || pullBackArith(op, dy, g, t))
    return success();
  if (op->getNumOperands() != 1)
    return noRule(op, "it is no operation that ringconv-differentiate knows");
  Value x = op->getOperand(0);
  if (isa<arith::NegFOp>(op))
    return g.add(x, t.neg(dy)), success();
  if (isa<math::AbsFOp>(op)) {
    Value zero = t.constant(x, 0);
    Value rising = t.where(t.compare(arith::CmpFPredicate::OGT, x, zero), dy);
    Value falling = t.where(t.compare(arith::CmpFPredicate::OLT, x, zero), dy);
    return g.add(x, t.sub(rising, falling)), success();
  }
  Value slope = derivative(op, x, op->getResult(0), t);
  if (!slope)
    return noRule(op, "it is no operation that ringconv-differentiate knows");
  return g.add(x, t.mul(dy, slope)), success();
}
