// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structured linalg: loops that maps read as they are can be cut; of reductions
// those whose partial results can be combined.
#include "Upstream.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace ringconv;

/// The operation that yields result `i` from what came so far and something that
/// this has no part in; null if there is more between them.
static Operation *combinerOf(linalg::LinalgOp op, unsigned i) {
  Operation *last = op.getBlock()->getTerminator()->getOperand(i).getDefiningOp();
  BlockArgument sofar = op.getRegionOutputArgs()[i];
  return last && sofar.hasOneUse() && llvm::is_contained(last->getOperands(), sofar) ? last : nullptr;
}

static bool isSum(linalg::LinalgOp op) {
  for (unsigned i = 0; i < op.getNumDpsInits(); ++i)
    if (!isa_and_present<arith::AddFOp, arith::AddIOp>(combinerOf(op, i)))
      return false;
  return op.getNumDpsInits() > 0;
}

Operation *upstream::idempotentCombiner(Operation *op) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || linalgOp.getNumDpsInits() != 1)
    return nullptr;
  Operation *last = combinerOf(linalgOp, 0);
  return isa_and_present<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp, arith::MaxSIOp,
                         arith::MinSIOp, arith::MaxUIOp, arith::MinUIOp, arith::AndIOp, arith::OrIOp>(last)
             ? last
             : nullptr;
}

static bool startsFromZero(Value init) {
  auto fill = init.getDefiningOp<linalg::FillOp>();
  if (fill)
    return matchPattern(fill.getInputs()[0], m_AnyZeroFloat()) || matchPattern(fill.getInputs()[0], m_Zero());
  return matchPattern(init, m_AnyZeroFloat()) || matchPattern(init, m_Zero());
}

/// Whether ranks may each reduce a part: sums from a neutral start, and what does
/// not mind being combined twice. Partial sums travel in the accumulation type,
/// which the operation has no form for if its result is narrower.
static bool splitsReductions(linalg::LinalgOp op) {
  if (upstream::idempotentCombiner(op))
    return true;
  return isSum(op) && llvm::all_of(op.getDpsInits(), [](Value init) {
           Type element = getElementTypeOrSelf(init.getType());
           return startsFromZero(init) && accumulationType(element) == element;
         });
}

/// Loop dimensions that every map reads as they are; a dimension inside an
/// expression, or one that linalg.index asks for, is not cut.
FailureOr<upstream::Factors> upstream::linalgFactors(linalg::LinalgOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  SmallVector<bool> fixed(op.getNumLoops(), false);
  op.getBlock()->walk([&](linalg::IndexOp index) { fixed[index.getDim()] = true; });
  for (AffineMap map : maps)
    for (AffineExpr expr : map.getResults())
      if (!isa<AffineDimExpr>(expr))
        expr.walk([&](AffineExpr e) {
          if (auto dim = dyn_cast<AffineDimExpr>(e))
            fixed[dim.getPosition()] = true;
        });
  bool splits = splitsReductions(op);
  Factors factors;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop) {
    bool reduction = iterators[loop] == utils::IteratorType::reduction;
    if (fixed[loop] || ShapedType::isDynamic(sizes[loop]) || (reduction && !splits))
      continue;
    SmallVector<int64_t> operands, results;
    for (OpOperand &operand : op->getOpOperands()) {
      AffineMap map = op.getMatchingIndexingMap(&operand);
      auto dim = map.getResultPosition(getAffineDimExpr(loop, op->getContext()));
      bool tensor = isa<RankedTensorType>(operand.get().getType());
      operands.push_back(tensor && dim ? int64_t(*dim) : -1);
      if (op.isDpsInit(&operand))
        results.push_back(operands.back());
    }
    factors.push_back(Factor(sizes[loop], reduction, operands, results));
  }
  return factors;
}
