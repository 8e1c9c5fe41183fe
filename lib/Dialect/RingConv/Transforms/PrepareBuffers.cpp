// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-prepare-buffers.
#include "ringconv/Dialect/RingConv/IR/RingConv.h"
#include "ringconv/Dialect/RingConv/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace ringconv {
#define GEN_PASS_DEF_PREPAREBUFFERSPASS
#include "ringconv/Dialect/RingConv/Transforms/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

/// A value in a buffer of its own: made by an operation with a destination of
/// the program, not by an argument or a constant.
static bool isOwned(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_present<LocalConvOp, LocalPoolOp, linalg::GenericOp, RedistributeOp, AllReduceOp, ReduceScatterOp>(op);
}

/// outs(empty) becomes outs(input) where the input dies here: one-shot
/// bufferization does not reuse it otherwise.
static void reuseInput(linalg::GenericOp op) {
  if (op.getNumDpsInits() != 1 || !op.getDpsInits()[0].getDefiningOp<tensor::EmptyOp>() ||
      op.getNumParallelLoops() != op.getNumLoops())
    return;
  OpOperand &init = *op.getDpsInitOperand(0);
  AffineMap map = op.getMatchingIndexingMap(&init);
  if (!map.isIdentity() || !op.getMatchingBlockArgument(&init).use_empty())
    return;
  for (OpOperand *input : op.getDpsInputOperands()) {
    Value value = input->get();
    if (value.getType() != init.get().getType() || op.getMatchingIndexingMap(input) != map || !isOwned(value) ||
        !value.hasOneUse() || value.getParentBlock() != op->getBlock())
      continue;
    init.set(value);
    return;
  }
}

/// What a loop carries is written where it lay, if the operation that makes it
/// anew comes behind all that read it.
static void carryInPlace(scf::ForOp loop) {
  Block &body = *loop.getBody();
  for (auto [arg, yielded] : llvm::zip(loop.getRegionIterArgs(), body.getTerminator()->getOperands())) {
    auto op = yielded.getDefiningOp<DestinationStyleOpInterface>();
    if (!op || op->getBlock() != &body || yielded.getType() != arg.getType())
      continue;
    OpOperand *init = op.getTiedOpOperand(cast<OpResult>(yielded));
    auto isBefore = [&](Operation *user) {
      Operation *ancestor = body.findAncestorOpInBlock(*user);
      return ancestor != op && ancestor->isBeforeInBlock(op);
    };
    if (init->get().getDefiningOp<tensor::EmptyOp>() && llvm::all_of(arg.getUsers(), isBefore))
      init->set(arg);
  }
}

/// A value that is returned twice gets a second buffer: each result is written
/// into memory of the caller, and those are two places.
static void separateResults(func::FuncOp func) {
  llvm::SmallDenseSet<Value> seen;
  func.walk([&](func::ReturnOp op) {
    OpBuilder b(op);
    for (OpOperand &operand : op->getOpOperands())
      if (isa<TensorType>(operand.get().getType()) && !seen.insert(operand.get()).second)
        operand.set(bufferization::AllocTensorOp::create(b, op.getLoc(), cast<RankedTensorType>(operand.get().getType()),
                                                         ValueRange(), operand.get()));
  });
}

namespace {
struct PrepareBuffersPass : ringconv::impl::PrepareBuffersPassBase<PrepareBuffersPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    for (unsigned i = 0; i < func.getNumArguments(); ++i)
      if (isa<TensorType>(func.getArgumentTypes()[i]))
        func.setArgAttr(i, bufferization::BufferizationDialect::kWritableAttrName,
                        BoolAttr::get(&getContext(), false));
    RewritePatternSet patterns(&getContext());
    tensor::populateDecomposeTensorConcatPatterns(patterns);
    if (failed(applyPatternsGreedily(func, std::move(patterns))))
      return signalPassFailure();
    func.walk(reuseInput);
    func.walk(carryInPlace);
    separateResults(func);
  }
};
} // namespace
