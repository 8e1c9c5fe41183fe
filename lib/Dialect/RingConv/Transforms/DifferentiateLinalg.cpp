// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structured operations: matrix products, broadcasts, transposes, sums and
// elementwise bodies are one rule. With loops l, maps m and a body f,
//
//   y[m_y(l)] += f(x_1[m_1(l)], ..., x_n[m_n(l)])
//
//   dx_k[m_k(l)] += dy[m_y(l)] f_k(x_1[m_1(l)], ..., x_n[m_n(l)])
//
// where f_k is the derivative by the k-th argument, found in the body by the
// same rules as anywhere: loops that m_k does not name become reductions.
#include "Differentiate.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace ringconv;
using utils::IteratorType;

namespace {
/// The adjoint of one structured operation.
class Adjoint {
public:
  Adjoint(linalg::LinalgOp op, Gradients &gradients) : op(op), gradients(gradients) {}

  LogicalResult run();

private:
  LogicalResult check();
  LogicalResult checkOperand(OpOperand &operand);
  LogicalResult makeGradient(OpOperand &operand);
  FailureOr<Value> derive(OpBuilder &b, OpOperand &operand, ValueRange args, ArrayRef<unsigned> flowing);

  /// The operation that adds to the sum so far, if the body ends in one.
  Operation *accumulation() {
    Operation *last = op.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
    BlockArgument sum = op.getRegionOutputArgs()[0];
    bool adds = last && isa<arith::AddFOp>(last) && sum.hasOneUse() && llvm::is_contained(last->getOperands(), sum);
    return adds ? last : nullptr;
  }
  bool isReduction() { return op.getNumReductionLoops() != 0; }

  linalg::LinalgOp op;
  Gradients &gradients;
};
} // namespace

LogicalResult Adjoint::check() {
  if (!op.hasPureTensorSemantics())
    return noRule(op, "it has memrefs");
  if (op.getNumParallelLoops() + op.getNumReductionLoops() != op.getNumLoops())
    return noRule(op, "its loops are not all parallel or reductions");
  if (isReduction() && (op.getNumDpsInits() != 1 || !accumulation()))
    return noRule(op, "its reduction is no sum");
  WalkResult captured = op.getBlock()->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (gradients.wants(operand))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return captured.wasInterrupted() ? noRule(op, "its body reads a value from outside that has a gradient") : success();
}

/// Gradients are written through the operand's map: it names some loops, each
/// once and alone.
LogicalResult Adjoint::checkOperand(OpOperand &operand) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (map.isProjectedPermutation())
    return success();
  return noRule(op, "operand " + Twine(operand.getOperandNumber()) + " is not read element by element of some loops");
}

/// d(yields)/d(operand) times the gradients that come last in `args`; null where
/// the operand has no part in them.
FailureOr<Value> Adjoint::derive(OpBuilder &b, OpOperand &operand, ValueRange args, ArrayRef<unsigned> flowing) {
  Block *old = op.getBlock();
  IRMapping map;
  for (auto [from, to] : llvm::zip(old->getArguments(), args))
    map.map(from, to);
  Block *block = b.getInsertionBlock();
  for (Operation &inner : old->without_terminator())
    b.clone(inner, map);
  Value source = args[op.getMatchingBlockArgument(&operand).getArgNumber()];
  Gradients local(b, op.getLoc());
  local.follow(*block, source);
  size_t first = old->getNumArguments();
  for (auto [i, result] : llvm::enumerate(flowing)) {
    Value yielded = old->getTerminator()->getOperand(result);
    // A sum hands its gradient on to what it adds.
    if (isReduction()) {
      Operation *add = accumulation();
      yielded = add->getOperand(add->getOperand(0) == op.getRegionOutputArgs()[0] ? 1 : 0);
    }
    local.add(map.lookupOrDefault(yielded), args[first + i]);
  }
  if (failed(local.run(*block)))
    return failure();
  return local.of(source);
}

LogicalResult Adjoint::makeGradient(OpOperand &operand) {
  OpBuilder &builder = gradients.b;
  Location loc = op.getLoc();
  if (failed(checkOperand(operand)))
    return failure();
  // Operands, then the gradients of the results that something flows back to.
  SmallVector<Value> inputs(op->getOperands());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  SmallVector<unsigned> flowing;
  for (OpResult result : op->getResults())
    if (Value dy = gradients.of(result)) {
      flowing.push_back(result.getResultNumber());
      inputs.push_back(dy);
      maps.push_back(op.getMatchingIndexingMap(op.getDpsInitOperand(result.getResultNumber())));
    }
  AffineMap map = op.getMatchingIndexingMap(&operand);
  SmallVector<IteratorType> iterators(op.getNumLoops(), IteratorType::reduction);
  for (AffineExpr expr : map.getResults())
    iterators[cast<AffineDimExpr>(expr).getPosition()] = IteratorType::parallel;
  bool sums = llvm::is_contained(iterators, IteratorType::reduction);
  auto type = cast<RankedTensorType>(operand.get().getType());
  Type element = type.getElementType(), wide = sums ? accumulationType(element) : element;
  Value out = sums ? makeConstant(builder, loc, type.clone(wide), 0)
                   : tensor::EmptyOp::create(builder, loc, type.getShape(), wide).getResult();
  maps.push_back(map);
  LogicalResult made = success();
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    FailureOr<Value> slope = derive(b, operand, args.drop_back(), flowing);
    made = success(succeeded(slope));
    Value value = succeeded(slope) && *slope ? convertTo(b, loc, *slope, wide) : makeConstant(b, loc, wide, 0);
    if (sums)
      value = arith::AddFOp::create(b, loc, args.back(), value);
    linalg::YieldOp::create(b, loc, value);
  };
  auto generic = linalg::GenericOp::create(builder, loc, out.getType(), inputs, out, maps, iterators, body);
  if (succeeded(made))
    gradients.addLike(operand.get(), convertTo(builder, loc, generic.getResult(0), element));
  return made;
}

LogicalResult Adjoint::run() {
  SmallVector<OpOperand *> operands;
  for (OpOperand &operand : op->getOpOperands())
    if (gradients.wants(operand.get()) && !op.getMatchingBlockArgument(&operand).use_empty())
      operands.push_back(&operand);
  if (operands.empty())
    return success();
  if (failed(check()))
    return failure();
  for (OpOperand *operand : operands) {
    // What the sum starts from.
    if (isReduction() && op.isDpsInit(operand))
      gradients.add(operand->get(), gradients.of(op->getResult(0)));
    else if (failed(makeGradient(*operand)))
      return failure();
  }
  return success();
}

LogicalResult ringconv::pullBack(linalg::LinalgOp op, Gradients &gradients) { return Adjoint(op, gradients).run(); }
