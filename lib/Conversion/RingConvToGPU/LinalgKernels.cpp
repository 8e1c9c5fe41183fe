// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structured operations of linalg on memrefs: one thread per point of the
// parallel dimensions, which walks the reduction dimensions row-major.
#include "Elements.h"
#include "Operations.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace ringconv;

namespace {

class LinalgKernel {
public:
  LinalgKernel(linalg::LinalgOp op, KernelModule &kernels) : op(op), kernel(kernels, op, "linalg") {}

  void make();

private:
  bool isParallel(int64_t d) { return iterators[d] == utils::IteratorType::parallel; }
  void passAll();
  void addLoops(Loops &l, ArrayRef<Value> point);
  SmallVector<Value> reduce(Loops &l, size_t n, SmallVector<Value> index, ValueRange sums);
  SmallVector<Value> point(Loops &l, ArrayRef<Value> index, ValueRange sums);
  Value at(Loops &l, OpOperand &operand, ArrayRef<Value> index, Value stored);
  SmallVector<Value> coordinates(Loops &l, OpOperand &operand, ArrayRef<Value> index);

  linalg::LinalgOp op;
  KernelBuilder kernel;
  SmallVector<utils::IteratorType> iterators;
  SmallVector<OpFoldResult> extents; ///< of all dimensions, on the host
  SmallVector<int64_t> reductions;
  IRMapping map; ///< from values of the host to values of the kernel
};

} // namespace

/// Operands, and what the region uses from outside.
void LinalgKernel::passAll() {
  llvm::SetVector<Value> outside;
  getUsedValuesDefinedAbove(op->getRegions(), outside);
  for (Value operand : op->getOperands())
    outside.insert(operand);
  for (Value value : outside)
    map.map(value, isa<MemRefType>(value.getType()) ? kernel.passBuffer(value) : kernel.passScalar(value));
}

SmallVector<Value> LinalgKernel::coordinates(Loops &l, OpOperand &operand, ArrayRef<Value> index) {
  AffineMap indexing = op.getMatchingIndexingMap(&operand);
  SmallVector<Value> at;
  SmallVector<OpFoldResult> dims(index.begin(), index.end());
  for (AffineExpr expr : indexing.getResults()) {
    auto one = AffineMap::get(indexing.getNumDims(), 0, expr);
    at.push_back(
        getValueOrCreateConstantIndexOp(l.b, l.loc, affine::makeComposedFoldedAffineApply(l.b, l.loc, one, dims)));
  }
  return at;
}

/// The value of an operand at a point; `stored` stands for results under way.
Value LinalgKernel::at(Loops &l, OpOperand &operand, ArrayRef<Value> index, Value stored) {
  if (stored)
    return stored;
  Value inside = map.lookup(operand.get());
  if (!isa<MemRefType>(inside.getType()))
    return inside;
  return memref::LoadOp::create(l.b, l.loc, inside, coordinates(l, operand, index));
}

/// The region at one point: from the results so far to the next ones.
SmallVector<Value> LinalgKernel::point(Loops &l, ArrayRef<Value> index, ValueRange sums) {
  Block *block = op.getBlock();
  IRMapping local(map);
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned n = operand.getOperandNumber();
    if (n >= block->getNumArguments() || block->getArgument(n).use_empty())
      continue;
    Value sum = op.isDpsInit(&operand) ? sums[n - op.getNumDpsInputs()] : Value();
    local.map(block->getArgument(n), at(l, operand, index, sum));
  }
  for (Operation &inner : block->without_terminator()) {
    Operation *copy = l.b.clone(inner, local);
    copy->walk([&](linalg::IndexOp i) {
      i.replaceAllUsesWith(index[i.getDim()]);
      if (i == copy)
        local.map(inner.getResult(0), index[i.getDim()]);
      i.erase();
    });
  }
  SmallVector<Value> results;
  for (Value v : block->getTerminator()->getOperands())
    results.push_back(local.lookupOrDefault(v));
  return results;
}

SmallVector<Value> LinalgKernel::reduce(Loops &l, size_t n, SmallVector<Value> index, ValueRange sums) {
  if (n == reductions.size())
    return point(l, index, sums);
  OpFoldResult extent = extents[reductions[n]];
  auto constant = getConstantIntValue(extent);
  Value end = constant ? l.constant(*constant) : kernel.passScalar(cast<Value>(extent));
  return l.forLoop(l.constant(0), end, sums, [&](Value i, ValueRange inner) {
    SmallVector<Value> next(index);
    next[reductions[n]] = i;
    return reduce(l, n + 1, next, inner);
  });
}

void LinalgKernel::addLoops(Loops &l, ArrayRef<Value> parallel) {
  SmallVector<Value> index(iterators.size());
  for (size_t d = 0, next = 0; d < iterators.size(); ++d)
    index[d] = isParallel(d) ? parallel[next++] : l.constant(0);
  SmallVector<Value> sums;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    Block *block = op.getBlock();
    bool read = init.getOperandNumber() < block->getNumArguments() && !op.getMatchingBlockArgument(&init).use_empty();
    Type element = getElementTypeOrSelf(init.get().getType());
    sums.push_back(read ? at(l, init, index, {}) : l.zero(element));
  }
  SmallVector<Value> results = reduce(l, 0, index, sums);
  for (auto [init, value] : llvm::zip(op.getDpsInitsMutable(), results))
    memref::StoreOp::create(l.b, l.loc, value, map.lookup(init.get()), coordinates(l, init, index));
}

void LinalgKernel::make() {
  iterators = op.getIteratorTypesArray();
  passAll();
  extents.resize(iterators.size());
  OpBuilder::InsertionGuard guard(kernel.host);
  // Each dimension's extent from the first operand that has it alone.
  for (OpOperand &operand : op->getOpOperands())
    for (auto [r, expr] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && extents[dim.getPosition()].isNull())
        extents[dim.getPosition()] = memref::getMixedSize(kernel.host, kernel.loc, operand.get(), r);
  SmallVector<OpFoldResult> parallel;
  for (size_t d = 0; d < iterators.size(); ++d)
    if (isParallel(d))
      parallel.push_back(extents[d]);
    else
      reductions.push_back(d);
  forEachElement(kernel, parallel, [&](Loops &l, ArrayRef<Value> index) { addLoops(l, index); });
}

LogicalResult ringconv::makeKernel(linalg::LinalgOp op, KernelModule &kernels) {
  // One thread writes an element: its place is a function of the parallel
  // dimensions, each of which takes part.
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    if (!map.isProjectedPermutation() || int64_t(map.getNumResults()) != op.getNumParallelLoops())
      return op->emitOpError() << "has a result that is not addressed by its parallel dimensions, which kernels need";
  }
  LinalgKernel(op, kernels).make();
  op->erase();
  return success();
}
