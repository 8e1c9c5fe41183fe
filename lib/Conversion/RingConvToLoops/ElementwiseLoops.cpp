// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise linalg.generic on memrefs, by vectors. The backend leaves scalar
// loops scalar. Loops that all operands hold without gaps are merged, so that
// the innermost one is as long as the layouts allow; it goes by vectors, and by
// elements where fewer are left. Both do the same operations in the same order
// per element, so that results do not depend on where a cut falls.
#include "LoopBuilder.h"
#include "Loops.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace ringconv;

namespace {

/// A type that a vector lays out like a memref: others have gaps in memory, or no
/// address of their own.
bool isVectorElement(Type type) {
  return type.isIntOrFloat() && type.getIntOrFloatBitWidth() >= 8 && llvm::isPowerOf2_32(type.getIntOrFloatBitWidth());
}

bool hasVectorBody(linalg::GenericOp op) {
  return llvm::all_of(op.getBody()->without_terminator(), [](Operation &inner) {
    auto isScalar = [](Type type) { return type.isIntOrFloat(); };
    return inner.hasTrait<OpTrait::ConstantLike>() ||
           (OpTrait::hasElementwiseMappableTraits(&inner) && llvm::all_of(inner.getOperandTypes(), isScalar) &&
            llvm::all_of(inner.getResultTypes(), isScalar));
  });
}

/// Dimension of the operand that the loop walks, or -1.
int64_t dimOfLoop(AffineMap map, unsigned loop) {
  for (auto [d, expr] : llvm::enumerate(map.getResults()))
    if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && dim.getPosition() == loop)
      return d;
  return -1;
}

/// True if neighbours along the last loop are neighbours in memory, or the
/// operand does not depend on it.
bool isVectorOperand(linalg::GenericOp op, OpOperand &operand) {
  if (op.isScalar(&operand))
    return isVectorElement(operand.get().getType());
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (!type || !isVectorElement(type.getElementType()) || !map.isProjectedPermutation(/*allowZeroInResults=*/true))
    return false;
  int64_t d = dimOfLoop(map, op.getNumLoops() - 1);
  return d < 0 ? !op.isDpsInit(&operand) : isVectorDim(type, d);
}

bool isVectorizable(linalg::GenericOp op) {
  return op.hasPureBufferSemantics() && op.getNumLoops() > 0 && op.getNumParallelLoops() == op.getNumLoops() &&
         op.getNumDpsInits() > 0 && hasVectorBody(op) &&
         llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) { return isVectorOperand(op, operand); });
}

/// Dimensions of one element that no loop walks go, so that they do not keep
/// loops apart.
void dropConstantDims(linalg::GenericOp op) {
  OpBuilder b(op);
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap &map = maps[operand.getOperandNumber()];
    auto isLoop = [](AffineExpr expr) { return isa<AffineDimExpr>(expr); };
    if (llvm::all_of(map.getResults(), isLoop))
      continue;
    Value memref = operand.get();
    SmallVector<OpFoldResult> sizes = memref::getMixedSizes(b, op.getLoc(), memref);
    SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0)), steps(sizes.size(), b.getIndexAttr(1));
    SmallVector<int64_t> shape;
    for (auto [d, expr] : llvm::enumerate(map.getResults()))
      if (isLoop(expr))
        shape.push_back(cast<MemRefType>(memref.getType()).getDimSize(d));
      else
        sizes[d] = b.getIndexAttr(1);
    auto type =
        memref::SubViewOp::inferRankReducedResultType(shape, cast<MemRefType>(memref.getType()), offsets, sizes, steps);
    operand.set(memref::SubViewOp::create(b, op.getLoc(), type, memref, offsets, sizes, steps));
    map = map.getSubMap(llvm::to_vector(llvm::make_filter_range(llvm::seq<unsigned>(0, map.getNumResults()),
                                                                [&](unsigned d) { return isLoop(map.getResult(d)); })));
  }
  op.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));
}

/// Neighbouring loops that every operand holds without gaps become one.
linalg::GenericOp mergeLoops(linalg::GenericOp op, RewriterBase &rewriter) {
  SmallVector<ReassociationIndices> groups;
  auto merges = [&](ReassociationIndicesRef loops) {
    return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
      if (op.isScalar(&operand))
        return true;
      AffineMap map = op.getMatchingIndexingMap(&operand);
      if (!linalg::isDimSequencePreserved(map, loops))
        return false;
      auto type = cast<MemRefType>(operand.get().getType());
      SmallVector<ReassociationIndices> dims;
      for (int64_t d = 0; d < type.getRank(); ++d) {
        auto dim = dyn_cast<AffineDimExpr>(map.getResult(d));
        bool joins =
            dim && llvm::is_contained(loops, int64_t(dim.getPosition())) && int64_t(dim.getPosition()) != loops.front();
        joins ? dims.back().push_back(d) : dims.push_back({d});
      }
      return memref::CollapseShapeOp::isGuaranteedCollapsible(type, dims);
    });
  };
  for (int64_t loop = 0; loop < int64_t(op.getNumLoops()); ++loop) {
    if (!groups.empty()) {
      groups.back().push_back(loop);
      if (merges(groups.back()))
        continue;
      groups.back().pop_back();
    }
    groups.push_back({loop});
  }
  if (groups.size() == op.getNumLoops())
    return op;
  FailureOr<linalg::CollapseResult> merged = linalg::collapseOpIterationDims(op, groups, rewriter);
  if (failed(merged))
    return op;
  rewriter.eraseOp(op);
  return cast<linalg::GenericOp>(merged->collapsedOp.getOperation());
}

