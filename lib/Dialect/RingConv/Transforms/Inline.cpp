// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Inline.h"
#include "ringconv/Dialect/RingConv/IR/RingConv.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace ringconv;

static Value reshardTo(OpBuilder &b, Location loc, Value value, ShardingAttr sharding) {
  return sharding ? ReshardOp::create(b, loc, value.getType(), value, sharding).getResult() : value;
}

static LogicalResult inlineCall(func::CallOp call, func::FuncOp callee) {
  if (callee.isExternal() || !callee.getBody().hasOneBlock())
    return call.emitOpError() << "@" << callee.getSymName() << " must have a body of one block";
  OpBuilder b(call);
  IRMapping map;
  for (auto [i, operand] : llvm::enumerate(call.getOperands()))
    map.map(callee.getArgument(i), reshardTo(b, call.getLoc(), operand,
                                             callee.getArgAttrOfType<ShardingAttr>(i, kSharding)));
  Block &body = callee.getBody().front();
  for (Operation &op : body.without_terminator())
    b.clone(op, map);
  for (auto [i, value] : llvm::enumerate(body.getTerminator()->getOperands()))
    call.getResult(i).replaceAllUsesWith(reshardTo(b, call.getLoc(), map.lookupOrDefault(value),
                                                   callee.getResultAttrOfType<ShardingAttr>(i, kSharding)));
  call.erase();
  return success();
}

/// Inlines the calls of `func`, callees first. `open` holds the functions on
/// the way from an entry to here.
static LogicalResult inlineCalls(func::FuncOp func, SmallVectorImpl<func::FuncOp> &open,
                                 llvm::DenseSet<Operation *> &done) {
  if (!done.insert(func).second)
    return success();
  open.push_back(func);
  SmallVector<func::CallOp> calls;
  func.walk([&](func::CallOp call) { calls.push_back(call); });
  for (func::CallOp call : calls) {
    auto callee = SymbolTable::lookupNearestSymbolFrom<func::FuncOp>(call, call.getCalleeAttr());
    if (!callee)
      return call.emitOpError() << "calls @" << call.getCallee() << ", which is no function of this module";
    if (llvm::is_contained(open, callee))
      return call.emitOpError() << "recursion through @" << callee.getSymName() << " cannot be partitioned";
    if (failed(inlineCalls(callee, open, done)) || failed(inlineCall(call, callee)))
      return failure();
  }
  open.pop_back();
  return success();
}

LogicalResult ringconv::inlineCallsOf(func::FuncOp func) {
  SmallVector<func::FuncOp> open;
  llvm::DenseSet<Operation *> done;
  return inlineCalls(func, open, done);
}

LogicalResult ringconv::inlinePrivateFunctions(ModuleOp module) {
  SmallVector<func::FuncOp> open;
  llvm::DenseSet<Operation *> done;
  for (func::FuncOp func : module.getOps<func::FuncOp>())
    if (!func.isExternal() && failed(inlineCalls(func, open, done)))
      return failure();
  for (func::FuncOp func : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (func.isPrivate())
      func.erase();
  return success();
}
