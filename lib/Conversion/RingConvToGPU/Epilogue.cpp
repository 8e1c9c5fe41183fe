// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Epilogue.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace ringconv;

// ===--------------------------------------------------------------------=== //
// Where there is one
// ===--------------------------------------------------------------------=== //

static Value rootOf(Value memref) {
  while (auto view = memref.getDefiningOp<ViewLikeOpInterface>())
    memref = view.getViewSource();
  return memref;
}

/// Each use of a buffer, also through views.
static bool allUses(Value buffer, llvm::function_ref<bool(OpOperand &)> holds) {
  return llvm::all_of(buffer.getUses(), [&](OpOperand &use) {
    if (auto view = dyn_cast<ViewLikeOpInterface>(use.getOwner()))
      return allUses(view->getResult(0), holds);
    return holds(use);
  });
}

/// True if an address leads to nothing but messages that are sent.
static bool isOnlySent(Value address) {
  return llvm::all_of(address.getUsers(), [](Operation *user) {
    if (auto call = dyn_cast<func::CallOp>(user))
      return call.getCallee() == "ringconv_rt_send";
    return isMemoryEffectFree(user) && user->getNumResults() == 1 && isOnlySent(user->getResult(0));
  });
}

static bool isElementwise(linalg::GenericOp op) {
  if (!op.hasPureBufferSemantics() || op.getNumDpsInits() != 1 || op.getNumParallelLoops() != op.getNumLoops() ||
      op.hasIndexSemantics() || !op.getMatchingIndexingMap(op.getDpsInitOperand(0)).isIdentity())
    return false;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    bool isResult = operand.get() == op.getDpsInits()[0];
    if (!map.isProjectedPermutation() || (isResult && !map.isIdentity()))
      return false;
  }
  return llvm::all_of(op.getBlock()->without_terminator(), [](Operation &inner) {
    return inner.getNumRegions() == 0 && inner.getNumResults() == 1 && isMemoryEffectFree(&inner);
  });
}

/// Where an elementwise operation is all that reads a buffer, convolutions write to
/// its result at once.
static void writeInPlace(linalg::GenericOp op) {
  Value result = op.getDpsInits()[0];
  if (!op.getMatchingBlockArgument(op.getDpsInitOperand(0)).use_empty())
    return;
  for (OpOperand *input : op.getDpsInputOperands()) {
    auto buffer = input->get().getDefiningOp<memref::AllocOp>();
    if (!buffer || buffer.getType() != result.getType() || !op.getMatchingIndexingMap(input).isIdentity())
      continue;
    // From its first use to the operation nobody else may use the result.
    Operation *first = op;
    bool onlyRead = allUses(buffer, [&](OpOperand &use) {
      Operation *at = op->getBlock()->findAncestorOpInBlock(*use.getOwner());
      if (at && at->isBeforeInBlock(first))
        first = at;
      return at && (at == op ? &use == input : isa<LocalConvOp>(use.getOwner()) && at->isBeforeInBlock(op));
    });
    bool isFree = allUses(result, [&](OpOperand &use) {
      Operation *at = op->getBlock()->findAncestorOpInBlock(*use.getOwner());
      return !at || at == op || at->isBeforeInBlock(first) || op->isBeforeInBlock(at);
    });
    // Views of the buffer stand behind it.
    if (onlyRead && isFree && DominanceInfo().properlyDominates(result, buffer))
      return buffer.replaceAllUsesWith(result), buffer.erase();
  }
}

namespace {
/// The convolutions behind which an elementwise operation stands.
class Candidate {
public:
  Candidate(linalg::GenericOp op, llvm::function_ref<bool(LocalConvOp)> takes) : op(op), takes(takes) {}

  /// The convolutions, in their order; none if the operation has to stay.
  SmallVector<LocalConvOp> find() {
    if (!isElementwise(op) || !takesResult() || convs.empty())
      return {};
    llvm::sort(convs, [](LocalConvOp a, LocalConvOp b) { return a->isBeforeInBlock(b); });
    for (Value operand : op.getDpsInputs())
      if (isa<MemRefType>(operand.getType()) && operand != result() && !isUnchanged(operand))
        return {};
    llvm::SetVector<Value> outside;
    getUsedValuesDefinedAbove(op->getRegions(), outside);
    for (Value operand : op.getDpsInputs())
      if (!isa<MemRefType>(operand.getType()))
        outside.insert(operand);
    if (!llvm::all_of(outside, [&](Value v) { return matchPattern(v, m_Constant()) || isThereBefore(v); }))
      return {};
    return convs;
  }

private:
  Value result() { return op.getDpsInits()[0]; }
  /// The operation of this block that `inner` is, or is inside of; null if neither.
  Operation *inBlock(Operation *inner) { return op->getBlock()->findAncestorOpInBlock(*inner); }
  bool isThereBefore(Value v) { return DominanceInfo().properlyDominates(v, convs.front()); }

  /// The result is a buffer of its own that convolutions write, then the operation,
  /// and nobody else looks at before.
  bool takesResult() {
    Value buffer = result();
    if (!isa<BlockArgument>(buffer) && !buffer.getDefiningOp<memref::AllocOp>())
      return false;
    return allUses(buffer, [&](OpOperand &use) {
      Operation *at = inBlock(use.getOwner());
      if (use.getOwner() == op || (at && op->isBeforeInBlock(at)) ||
          isa<memref::DeallocOp, memref::DimOp>(use.getOwner()))
        return true;
      auto conv = dyn_cast<LocalConvOp>(use.getOwner());
      if (!conv || conv != at || &use != &conv.getInitMutable() || !isPart(use.get()) || !takes(conv))
        return false;
      convs.push_back(conv);
      return true;
    });
  }