class ElementwiseLoops {
public:
  ElementwiseLoops(linalg::GenericOp op, const LoopOptions &options) : b(op), l{b, op.getLoc()}, op(op) {
    unsigned bits = 8;
    auto widen = [&](Type type) { bits = std::max(bits, type.getIntOrFloatBitWidth()); };
    llvm::for_each(op.getBody()->getArgumentTypes(), widen);
    op.getBody()->walk([&](Operation *inner) { llvm::for_each(inner->getResultTypes(), widen); });
    lanes = options.vectorWidth * 32 / bits;
  }

  void emit() {
    for (Range range : cast<linalg::LinalgOp>(op.getOperation()).createLoopRanges(b, l.loc))
      sizes.push_back(getValueOrCreateConstantIndexOp(b, l.loc, range.size));
    loop();
    op.erase();
  }

private:
  void loop() {
    bool isLast = at.size() + 1 == sizes.size();
    Value size = sizes[at.size()], begin = l.constant(0);
    at.push_back({});
    if (isLast && lanes > 1) {
      Value rest = arith::RemSIOp::create(b, l.loc, size, l.constant(lanes)), whole = l.sub(size, rest);
      step(begin, whole, lanes, [&] { body(lanes); });
      begin = whole;
    }
    step(begin, size, 1, [&] { isLast ? body(1) : loop(); });
    at.pop_back();
  }

  void step(Value begin, Value end, int64_t by, llvm::function_ref<void()> inside) {
    l.forLoop(
        begin, end, {},
        [&](Value i, ValueRange) {
          at.back() = i;
          inside();
          return SmallVector<Value>();
        },
        by);
  }

  Type typeOf(Type element, int64_t n) { return n == 1 ? element : VectorType::get({n}, element); }
  Value spread(Value v, int64_t n) {
    return n == 1 ? v : vector::BroadcastOp::create(b, l.loc, typeOf(v.getType(), n), v).getResult();
  }

  SmallVector<Value> indexOf(OpOperand &operand) {
    SmallVector<Value> index;
    for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults())
      index.push_back(at[cast<AffineDimExpr>(expr).getPosition()]);
    return index;
  }

  Value load(OpOperand &operand, int64_t n) {
    if (op.isScalar(&operand))
      return spread(operand.get(), n);
    SmallVector<Value> index = indexOf(operand);
    Value memref = operand.get();
    if (n > 1 && dimOfLoop(op.getMatchingIndexingMap(&operand), at.size() - 1) >= 0)
      return vector::LoadOp::create(b, l.loc, cast<VectorType>(typeOf(getElementTypeOrSelf(memref), n)), memref, index);
    return spread(memref::LoadOp::create(b, l.loc, memref, index), n);
  }

  void body(int64_t n) {
    IRMapping values;
    for (OpOperand &operand : op->getOpOperands())
      if (BlockArgument argument = op.getMatchingBlockArgument(&operand); !argument.use_empty())
        values.map(argument, load(operand, n));
    auto valueOf = [&](Value v) {
      // What stands outside the body is a scalar.
      if (!values.contains(v))
        values.map(v, spread(v, n));
      return values.lookup(v);
    };
    for (Operation &inner : op.getBody()->without_terminator()) {
      if (inner.hasTrait<OpTrait::ConstantLike>()) {
        values.map(inner.getResult(0), spread(b.clone(inner)->getResult(0), n));
        continue;
      }
      for (Value v : inner.getOperands())
        valueOf(v);
      Operation *copy = b.clone(inner, values);
      for (auto [result, old] : llvm::zip(copy->getResults(), inner.getResults()))
        result.setType(typeOf(old.getType(), n));
    }
    auto yield = cast<linalg::YieldOp>(op.getBody()->getTerminator());
    for (auto [init, v] : llvm::zip(op.getDpsInitsMutable(), yield.getValues())) {
      Value value = valueOf(v);
      if (n == 1)
        memref::StoreOp::create(b, l.loc, value, init.get(), indexOf(init));
      else
        vector::StoreOp::create(b, l.loc, value, init.get(), indexOf(init));
    }
  }

  OpBuilder b;
  ringconv::Loops l;
  linalg::GenericOp op;
  int64_t lanes;
  SmallVector<Value> sizes, at;
};

} // namespace

void ringconv::lowerElementwise(linalg::GenericOp op, const LoopOptions &options) {
  if (!options.vectorize || !isVectorizable(op))
    return;
  dropConstantDims(op);
  IRRewriter rewriter(op);
  linalg::GenericOp merged = mergeLoops(op, rewriter);
  // A last dimension of one element may hide strides, which stand open now.
  if (isVectorizable(merged))
    ElementwiseLoops(merged, options).emit();
}
