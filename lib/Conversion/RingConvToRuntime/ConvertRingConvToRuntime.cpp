// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// convert-ringconv-to-runtime. Groups are opened first, so that control flow
// around their pieces becomes blocks like any other; then each call's error
// code is checked.
#include "Calls.h"
#include "ringconv/Conversion/Passes.h"

#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Transforms/DialectConversion.h"

namespace ringconv {
#define GEN_PASS_DEF_CONVERTRINGCONVTORUNTIMEPASS
#include "ringconv/Conversion/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

void ringconv::addContext(func::FuncOp func) {
  Type pointer = LLVM::LLVMPointerType::get(func.getContext());
  (void)func.insertArgument(0, pointer, {}, func.getLoc());
}

/// One round: lowering one operation may make others, for the next.
static bool lowerAll(func::FuncOp func, RuntimeCalls &calls) {
  SmallVector<Operation *> groups, others;
  func.walk([&](Operation *op) {
    if (isa<GroupOp>(op))
      groups.push_back(op);
    else if (isa_and_present<RingConvDialect>(op->getDialect()) && !isa<WaitOp>(op))
      others.push_back(op);
  });
  bool any = false;
  for (Operation *op : groups)
    any |= calls.lower(op);
  for (Operation *op : others)
    any |= calls.lower(op);
  return any;
}

void ringconv::lowerToCalls(func::FuncOp func, RuntimeCalls &calls) {
  while (lowerAll(func, calls)) {
  }
}

LogicalResult ringconv::lowerToBlocks(func::FuncOp func) {
  RewritePatternSet patterns(func.getContext());
  populateSCFToControlFlowConversionPatterns(patterns);
  ConversionTarget target(*func.getContext());
  target.addIllegalOp<scf::ForOp, scf::IfOp, scf::WhileOp, scf::ExecuteRegionOp, scf::IndexSwitchOp,
                      scf::ParallelOp>();
  target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
  return applyPartialConversion(func, target, std::move(patterns));
}

void ringconv::dropShardAttributes(func::FuncOp func) {
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    for (StringRef name : {kShardOf, kName, kParameter, kWantsGrad})
      func.removeArgAttr(i, name);
}

namespace {
struct ConvertRingConvToRuntimePass
    : ringconv::impl::ConvertRingConvToRuntimePassBase<ConvertRingConvToRuntimePass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<func::FuncOp> funcs(module.getOps<func::FuncOp>());
    NamedAttrList exchanges;
    for (func::FuncOp func : funcs) {
      // Helpers that bufferization made know nothing of ranks.
      if (func.isExternal() || func.isPrivate())
        continue;
      if (func.getNumResults()) {
        func.emitError() << "@" << func.getSymName() << " must return through arguments";
        return signalPassFailure();
      }
      dropShardAttributes(func);
      addContext(func);
      RuntimeCalls calls(module, func);
      lowerToCalls(func, calls);
      SmallVector<int64_t> numbers{calls.numExchanges()};
      llvm::append_range(numbers, calls.exchanges());
      exchanges.set(func.getSymName(), DenseI64ArrayAttr::get(&getContext(), numbers));
      if (failed(lowerToBlocks(func)))
        return signalPassFailure();
      checkCalls(func);
    }
    for (MeshOp mesh : llvm::make_early_inc_range(module.getOps<MeshOp>()))
      mesh.erase();
    module->setAttr("ringconv.exchanges", exchanges.getDictionary(&getContext()));
  }
};
} // namespace