  /// The result, or a dense box of it.
  bool isPart(Value memref) {
    auto view = memref.getDefiningOp<memref::SubViewOp>();
    return memref == result() || (view && view.getSource() == result() && view.hasUnitStride() &&
                                  view.getType().getRank() == view.getSourceType().getRank());
  }

  /// What the first convolution would read is what the operation reads.
  bool isUnchanged(Value operand) {
    Value root = rootOf(operand);
    if (root == rootOf(result()) || !isThereBefore(operand))
      return false;
    bool waits = false; // for messages, which may write to any address that was given away
    for (Operation *at = convs.front(); at != op; at = at->getNextNode())
      waits |= !isa<LocalConvOp>(at) && !isMemoryEffectFree(at);
    return allUses(root, [&](OpOperand &use) {
      Operation *user = use.getOwner(), *at = inBlock(user);
      if (isa<memref::ExtractAlignedPointerAsIndexOp>(user))
        return !waits || isOnlySent(user->getResult(0));
      if (!at || at->isBeforeInBlock(convs.front()) || at == op || op->isBeforeInBlock(at))
        return true;
      auto conv = dyn_cast<LocalConvOp>(user);
      return isMemoryEffectFree(user) || (conv && &use != &conv.getInitMutable());
    });
  }

  linalg::GenericOp op;
  llvm::function_ref<bool(LocalConvOp)> takes;
  SmallVector<LocalConvOp> convs;
};
} // namespace

/// The operands of `op` for the part of its result that `conv` writes.
static Epilogue cutTo(LocalConvOp conv, linalg::GenericOp op) {
  Epilogue epilogue{op, SmallVector<Value>(op->getOperands())};
  auto part = conv.getInit().getDefiningOp<memref::SubViewOp>();
  if (conv.getInit() == op.getDpsInits()[0])
    return epilogue;
  OpBuilder b(conv);
  for (auto [n, operand] : llvm::enumerate(epilogue.operands)) {
    if (!isa<MemRefType>(operand.getType()))
      continue;
    if (epilogue.isResult(n)) {
      operand = conv.getInit();
      continue;
    }
    SmallVector<OpFoldResult> offsets, sizes;
    for (AffineExpr expr : op.getMatchingIndexingMap(&op->getOpOperand(n)).getResults()) {
      int64_t d = cast<AffineDimExpr>(expr).getPosition();
      offsets.push_back(part.getMixedOffsets()[d]);
      sizes.push_back(part.getMixedSizes()[d]);
    }
    SmallVector<OpFoldResult> ones(sizes.size(), b.getIndexAttr(1));
    operand = memref::SubViewOp::create(b, op.getLoc(), operand, offsets, sizes, ones);
  }
  return epilogue;
}

llvm::MapVector<Operation *, Epilogue> ringconv::findEpilogues(func::FuncOp func,
                                                               llvm::function_ref<bool(LocalConvOp)> takes) {
  llvm::MapVector<Operation *, Epilogue> found;
  func.walk([&](linalg::GenericOp op) {
    if (isElementwise(op))
      writeInPlace(op);
    SmallVector<LocalConvOp> convs = Candidate(op, takes).find();
    if (llvm::any_of(convs, [&](LocalConvOp conv) { return found.contains(conv); }))
      return;
    for (LocalConvOp conv : convs)
      found.insert({conv, cutTo(conv, op)});
  });
  return found;
}

// ===--------------------------------------------------------------------=== //
// Inside kernels
// ===--------------------------------------------------------------------=== //

void ringconv::passNumbers(KernelBuilder &kernel, const Epilogue &epilogue) {
  llvm::SetVector<Value> outside;
  linalg::GenericOp op = epilogue.op;
  getUsedValuesDefinedAbove(op->getRegions(), outside);
  for (Value v : outside)
    kernel.passScalar(v);
  for (Value operand : epilogue.operands)
    if (!isa<MemRefType>(operand.getType()))
      kernel.passScalar(operand);
}

Value ringconv::applyEpilogue(KernelBuilder &kernel, const Epilogue &epilogue, ValueRange values) {
  linalg::GenericOp op = epilogue.op;
  IRMapping map;
  llvm::SetVector<Value> outside;
  getUsedValuesDefinedAbove(op->getRegions(), outside);
  for (Value v : outside)
    map.map(v, kernel.passScalar(v));
  map.map(op.getBlock()->getArguments(), values);
  for (Operation &inner : op.getBlock()->without_terminator())
    kernel.body.clone(inner, map);
  return map.lookupOrDefault(op.getBlock()->getTerminator()->getOperand(0));
}

void ringconv::applyEpilogueAt(KernelBuilder &kernel, const Epilogue &epilogue, Value result, ArrayRef<Value> y) {
  linalg::GenericOp op = epilogue.op;
  SmallVector<Value> values;
  for (auto [n, operand] : llvm::enumerate(epilogue.operands)) {
    if (!isa<MemRefType>(operand.getType())) {
      values.push_back(kernel.passScalar(operand));
      continue;
    }
    SmallVector<Value> at;
    for (AffineExpr expr : op.getMatchingIndexingMap(&op->getOpOperand(n)).getResults())
      at.push_back(y[cast<AffineDimExpr>(expr).getPosition()]);
    Value memory = epilogue.isResult(n) ? result : kernel.passBuffer(operand);
    values.push_back(memref::LoadOp::create(kernel.body, kernel.loc, memory, at));
  }
  memref::StoreOp::create(kernel.body, kernel.loc, applyEpilogue(kernel, epilogue, values), result, y);
}
