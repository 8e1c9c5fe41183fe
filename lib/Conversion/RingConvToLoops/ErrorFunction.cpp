// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The error function of f32, which has no instruction: a call for each element
// would take as long as a convolution. Upstream's rational approximation (within
// 2.1e-7 of the value) goes by vectors. All of a function's take it, in vectors and beside them,
// so that results do not depend on where a cut falls.
#include "Loops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Math/Transforms/Approximation.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

using namespace mlir;

void ringconv::expandErrorFunctions(Operation *root) {
  // The approximation of NaN is 1.
  root->walk([](math::ErfOp op) {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return;
    OpBuilder b(op->getContext());
    b.setInsertionPointAfter(op);
    Value x = op.getOperand();
    Value isNaN = arith::CmpFOp::create(b, op.getLoc(), arith::CmpFPredicate::UNO, x, x);
    Value result = arith::SelectOp::create(b, op.getLoc(), isNaN, x, op);
    op.getResult().replaceAllUsesExcept(result, result.getDefiningOp());
  });
  RewritePatternSet patterns(root->getContext());
  patterns.add<math::ErfPolynomialApproximation>(root->getContext());
  walkAndApplyPatterns(root, std::move(patterns));
}
