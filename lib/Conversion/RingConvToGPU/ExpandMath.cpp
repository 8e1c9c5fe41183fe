// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-expand-math: elementary functions as arithmetic. What the hardware
// has (sqrt, fma, rounding, absolute values) stays. f32 has upstream's
// polynomials where they are good to a few units in the last place; all else
// is computed in f64.
#include "F64Math.h"
#include "ringconv/Conversion/Passes.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Approximation.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace ringconv {
#define GEN_PASS_DEF_EXPANDMATHPASS
#include "ringconv/Conversion/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

namespace {

/// `OpTy` on scalars narrower than f64 (except f32, if upstream has that) in f64.
template <typename OpTy, auto function> struct InF64 : OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &b) const override {
    auto type = dyn_cast<FloatType>(op.getType());
    if (!type)
      return b.notifyMatchFailure(op, "not a scalar");
    SmallVector<Value> args;
    for (Value operand : op->getOperands())
      args.push_back(type.isF64() ? operand
                                  : arith::ExtFOp::create(b, op.getLoc(), b.getF64Type(), operand).getResult());
    F64Math f(b, op.getLoc());
    Value value;
    if constexpr (std::is_same_v<decltype(function), Value (F64Math::*)(Value)>)
      value = (f.*function)(args[0]);
    else
      value = (f.*function)(args[0], args[1]);
    if (!type.isF64())
      value = arith::TruncFOp::create(b, op.getLoc(), type, value);
    b.replaceOp(op, value);
    return success();
  }
};

/// The same for f64 alone.
template <typename OpTy, auto function> struct OfF64 : InF64<OpTy, function> {
  using InF64<OpTy, function>::InF64;
  LogicalResult matchAndRewrite(OpTy op, PatternRewriter &b) const override {
    if (!op.getType().isF64())
      return b.notifyMatchFailure(op, "not f64");
    return InF64<OpTy, function>::matchAndRewrite(op, b);
  }
};

/// 1 / sqrt(x), which upstream would approximate.
struct RsqrtByDivision : OpRewritePattern<math::RsqrtOp> {
  using OpRewritePattern::OpRewritePattern;
  LogicalResult matchAndRewrite(math::RsqrtOp op, PatternRewriter &b) const override {
    auto type = dyn_cast<FloatType>(op.getType());
    if (!type)
      return b.notifyMatchFailure(op, "not a scalar");
    Value root = math::SqrtOp::create(b, op.getLoc(), op.getOperand());
    Value one = arith::ConstantOp::create(b, op.getLoc(), b.getFloatAttr(type, 1.0));
    b.replaceOpWithNewOp<arith::DivFOp>(op, one, root);
    return success();
  }
};

struct ExpandMathPass : ringconv::impl::ExpandMathPassBase<ExpandMathPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<
        OfF64<math::ExpOp, &F64Math::exp>, OfF64<math::ExpM1Op, &F64Math::expm1>, OfF64<math::LogOp, &F64Math::log>,
        OfF64<math::Log1pOp, &F64Math::log1p>, OfF64<math::TanhOp, &F64Math::tanh>, OfF64<math::ErfOp, &F64Math::erf>,
        InF64<math::Exp2Op, &F64Math::exp2>, InF64<math::Log2Op, &F64Math::log2>, InF64<math::Log10Op, &F64Math::log10>,
        InF64<math::SinOp, &F64Math::sin>, InF64<math::CosOp, &F64Math::cos>, InF64<math::TanOp, &F64Math::tan>,
        InF64<math::SinhOp, &F64Math::sinh>, InF64<math::CoshOp, &F64Math::cosh>, InF64<math::AsinhOp, &F64Math::asinh>,
        InF64<math::AcoshOp, &F64Math::acosh>, InF64<math::AtanhOp, &F64Math::atanh>,
        InF64<math::AsinOp, &F64Math::asin>, InF64<math::AcosOp, &F64Math::acos>, InF64<math::AtanOp, &F64Math::atan>,
        InF64<math::Atan2Op, &F64Math::atan2>, InF64<math::ErfcOp, &F64Math::erfc>, InF64<math::CbrtOp, &F64Math::cbrt>,
        InF64<math::PowFOp, &F64Math::pow>, RsqrtByDivision>(&getContext(), /*benefit=*/10);
    populateMathPolynomialApproximationPatterns(patterns, [](StringRef name) {
      return llvm::is_contained({"math.exp", "math.expm1", "math.log", "math.log1p", "math.tanh", "math.erf"}, name);
    });
    math::populateExpansionPatterns(patterns, {"fpowi", "ipowi", "round", "clampf"});
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
