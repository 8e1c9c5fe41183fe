// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known of upstream operations: elementwise ones, structured linalg,
// and the tensor operations that move whole dimensions.
#include "Decision.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace ringconv;

using Factors = SmallVector<Factor>;

/// All tensors of an elementwise operation have one shape.
static Factors elementwiseFactors(Operation *op) {
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Factors factors;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    SmallVector<int64_t> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isa<RankedTensorType>(operand.getType()) ? d : -1);
    factors.push_back(Factor(type.getDimSize(d), false, operands, SmallVector<int64_t>(op->getNumResults(), d)));
  }
  return factors;
}

/// Only sums can be split over ranks, and only from a neutral start: something
/// that the sum so far has no part in is added to it.
static bool isSum(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1 || op.getBlock()->getTerminator()->getNumOperands() != 1)
    return false;
  Operation *last = op.getBlock()->getTerminator()->getOperand(0).getDefiningOp();
  BlockArgument sum = op.getRegionOutputArgs()[0];
  return last && sum.hasOneUse() && llvm::is_contained(last->getOperands(), sum) &&
         (last->getName().getStringRef() == "arith.addf" || last->getName().getStringRef() == "arith.addi");
}

static bool startsFromZero(Value init) {
  auto fill = init.getDefiningOp<linalg::FillOp>();
  if (fill)
    return matchPattern(fill.getInputs()[0], m_AnyZeroFloat()) || matchPattern(fill.getInputs()[0], m_Zero());
  return matchPattern(init, m_AnyZeroFloat()) || matchPattern(init, m_Zero());
}

/// Loop dimensions that every map reads as they are; a dimension inside an
/// expression, or one that linalg.index asks for, is not cut.
static FailureOr<Factors> linalgFactors(linalg::LinalgOp op) {
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
  // Partial sums travel in the accumulation type, which the operation has no
  // form for if its result is narrower.
  bool sum = isSum(op) && startsFromZero(op.getDpsInits()[0]);
  if (sum) {
    Type element = getElementTypeOrSelf(op.getDpsInits()[0].getType());
    sum = accumulationType(element) == element;
  }
  Factors factors;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop) {
    bool reduction = iterators[loop] == utils::IteratorType::reduction;
    if (fixed[loop] || ShapedType::isDynamic(sizes[loop]) || (reduction && !sum))
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

/// Dimensions that a slice, a concatenation or an insertion takes whole.
static Factors wholeDims(Operation *op, ArrayRef<int64_t> shape, llvm::function_ref<bool(int64_t)> taken,
                         unsigned tensors) {
  Factors factors;
  for (auto [d, size] : llvm::enumerate(shape)) {
    if (!taken(d))
      continue;
    SmallVector<int64_t> operands(op->getNumOperands(), -1);
    std::fill_n(operands.begin(), tensors, int64_t(d));
    factors.push_back(Factor(size, false, operands, {int64_t(d)}));
  }
  return factors;
}

static bool takesWhole(OffsetSizeAndStrideOpInterface op, int64_t d, int64_t size) {
  return !op.isDynamicOffset(d) && !op.isDynamicSize(d) && !op.isDynamicStride(d) && op.getStaticOffset(d) == 0 &&
         op.getStaticSize(d) == size && op.getStaticStride(d) == 1;
}

/// A reshape keeps cuts of the major dimension of a group that are multiples of
/// the others' product: the first that is not 1 is one factor.
static Factors reshapeFactors(Operation *op, ArrayRef<ReassociationIndices> groups, bool expands) {
  auto in = cast<RankedTensorType>(op->getOperand(0).getType()), out = cast<RankedTensorType>(op->getResult(0).getType());
  Factors factors;
  for (auto [g, group] : llvm::enumerate(groups)) {
    ArrayRef<int64_t> shape = (expands ? out : in).getShape();
    size_t major = 0;
    while (major + 1 < group.size() && shape[group[major]] == 1)
      ++major;
    int64_t unit = 1;
    for (int64_t d : ArrayRef(group).drop_front(major + 1))
      unit *= shape[d];
    if (unit == 0)
      continue;
    SmallVector<int64_t> operands(op->getNumOperands(), -1);
    operands[0] = expands ? int64_t(g) : group[major];
    Factor factor(shape[group[major]], false, operands, {expands ? group[major] : int64_t(g)});
    (expands ? factor.operandUnits[0] : factor.resultUnits[0]) = unit;
    factors.push_back(factor);
  }
  return factors;
}

FailureOr<Factors> ringconv::factorsOf(Operation *op) {
  if (auto shardable = dyn_cast<ShardableOpInterface>(op))
    return shardable.getFactors();
  if (op->getNumResults() == 0 || !isa<RankedTensorType>(op->getResult(0).getType()))
    return failure();
  if (OpTrait::hasElementwiseMappableTraits(op))
    return elementwiseFactors(op);
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.hasPureTensorSemantics() ? linalgFactors(linalgOp) : FailureOr<Factors>(failure());
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    ArrayRef<int64_t> shape = slice.getSourceType().getShape();
    if (slice.getSourceType().getRank() != slice.getType().getRank())
      return failure();
    return wholeDims(op, shape, [&](int64_t d) { return takesWhole(slice, d, shape[d]); }, 1);
  }
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    ArrayRef<int64_t> shape = insert.getDestType().getShape();
    if (insert.getSourceType().getRank() != insert.getDestType().getRank())
      return failure();
    return wholeDims(op, shape, [&](int64_t d) { return takesWhole(insert, d, shape[d]); }, 2);
  }
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return wholeDims(op, concat.getResultType().getShape(), [&](int64_t d) { return d != int64_t(concat.getDim()); },
                     op->getNumOperands());
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return reshapeFactors(op, collapse.getReassociationIndices(), false);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return reshapeFactors(op, expand.getReassociationIndices(), true);
  return failure();
}

