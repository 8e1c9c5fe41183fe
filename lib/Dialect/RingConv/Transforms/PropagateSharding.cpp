// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-propagate-sharding: writes down what the analysis found. A value is
// resharded where an operation computes it otherwise than it is used, before an
// operation that needs it otherwise, and on its way into and out of regions.
#include "Entries.h"
#include "ShardingAnalysis.h"
#include "ringconv/Dialect/RingConv/Transforms/Passes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ringconv {
#define GEN_PASS_DEF_PROPAGATESHARDINGPASS
#include "ringconv/Dialect/RingConv/Transforms/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

namespace {
class Writer {
public:
  Writer(func::FuncOp func, const ShardingAnalysis &analysis)
      : func(func), analysis(analysis), b(func.getContext()) {}

  void run() {
    SmallVector<Operation *> ops;
    func.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      visit(op);
    for (auto [i, value] : llvm::enumerate(func.getBody().front().getTerminator()->getOperands()))
      if (ShardingAttr sharding = analysis.result(i))
        func.setResultAttr(i, kSharding, sharding);
  }

private:
  void visit(Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op))
      return needAll(loop.getInitArgsMutable(), loop.getRegionIterArgs());
    if (auto loop = dyn_cast<scf::WhileOp>(op))
      return needAll(loop.getInitsMutable(), loop.getBeforeArguments());
    if (isa<scf::YieldOp>(op))
      return visitYield(op);
    if (isa<func::ReturnOp>(op)) {
      for (OpOperand &operand : op->getOpOperands())
        need(operand, analysis.result(operand.getOperandNumber()));
      return;
    }
    if (auto reshard = dyn_cast<ReshardOp>(op))
      return fold(reshard);
    if (const Decision *decision = analysis.decision(op))
      visitCut(op, *decision);
  }

  void fold(ReshardOp op) {
    if (shardingOf(op.getInput()) != analysis.of(op.getResult()))
      return;
    op.replaceAllUsesWith(op.getInput());
    op.erase();
  }

  void visitYield(Operation *op) {
    Operation *parent = op->getParentOp();
    MutableArrayRef<OpOperand> operands = op->getOpOperands();
    if (auto loop = dyn_cast<scf::ForOp>(parent))
      return needAll(operands, loop.getRegionIterArgs());
    if (auto loop = dyn_cast<scf::WhileOp>(parent))
      return needAll(operands, loop.getBeforeArguments());
    if (isa<scf::IfOp>(parent))
      needAll(operands, parent->getResults());
  }

  void visitCut(Operation *op, const Decision &decision) {
    for (OpOperand &operand : op->getOpOperands())
      need(operand, decision.operands[operand.getOperandNumber()]);
    for (auto [result, computed] : llvm::zip(op->getResults(), decision.results)) {
      ShardingAttr sharding = analysis.of(result);
      if (!sharding || sharding == computed)
        continue;
      b.setInsertionPointAfter(op);
      Value moved = ReshardOp::create(b, op->getLoc(), result.getType(), result, sharding);
      result.replaceAllUsesExcept(moved, moved.getDefiningOp());
      shardings[moved] = sharding;
    }
  }

  template <typename Values> void needAll(MutableArrayRef<OpOperand> operands, Values targets) {
    for (auto [operand, target] : llvm::zip(operands, targets))
      need(operand, analysis.of(target));
  }

  ShardingAttr shardingOf(Value value) const {
    auto made = shardings.find(value);
    return made == shardings.end() ? analysis.of(value) : made->second;
  }

  /// Values that any rank can make are made as they are needed.
  void need(OpOperand &operand, ShardingAttr sharding) {
    Value value = operand.get();
    if (!sharding || sharding == shardingOf(value) || isFree(value))
      return;
    b.setInsertionPoint(operand.getOwner());
    Value moved = ReshardOp::create(b, operand.getOwner()->getLoc(), value.getType(), value, sharding);
    shardings[moved] = sharding;
    operand.set(moved);
  }

  func::FuncOp func;
  const ShardingAnalysis &analysis;
  OpBuilder b;
  llvm::DenseMap<Value, ShardingAttr> shardings; ///< of values that were made here
};

struct PropagateShardingPass : ringconv::impl::PropagateShardingPassBase<PropagateShardingPass> {
  void runOnOperation() override {
    auto propagate = [](func::FuncOp func, const MeshContext &mesh) -> LogicalResult {
      ShardingAnalysis analysis(func, mesh);
      if (failed(analysis.run()))
        return failure();
      Writer(func, analysis).run();
      return success();
    };
    if (failed(forEachEntry(getOperation(), propagate)))
      signalPassFailure();
  }
};
} // namespace
