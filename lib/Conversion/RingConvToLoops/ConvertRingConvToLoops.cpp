// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Loops.h"
#include "VectorPlan.h"
#include "ringconv/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace ringconv {
#define GEN_PASS_DEF_CONVERTRINGCONVTOLOOPSPASS
#include "ringconv/Conversion/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

void ringconv::markWork(Operation *op, IntegerAttr report) {
  if (!report)
    return;
  OpBuilder b(op);
  MarkOp::create(b, op->getLoc(), report, /*end=*/UnitAttr());
  b.setInsertionPointAfter(op);
  MarkOp::create(b, op->getLoc(), report, b.getUnitAttr());
}

namespace {
struct ConvertRingConvToLoopsPass : ringconv::impl::ConvertRingConvToLoopsPassBase<ConvertRingConvToLoopsPass> {
  using ConvertRingConvToLoopsPassBase::ConvertRingConvToLoopsPassBase;

  void runOnOperation() override {
    LoopOptions options{vectorize, vectorWidth, count};
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<LocalConvOp, LocalPoolOp, memref::CopyOp, linalg::GenericOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      for (Value operand : op->getOperands())
        if (isa<TensorType>(operand.getType())) {
          op->emitOpError() << "must be bufferized first";
          return signalPassFailure();
        }
      if (auto copy = dyn_cast<memref::CopyOp>(op)) {
        lowerStridedCopy(copy, options);
        continue;
      }
      if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
        lowerElementwise(generic, options);
        continue;
      }
      if (auto pool = dyn_cast<LocalPoolOp>(op)) {
        markWork(pool, pool.getReportAttr());
        lowerPool(pool, options);
        continue;
      }
      auto conv = cast<LocalConvOp>(op);
      markWork(conv, conv.getReportAttr());
      if (!options.vectorize || !lowerToVectorLoops(conv, options))
        lowerToPlainLoops(conv, options);
    }
    if (options.vectorize)
      expandErrorFunctions(getOperation());
  }

private:
  static void lowerPool(LocalPoolOp op, const LoopOptions &options) {
    std::string reason;
    if (options.vectorize && lowerToColumns(op, options, reason))
      return;
    if (options.vectorize)
      emitRemark(op.getLoc()) << "plain loops: " << reason;
    lowerToPlainLoops(op, options);
  }
};
} // namespace
