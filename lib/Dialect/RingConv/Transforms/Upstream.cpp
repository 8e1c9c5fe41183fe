// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is known of upstream operations: elementwise ones, slices, and where the
// rest of them is: linalg, reshapes and concatenations have files of their own.
#include "Upstream.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace ringconv;

using upstream::Factors;

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

/// Dimensions that a slice or an insertion takes whole.
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

FailureOr<Factors> ringconv::factorsOf(Operation *op) {
  if (auto shardable = dyn_cast<ShardableOpInterface>(op))
    return shardable.getFactors();
  if (op->getNumResults() == 0 || !isa<RankedTensorType>(op->getResult(0).getType()))
    return failure();
  if (OpTrait::hasElementwiseMappableTraits(op))
    return elementwiseFactors(op);
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    return linalgOp.hasPureTensorSemantics() ? upstream::linalgFactors(linalgOp) : FailureOr<Factors>(failure());
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
    return upstream::concatFactors(concat);
  if (auto collapse = dyn_cast<tensor::CollapseShapeOp>(op))
    return upstream::reshapeFactors(op, collapse.getReassociationIndices(), false);
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return upstream::reshapeFactors(op, expand.getReassociationIndices(), true);
  return failure();
}

// ===--------------------------------------------------------------------=== //
// Local forms
// ===--------------------------------------------------------------------=== //

/// The same slice with the local extents of dimensions that are taken whole.
template <typename SliceOp>
static SmallVector<OpFoldResult> localSliceSizes(SliceOp op, ArrayRef<int64_t> shape, Value localWhole,
                                                 LocalBuilder &l) {
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
                                                            insert.getMixedOffsets(), sizes, insert.getMixedStrides())};
  }
  if (auto concat = dyn_cast<tensor::ConcatOp>(op))
    return SmallVector<Value>{upstream::localConcat(concat, l)};
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(op))
    return SmallVector<Value>{tensor::ExpandShapeOp::create(b, l.loc, l.results[0], l.operands[0],
                                                            expand.getReassociationIndices(), l.sizes[0])};
  for (auto [result, type] : llvm::zip(op->getResults(), l.results))
    if (l.partial && type.getElementType() != cast<RankedTensorType>(result.getType()).getElementType())
      return failure();
  Operation *local = b.clone(*op);
  local->setOperands(l.operands);
  for (auto [result, type] : llvm::zip(local->getResults(), l.results))
    result.setType(type);
  return SmallVector<Value>(local->getResults());
}
