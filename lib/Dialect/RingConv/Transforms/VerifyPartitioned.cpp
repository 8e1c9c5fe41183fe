// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-verify-partitioned: the contract between ringconv-partition and what
// follows it.
#include "ringconv/Dialect/RingConv/Transforms/Partition.h"
#include "ringconv/Dialect/RingConv/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ringconv {
#define GEN_PASS_DEF_VERIFYPARTITIONEDPASS
#include "ringconv/Dialect/RingConv/Transforms/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

static LogicalResult checkType(func::FuncOp func, const Twine &what, Type type, Attribute attr, MeshAttr mesh) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return success();
  auto shardOf = llvm::dyn_cast_or_null<ShardOfAttr>(attr);
  if (!shardOf)
    return func.emitError() << what << " has no ringconv.shard_of";
  RankedTensorType expected = shardType(shardOf.getType(), shardOf.getSharding(), mesh);
  if (tensor != expected)
    return func.emitError() << what << " must be " << expected << " as the shard of " << shardOf.getType() << ", got "
                            << tensor;
  return success();
}

/// What starts put into flight belongs to one wait: any other use reads a slab
/// before it is there.
template <typename StartOp> static LogicalResult checkStart(StartOp start) {
  if (!start.getToken().hasOneUse() || !isa<WaitOp>(*start.getToken().user_begin()))
    return start.emitOpError() << "needs exactly one wait for its token";
  Operation *wait = *start.getToken().user_begin();
  for (auto [i, slab] : llvm::enumerate(start->getResults().drop_back()))
    if (!slab.hasOneUse() || *slab.user_begin() != wait)
      return start.emitOpError() << "slab " << i << " is used by something else than its wait";
  return success();
}

namespace {
struct VerifyPartitionedPass : ringconv::impl::VerifyPartitionedPassBase<VerifyPartitionedPass> {
  void runOnOperation() override {
    FailureOr<MeshOp> mesh = findMesh(getOperation());
    if (failed(mesh))
      return signalPassFailure();
    if (!*mesh) {
      getOperation().emitError() << "a partitioned program has a mesh";
      return signalPassFailure();
    }
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
      if (failed(check(func, mesh->getMesh())))
        return signalPassFailure();
    markAllAnalysesPreserved();
  }

private:
  LogicalResult check(func::FuncOp func, MeshAttr mesh) {
    for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
      if (failed(checkType(func, "argument " + Twine(i), type, func.getArgAttr(i, kShardOf), mesh)))
        return failure();
    for (auto [i, type] : llvm::enumerate(func.getResultTypes()))
      if (failed(checkType(func, "result " + Twine(i), type, func.getResultAttr(i, kShardOf), mesh)))
        return failure();
    auto result = func.walk([&](Operation *op) -> WalkResult {
      if (isa<ConvOp, PoolOp, PoolGradOp, FoldBorderOp, ReshardOp, ReshardLikeOp>(op))
        return op->emitOpError() << "may not stand in a partitioned program", WalkResult::interrupt();
      if (auto start = dyn_cast<StartOp>(op))
        return failed(checkStart(start)) ? WalkResult::interrupt() : WalkResult::advance();
      if (auto start = dyn_cast<StartReduceOp>(op))
        return failed(checkStart(start)) ? WalkResult::interrupt() : WalkResult::advance();
      return WalkResult::advance();
    });
    return failure(result.wasInterrupted());
  }
};
} // namespace
