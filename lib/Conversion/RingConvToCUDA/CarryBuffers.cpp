// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-carry-buffers: loops that hand a buffer from one round to the next
// get one that is made in front of them, into which each round copies its
// result. So every buffer has one place for all rounds.
#include "ringconv/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace ringconv {
#define GEN_PASS_DEF_CARRYBUFFERSPASS
#include "ringconv/Conversion/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

/// A buffer in front of `op` with the sizes of `like` and dense.
static Value allocateLike(OpBuilder &b, Location loc, Value like) {
  auto type = cast<MemRefType>(like.getType());
  SmallVector<Value> dynamic;
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.isDynamicDim(d))
      dynamic.push_back(memref::DimOp::create(b, loc, like, d));
  return memref::AllocOp::create(b, loc, MemRefType::get(type.getShape(), type.getElementType()), dynamic);
}

/// `value` in front of the loop, where it can be computed there.
static Value hoist(OpBuilder &b, Operation *loop, Value value) {
  Operation *op = value.getDefiningOp();
  if (!loop->isAncestor(value.getParentBlock()->getParentOp()))
    return value;
  if (!op || !isPure(op) || op->getNumRegions())
    return {};
  IRMapping map;
  for (Value operand : op->getOperands()) {
    Value outside = hoist(b, loop, operand);
    if (!outside)
      return {};
    map.map(operand, outside);
  }
  return b.clone(*op, map)->getResult(cast<OpResult>(value).getResultNumber());
}

/// A buffer in front of the loop for one that is made inside; null where its size
/// is not known there.
static Value allocateOutside(OpBuilder &b, Operation *loop, Value inside) {
  auto type = cast<MemRefType>(inside.getType());
  SmallVector<Value> dynamic;
  auto alloc = inside.getDefiningOp<memref::AllocOp>();
  if (!alloc && !type.hasStaticShape())
    return {};
  for (int64_t i = 0; alloc && i < int64_t(alloc.getDynamicSizes().size()); ++i) {
    dynamic.push_back(hoist(b, loop, alloc.getDynamicSizes()[i]));
    if (!dynamic.back())
      return {};
  }
  return memref::AllocOp::create(b, inside.getLoc(), MemRefType::get(type.getShape(), type.getElementType()), dynamic);
}

static Value castTo(OpBuilder &b, Location loc, Value memref, Type type) {
  return memref.getType() == type ? memref : memref::CastOp::create(b, loc, type, memref).getResult();
}

/// At the end of a block, what goes into the next round is copied into the
/// carried buffers: through buffers between, since a round may swap them.
static void copyInto(OpBuilder &b, Location loc, MutableArrayRef<OpOperand> yielded, ArrayRef<Value> carried) {
  SmallVector<std::pair<Value, Value>> between;
  for (auto [operand, target] : llvm::zip(yielded, carried)) {
    if (!target || operand.get() == target)
      continue;
    Value copy = allocateLike(b, loc, target);
    memref::CopyOp::create(b, loc, operand.get(), copy);
    between.push_back({copy, target});
  }
  for (auto [copy, target] : between)
    memref::CopyOp::create(b, loc, copy, target);
  for (auto [operand, target] : llvm::zip(yielded, carried))
    if (target)
      operand.set(castTo(b, loc, target, operand.get().getType()));
}

/// The carried buffers with the initial values; null for what is no memref.
static SmallVector<Value> carryIn(OpBuilder &b, Location loc, MutableArrayRef<OpOperand> inits) {
  SmallVector<Value> carried;
  for (OpOperand &init : inits) {
    carried.push_back({});
    if (!isa<MemRefType>(init.get().getType()))
      continue;
    carried.back() = allocateLike(b, loc, init.get());
    memref::CopyOp::create(b, loc, init.get(), carried.back());
    init.set(castTo(b, loc, carried.back(), init.get().getType()));
  }
  return carried;
}

static void replaceBy(OpBuilder &b, Location loc, ValueRange values, ArrayRef<Value> carried) {
  for (auto [value, buffer] : llvm::zip(values, carried))
    if (buffer)
      value.replaceAllUsesWith(castTo(b, loc, buffer, value.getType()));
}

static bool carriesBuffers(ValueRange values) {
  return llvm::any_of(values, [](Value v) { return isa<MemRefType>(v.getType()); });
}

static void carryBuffers(scf::ForOp loop) {
  if (!carriesBuffers(loop.getInitArgs()))
    return;
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  SmallVector<Value> carried = carryIn(b, loc, loop.getInitArgsMutable());
  b.setInsertionPointToStart(loop.getBody());
  replaceBy(b, loc, loop.getRegionIterArgs(), carried);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  copyInto(b, loc, loop.getBody()->getTerminator()->getOpOperands(), carried);
  b.setInsertionPointAfter(loop);
  replaceBy(b, loc, loop.getResults(), carried);
}

/// The first region sees the carried buffers and hands some on to the second,
/// which yields the next ones.
static LogicalResult carryBuffers(scf::WhileOp loop) {
  if (!carriesBuffers(loop.getInits()) && !carriesBuffers(loop.getResults()))
    return success();
  OpBuilder b(loop);
  Location loc = loop.getLoc();
  SmallVector<Value> carried = carryIn(b, loc, loop.getInitsMutable());
  b.setInsertionPointToStart(loop.getBeforeBody());
  replaceBy(b, loc, loop.getBeforeArguments(), carried);
  // What the condition hands on is a carried buffer, or made in this round.
  SmallVector<Value> handed;
  auto condition = loop.getConditionOp();
  for (Value value : condition.getArgs()) {
    handed.push_back({});
    if (!isa<MemRefType>(value.getType()))
      continue;
    Value root = value;
    while (auto cast = root.getDefiningOp<memref::CastOp>())
      root = cast.getSource();
    if (llvm::is_contained(carried, root)) {
      handed.back() = root;
      continue;
    }
    b.setInsertionPoint(loop);
    Value own = allocateOutside(b, loop, root);
    if (!own)
      return loop.emitError() << "hands on a buffer of a size that is known only inside";
    b.setInsertionPoint(condition);
    memref::CopyOp::create(b, loc, value, own);
    handed.back() = own;
  }
  b.setInsertionPointToStart(loop.getAfterBody());
  replaceBy(b, loc, loop.getAfterArguments(), handed);
  b.setInsertionPoint(loop.getAfterBody()->getTerminator());
  copyInto(b, loc, loop.getAfterBody()->getTerminator()->getOpOperands(), carried);
  b.setInsertionPointAfter(loop);
  replaceBy(b, loc, loop.getResults(), handed);
  return success();
}

namespace {
struct CarryBuffersPass : ringconv::impl::CarryBuffersPassBase<CarryBuffersPass> {
  void runOnOperation() override {
    getOperation().walk([](scf::ForOp loop) { carryBuffers(loop); });
    auto walked = getOperation().walk([](scf::WhileOp loop) { return WalkResult(carryBuffers(loop)); });
    if (walked.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
