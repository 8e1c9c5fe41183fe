// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients name the values that they are cut like. Such a value need not be
// computed for that: its halos would travel for nothing, and exchanges, once
// written, cannot be erased as dead.
#include "Partitioner.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace ringconv;

llvm::DenseSet<Operation *> ringconv::findUnused(Block &body) {
  llvm::DenseSet<Operation *> used, unused;
  auto use = [&](Value value) {
    if (Operation *maker = value.getDefiningOp())
      used.insert(maker);
  };
  for (Operation &op : llvm::reverse(body)) {
    if (wouldOpBeTriviallyDead(&op) && !used.contains(&op)) {
      unused.insert(&op);
      continue;
    }
    if (auto like = dyn_cast<ReshardLikeOp>(op)) {
      use(like.getInput());
      continue;
    }
    // Regions read values from outside as operands of what they hold.
    op.walk([&](Operation *inner) { llvm::for_each(inner->getOperands(), use); });
  }
  return unused;
}
