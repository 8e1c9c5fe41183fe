// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-check-allocations: generated code that gets no memory ends with an
// error code instead of writing through a null pointer.
#include "Calls.h"
#include "ringconv/Conversion/Passes.h"
#include "ringconv/Runtime/Program.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace ringconv {
#define GEN_PASS_DEF_CHECKALLOCATIONSPASS
#include "ringconv/Conversion/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

/// Splits behind `alloc`: on without memory to `failed`. An aligned pointer is
/// null where its allocation is: aligning rounds down from less than one step
/// above it.
static void checkAllocation(OpBuilder &b, memref::AllocOp alloc, Block *failed) {
  Location loc = alloc.getLoc();
  Block *block = alloc->getBlock(), *rest = block->splitBlock(std::next(Block::iterator(alloc)));
  b.setInsertionPointToEnd(block);
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, alloc);
  Value null = arith::ConstantIndexOp::create(b, loc, 0);
  Value none = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, address, null);
  cf::CondBranchOp::create(b, loc, none, failed, ValueRange(), rest, ValueRange());
}

namespace {
struct CheckAllocationsPass : ringconv::impl::CheckAllocationsPassBase<CheckAllocationsPass> {
  void runOnOperation() override {
    func::FuncOp func = getOperation();
    if (func.isExternal() || func.isPrivate())
      return;
    if (failed(lowerToBlocks(func)))
      return signalPassFailure();
    if (func.getNumResults() == 0)
      returnZero(func);
    SmallVector<memref::AllocOp> allocations(func.getOps<memref::AllocOp>());
    if (allocations.empty())
      return;
    OpBuilder b(func.getContext());
    auto *noMemory = new Block();
    func.getBody().push_back(noMemory);
    b.setInsertionPointToEnd(noMemory);
    Value code = arith::ConstantOp::create(b, func.getLoc(), b.getI32IntegerAttr(RINGCONV_RT_NO_MEMORY));
    func::ReturnOp::create(b, func.getLoc(), code);
    for (memref::AllocOp alloc : allocations)
      checkAllocation(b, alloc, noMemory);
  }
};
} // namespace
