// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sharding of every value of a function, and the decision for every
// operation. Forward from the arguments; what results ask for goes backward
// first, as a wish that is met where no operand speaks against it.
#ifndef RINGCONV_LIB_TRANSFORMS_SHARDINGANALYSIS_H
#define RINGCONV_LIB_TRANSFORMS_SHARDINGANALYSIS_H

#include "Decision.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ringconv {

class ShardingAnalysis {
public:
  ShardingAnalysis(mlir::func::FuncOp func, const MeshContext &mesh) : func(func), mesh(mesh) {}

  /// Errors stand at the operation that cannot be cut as its operands are.
  mlir::LogicalResult run();

  /// Null for values that are no ranked tensors.
  ShardingAttr of(mlir::Value value) const { return shardings.lookup(value); }
  /// Null for operations that are not cut (all their operands are whole).
  const Decision *decision(mlir::Operation *op) const;
  /// The sharding that result `i` of the function has.
  ShardingAttr result(unsigned i) const { return results[i]; }

private:
  void wish(mlir::Value value, ShardingAttr sharding, bool exact);
  void collectWishes(mlir::Block &block);
  void wishOperands(mlir::Operation *op, ShardingAttr sharding, bool exact);
  mlir::LogicalResult analyze(mlir::Block &block);
  mlir::LogicalResult analyze(mlir::Operation *op);
  mlir::LogicalResult analyzeLoop(mlir::Operation *op);
  mlir::LogicalResult analyzeCarried(mlir::Block::BlockArgListType args, mlir::Block &body,
                                     llvm::function_ref<mlir::LogicalResult()> analyzeBody,
                                     llvm::SmallVectorImpl<ShardingAttr> &carried);
  mlir::LogicalResult analyzeBranch(mlir::Operation *op);
  mlir::LogicalResult analyzeUncut(mlir::Operation *op);
  ShardingAttr whole(mlir::Value value) const;
  ShardingAttr wantedOf(mlir::Value value) const;

  mlir::func::FuncOp func;
  const MeshContext &mesh;
  llvm::DenseMap<mlir::Value, ShardingAttr> shardings, wanted, hints;
  llvm::DenseMap<mlir::Operation *, Decision> decisions;
  llvm::SmallVector<ShardingAttr> results;
};

/// A value that any rank can make at any shard without data: splat constants,
/// tensor.empty, and fills of the latter.
bool isFree(mlir::Value value);

} // namespace ringconv

#endif
