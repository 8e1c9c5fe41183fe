// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Calls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

using namespace mlir;
using namespace ringconv;

bool ringconv::givesErrorCode(func::CallOp call) {
  bool ours = call.getCallee().starts_with("ringconv_rt_") || call.getCallee().starts_with("ringconv_cuda_");
  return ours && call.getNumResults() == 1 && call.getResult(0).getType().isInteger(32);
}

void ringconv::returnZero(func::FuncOp func) {
  OpBuilder b(func.getContext());
  func.setFunctionType(b.getFunctionType(func.getArgumentTypes(), b.getI32Type()));
  func.walk([&](func::ReturnOp ret) {
    b.setInsertionPoint(ret);
    Value zero = arith::ConstantOp::create(b, ret.getLoc(), b.getI32IntegerAttr(0));
    ret.getOperandsMutable().assign(zero);
  });
}

void ringconv::checkCalls(func::FuncOp func) {
  SmallVector<func::CallOp> calls;
  func.walk([&](func::CallOp call) {
    if (givesErrorCode(call))
      calls.push_back(call);
  });
  returnZero(func);
  if (calls.empty())
    return;
  OpBuilder b(func.getContext());
  Block *failed = new Block();
  func.getBody().push_back(failed);
  Value code = failed->addArgument(b.getI32Type(), func.getLoc());
  b.setInsertionPointToEnd(failed);
  func::ReturnOp::create(b, func.getLoc(), code);
  for (func::CallOp call : calls) {
    Block *block = call->getBlock(), *rest = block->splitBlock(std::next(Block::iterator(call)));
    b.setInsertionPointToEnd(block);
    Location loc = call.getLoc();
    Value zero = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(0));
    Value good = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, call.getResult(0), zero);
    cf::CondBranchOp::create(b, loc, good, rest, ValueRange(), failed, ValueRange(call.getResult(0)));
  }
}