// ===--------------------------------------------------------------------=== //
// Local forms
// ===--------------------------------------------------------------------=== //

/// The same slice with the local extents of dimensions that are taken whole.
template <typename SliceOp>
static SmallVector<OpFoldResult> localSliceSizes(SliceOp op, ArrayRef<int64_t> shape, Value localWhole, LocalBuilder &l) {
  SmallVector<OpFoldResult> sizes = op.getMixedSizes();
  auto type = cast<RankedTensorType>(localWhole.getType());
  for (auto [d, size] : llvm::enumerate(shape)) {
    if (!takesWhole(op, d, size) || type.getDimSize(d) == size)
      continue;
    sizes[d] = type.isDynamicDim(d) ? OpFoldResult(tensor::DimOp::create(l.builder, l.loc, localWhole, d).getResult())
                                    : OpFoldResult(l.builder.getIndexAttr(type.getDimSize(d)));
  }
  return sizes;
}

FailureOr<SmallVector<Value>> ringconv::createLocal(Operation *op, LocalBuilder &l) {
  OpBuilder &b = l.builder;
  if (auto shardable = dyn_cast<ShardableOpInterface>(op))
    return shardable.createLocal(l);
  if (auto slice = dyn_cast<tensor::ExtractSliceOp>(op)) {
    auto sizes = localSliceSizes(slice, slice.getSourceType().getShape(), l.operands[0], l);
    return SmallVector<Value>{tensor::ExtractSliceOp::create(b, l.loc, l.results[0], l.operands[0],
                                                             slice.getMixedOffsets(), sizes, slice.getMixedStrides())};
  }
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op)) {
    auto sizes = localSliceSizes(insert, insert.getDestType().getShape(), l.operands[1], l);
    return SmallVector<Value>{tensor::InsertSliceOp::create(b, l.loc, l.operands[0], l.operands[1],
                                                            insert.getMixedOffsets(), sizes,
                                                            insert.getMixedStrides())};
  }
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return SmallVector<Value>{tensor::ExpandShapeOp::create(b, l.loc, l.results[0], l.operands[0],
                                                            expand.getReassociationIndices(), l.sizes[0])};
  if (l.partial && l.results[0].getElementType() != cast<RankedTensorType>(op->getResult(0).getType()).getElementType())
    return failure();
  Operation *local = b.clone(*op);
  local->setOperands(l.operands);
  for (auto [result, type] : llvm::zip(local->getResults(), l.results))
    result.setType(type);
  return SmallVector<Value>(local->getResults());
}
