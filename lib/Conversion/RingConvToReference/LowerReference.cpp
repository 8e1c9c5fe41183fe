// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-lower-reference: the program that --check compares with.
#include "Reference.h"
#include "ringconv/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace ringconv {
#define GEN_PASS_DEF_LOWERREFERENCEPASS
#include "ringconv/Conversion/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

/// A window operation without dynamic sizes, which the loops are made from.
static LogicalResult checkStatic(Operation *op) {
  for (Type type : llvm::concat<const Type>(SmallVector<Type>(op->getOperandTypes()), op->getResultTypes()))
    if (!cast<ShapedType>(type).hasStaticShape())
      return op->emitOpError() << "needs static shapes for the reference, got " << type;
  return success();
}

static LogicalResult lowerOp(Operation *op) {
  if (isa<MeshOp>(op) || !isa_and_nonnull<RingConvDialect>(op->getDialect()))
    return success();
  if (isa<ReshardOp, ReshardLikeOp>(op)) {
    op->replaceAllUsesWith(ValueRange(op->getOperand(0)));
    op->erase();
    return success();
  }
  if (!isa<ConvOp, PoolOp, PoolGradOp, FoldBorderOp>(op))
    return op->emitOpError() << "is not part of a program over whole tensors, which has only ringconv.conv, "
                                "ringconv.pool, their gradients and ringconv.reshard";
  if (failed(checkStatic(op)))
    return failure();
  OpBuilder builder(op);
  Value result = llvm::TypeSwitch<Operation *, Value>(op)
                     .Case([&](ConvOp conv) { return reference::lowerConv(builder, conv); })
                     .Case([&](PoolOp pool) { return reference::lowerPool(builder, pool); })
                     .Case([&](PoolGradOp pool) { return reference::lowerPoolGrad(builder, pool); })
                     .Case([&](FoldBorderOp fold) { return reference::lowerFold(builder, fold); });
  op->replaceAllUsesWith(ValueRange(result));
  op->erase();
  return success();
}

/// `attrs` without those of our dialect.
static DictionaryAttr upstreamOnly(DictionaryAttr attrs) {
  SmallVector<NamedAttribute> kept;
  for (NamedAttribute attr : attrs)
    if (!isa_and_nonnull<RingConvDialect>(attr.getNameDialect()))
      kept.push_back(attr);
  return DictionaryAttr::get(attrs.getContext(), kept);
}

static void dropAttributes(FunctionOpInterface func) {
  for (unsigned i = 0; i < func.getNumArguments(); ++i)
    if (DictionaryAttr attrs = func.getArgAttrDict(i))
      func.setArgAttrs(i, upstreamOnly(attrs));
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    if (DictionaryAttr attrs = func.getResultAttrDict(i))
      func.setResultAttrs(i, upstreamOnly(attrs));
}

namespace {
struct LowerReferencePass : ringconv::impl::LowerReferencePassBase<LowerReferencePass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) { ops.push_back(op); });
    // Functions stay, and operations inside them may be erased: collected first.
    for (Operation *op : ops) {
      if (auto func = dyn_cast<FunctionOpInterface>(op))
        dropAttributes(func);
      else if (failed(lowerOp(op)))
        return signalPassFailure();
    }
    for (MeshOp mesh : llvm::make_early_inc_range(getOperation().getOps<MeshOp>()))
      mesh.erase();
  }
};
} // namespace
