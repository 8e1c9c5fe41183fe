// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-start-reductions. In the backward pass of layers l = n, n - 1, ...
// the sums of layer l are needed at the end only:
//
//     dw_n | sum | db_n | sum | dx_n | dw_n-1 | sum | ...
//     dw_n | db_n | start ----- dx_n | dw_n-1 | ... ----- | wait
//
// Sums join where nothing but light work lies between them, so that the first
// does not start much later for it.
#include "ringconv/Dialect/RingConv/IR/RingConv.h"
#include "ringconv/Dialect/RingConv/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace ringconv {
#define GEN_PASS_DEF_STARTREDUCTIONSPASS
#include "ringconv/Dialect/RingConv/Transforms/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

using Operations = SmallVector<Operation *>;

/// Operations that may stand anywhere between what they read and who reads them.
static bool isMovable(Operation *op) { return isMemoryEffectFree(op) && !op->hasTrait<OpTrait::IsTerminator>(); }

/// `op` or the operation around it that stands in `block`.
static Operation *ancestorIn(Block *block, Operation *op) { return block->findAncestorOpInBlock(*op); }

/// All that reads the results of `op`, directly or not, up to operations that
/// cannot move, of which the first is `barrier`. In the order of the block.
static Operations findReaders(Operation *op, Operation *&barrier) {
  Block *block = op->getBlock();
  llvm::DenseSet<Operation *> seen;
  Operations readers, open{op};
  barrier = block->getTerminator();
  while (!open.empty()) {
    for (Operation *user : open.pop_back_val()->getUsers()) {
      Operation *reader = ancestorIn(block, user);
      if (!seen.insert(reader).second)
        continue;
      if (isMovable(reader)) {
        readers.push_back(reader);
        open.push_back(reader);
      } else if (reader->isBeforeInBlock(barrier)) {
        barrier = reader;
      }
    }
  }
  llvm::sort(readers, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return readers;
}

/// True if `op` needs heavy work, or a message, that stands behind `point`; or
/// `point` itself.
static bool needsWorkBehind(Operation *op, Operation *point) {
  Block *block = op->getBlock();
  llvm::DenseSet<Operation *> seen;
  Operations open{op};
  while (!open.empty()) {
    Operation *next = open.pop_back_val();
    bool blocked = false;
    next->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        Operation *maker = operand.getDefiningOp();
        maker = maker ? ancestorIn(block, maker) : nullptr;
        if (!maker || maker->isBeforeInBlock(point) || !seen.insert(maker).second)
          continue;
        blocked |= maker == point || !isMovable(maker) || isa<LocalConvOp, LocalPoolOp>(maker);
        open.push_back(maker);
      }
    });
    if (blocked)
      return true;
  }
  return false;
}

/// True if something behind which a sum may travel stands between two operations.
static bool hasWorkBetween(Operation *first, Operation *last, ArrayRef<Operation *> readers) {
  for (Operation *op = first->getNextNode(); op != last; op = op->getNextNode())
    if (op->getNumOperands() && !llvm::is_contained(readers, op))
      return true;
  return false;
}

namespace {
struct StartReductionsPass : ringconv::impl::StartReductionsPassBase<StartReductionsPass> {
  void runOnOperation() override {
    getOperation().walk([&](Block *block) { startIn(*block); });
  }

private:
  using Bucket = SmallVector<AllReduceOp>;

  void startIn(Block &block) {
    SmallVector<Bucket> buckets;
    for (AllReduceOp op : block.getOps<AllReduceOp>()) {
      if (!op.getResult())
        continue;
      if (!buckets.empty() && joins(op, buckets.back()))
        buckets.back().push_back(op);
      else
        buckets.push_back({op});
    }
    for (Bucket &bucket : buckets)
      start(bucket);
  }

  /// All of a bucket start where its last sum stood.
  bool joins(AllReduceOp op, const Bucket &bucket) {
    AllReduceOp first = bucket.front();
    if (op.getMeshAttr() != first.getMeshAttr() || op.getAxes() != first.getAxes() ||
        getElementTypeOrSelf(op.getInit()) != getElementTypeOrSelf(first.getInit()))
      return false;
    return llvm::all_of(bucket, [&](AllReduceOp earlier) {
      Operation *barrier;
      findReaders(earlier, barrier);
      return op->isBeforeInBlock(barrier) && !needsWorkBehind(op, earlier);
    });
  }

  void start(Bucket &bucket) {
    // Who reads them waits: as late as who reads that allows.
    Operation *last = bucket.back(), *barrier = last->getBlock()->getTerminator();
    Operations readers;
    for (AllReduceOp op : bucket) {
      Operation *first;
      llvm::append_range(readers, findReaders(op, first));
      if (first->isBeforeInBlock(barrier))
        barrier = first;
    }
    llvm::sort(readers, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    readers.erase(llvm::unique(readers), readers.end());
    if (bucket.size() == 1 && !hasWorkBetween(last, barrier, readers))
      return;
    OpBuilder b(last);
    SmallVector<Value> inits;
    for (AllReduceOp op : bucket)
      inits.push_back(op.getInit());
    SmallVector<Type> types(ValueRange(inits).getTypes());
    auto start = StartReduceOp::create(b, last->getLoc(), types, TokenType::get(last->getContext()), inits,
                                       bucket.front().getMeshAttr(), bucket.front().getAxes());
    b.setInsertionPoint(barrier);
    auto wait = WaitOp::create(b, last->getLoc(), types, start.getToken(), ValueRange(), start.getSums());
    for (Operation *reader : readers)
      if (reader->isBeforeInBlock(barrier))
        reader->moveBefore(barrier);
    for (auto [op, sum] : llvm::zip(bucket, wait.getSlabs())) {
      op.getResult().replaceAllUsesWith(sum);
      op.erase();
    }
    numMerged += bucket.size() - 1;
    ++numStarted;
  }
};
} // namespace
