// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// scf.index_switch: branches inside each other, the last is the default. What
// follows then knows one kind of branch.
#include "Raise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ringconv;

/// The operations of a region, terminator included, instead of those of `to`.
static void moveInto(Region &from, Block *to) {
  to->clear();
  to->getOperations().splice(to->end(), from.front().getOperations());
}

/// A switch without cases is its default.
static void openDefault(scf::IndexSwitchOp op) {
  Operation *yield = op.getDefaultBlock().getTerminator();
  op.replaceAllUsesWith(yield->getOperands());
  yield->erase();
  op->getBlock()->getOperations().splice(op->getIterator(), op.getDefaultBlock().getOperations());
  op.erase();
}

bool raise::raiseSwitch(Operation *operation) {
  auto op = dyn_cast<scf::IndexSwitchOp>(operation);
  if (!op)
    return false;
  if (op.getNumCases() == 0)
    return openDefault(op), true;
  OpBuilder b(op);
  Location loc = op.getLoc();
  scf::IfOp first, last;
  for (auto [value, region] : llvm::zip(op.getCases(), op.getCaseRegions())) {
    Value number = arith::ConstantIndexOp::create(b, loc, value);
    Value is = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, op.getArg(), number);
    auto branch = scf::IfOp::create(b, loc, op.getResultTypes(), is, true);
    moveInto(region, branch.thenBlock());
    if (last)
      scf::YieldOp::create(b, loc, branch.getResults());
    else
      first = branch;
    last = branch;
    branch.elseBlock()->clear();
    b.setInsertionPointToEnd(branch.elseBlock());
  }
  moveInto(op.getDefaultRegion(), last.elseBlock());
  op.replaceAllUsesWith(first.getResults());
  op.erase();
  return true;
}
