// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// convert-ringconv-to-nccl.
#include "NCCLCalls.h"
#include "ringconv/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ringconv {
#define GEN_PASS_DEF_CONVERTRINGCONVTONCCLPASS
#include "ringconv/Conversion/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

namespace {
struct ConvertRingConvToNCCLPass : ringconv::impl::ConvertRingConvToNCCLPassBase<ConvertRingConvToNCCLPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    NamedAttrList exchanges;
    SmallVector<func::FuncOp> funcs(module.getOps<func::FuncOp>());
    SmallVector<int64_t> sums;
    for (func::FuncOp func : funcs) {
      if (func.isExternal() || func.isPrivate())
        continue;
      if (func.getNumResults()) {
        func.emitError() << "@" << func.getSymName() << " must return through arguments";
        return signalPassFailure();
      }
      addContext(func);
      NCCLCalls calls(module, func, sums);
      lowerAll<GroupOp>(func, calls);
      lowerAll<SendOp, RecvOp, AllReduceOp, StartReduceOp, ReduceScatterOp>(func, calls);
      if (calls.hasFailed())
        return signalPassFailure();
      SmallVector<int64_t> numbers{calls.numExchanges()};
      llvm::append_range(numbers, calls.exchanges());
      exchanges.set(func.getSymName(), DenseI64ArrayAttr::get(&getContext(), numbers));
    }
    module->setAttr("ringconv.exchanges", exchanges.getDictionary(&getContext()));
    module->setAttr("ringconv.sums", DenseI64ArrayAttr::get(&getContext(), sums));
  }

private:
  template <typename... Ops> static void lowerAll(func::FuncOp func, NCCLCalls &calls) {
    SmallVector<Operation *> ops;
    func.walk([&](Operation *op) {
      if (isa<Ops...>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      calls.lower(op);
  }
};
} // namespace
