// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-expand-math: elementary functions as arithmetic. What the hardware
// has (sqrt, fma, rounding, absolute values) stays.
#include "ringconv/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
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
struct ExpandMathPass : ringconv::impl::ExpandMathPassBase<ExpandMathPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    // f16 and bf16 by f32.
    populateMathPolynomialApproximationPatterns(patterns);
    math::populateExpansionPatterns(patterns, {"sinh", "cosh", "tan", "tanh", "asinh", "acosh", "atanh", "powf", "exp2",
                                               "rsqrt", "round", "fpowi", "ipowi", "ctlz", "clampf"});
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};
} // namespace
