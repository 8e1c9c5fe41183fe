// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Upstream's annotations: grids are meshes whose axes are named axis0, axis1,
// ...; an annotated argument or result carries its sharding, other annotated
// values are resharded.
#include "Raise.h"

#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace ringconv;

static StringAttr axisName(MLIRContext *ctx, int64_t axis) { return StringAttr::get(ctx, "axis" + Twine(axis)); }

static LogicalResult raiseGrid(shard::GridOp grid) {
  MLIRContext *ctx = grid.getContext();
  SmallVector<StringAttr> axes;
  for (auto [axis, extent] : llvm::enumerate(grid.getShape())) {
    if (ShapedType::isDynamic(extent))
      return grid.emitOpError() << "axis " << axis << ": a mesh needs a static extent, got ?";
    axes.push_back(axisName(ctx, axis));
  }
  auto emit = [&] { return grid.emitOpError(); };
  auto mesh = MeshAttr::getChecked(function_ref<InFlightDiagnostic()>(emit), ctx, ArrayRef<StringAttr>(axes),
                                   grid.getShape(), ArrayRef<int64_t>());
  if (!mesh)
    return failure();
  OpBuilder b(grid);
  MeshOp::create(b, grid.getLoc(), grid.getSymName(), mesh);
  grid.erase();
  return success();
}

/// The offsets of upstream are the cuts of the dimensions that are split, one
/// after the other.
static FailureOr<ShardingAttr> shardingOf(shard::ShardOp op) {
  MLIRContext *ctx = op.getContext();
  auto from = op.getSharding().getDefiningOp<shard::ShardingOp>();
  if (!from)
    return op.emitOpError() << "the sharding must be given by shard.sharding";
  if (!from.getStaticHaloSizes().empty())
    return from.emitOpError() << "halo_sizes cannot be raised: ringconv computes halos itself";
  if (!from.getDynamicShardedDimsOffsets().empty())
    return from.emitOpError() << "sharded_dims_offsets must be constants";
  MeshOp mesh = lookupMesh(op, from.getGridAttr());
  if (!mesh)
    return from.emitOpError() << "no grid named @" << from.getGrid();
  ArrayRef<int64_t> offsets = from.getStaticShardedDimsOffsets(), extents = mesh.getMesh().getExtents();
  SmallVector<DimShardingAttr> dims;
  int64_t rank = cast<ShapedType>(op.getType()).getRank();
  for (shard::GridAxesAttr split : from.getSplitAxes().getAxes()) {
    SmallVector<StringAttr> axes;
    int64_t parts = 1;
    for (int64_t axis : split.asArrayRef()) {
      if (axis < 0 || axis >= int64_t(extents.size()))
        return from.emitOpError() << "dim " << dims.size() << ": the grid has no axis " << axis;
      axes.push_back(axisName(ctx, axis));
      parts *= extents[axis];
    }
    ArrayRef<int64_t> cuts;
    if (!axes.empty() && !from.getStaticShardedDimsOffsets().empty()) {
      if (int64_t(offsets.size()) < parts + 1)
        return from.emitOpError() << "dim " << dims.size() << ": " << parts << " parts need " << parts + 1
                                  << " sharded_dims_offsets, got " << offsets.size();
      cuts = offsets.take_front(parts + 1);
      offsets = offsets.drop_front(parts + 1);
    }
    dims.push_back(DimShardingAttr::get(ctx, axes, cuts));
  }
  if (!offsets.empty())
    return from.emitOpError() << "sharded_dims_offsets has " << offsets.size() << " values too many";
  if (int64_t(dims.size()) > rank)
    return from.emitOpError() << "split_axes names " << dims.size() << " dimensions of a tensor that has " << rank;
  dims.resize(rank, DimShardingAttr::get(ctx, {}, {}));
  return ShardingAttr::get(ctx, from.getGridAttr(), dims);
}

/// An argument has the sharding that its definition is annotated with, or, if
/// nothing says so, the one that all its users want.
static void raiseArguments(FunctionOpInterface func, ArrayRef<ReshardOp> definitions) {
  for (BlockArgument arg : func.getArguments()) {
    ReshardOp found;
    for (Operation *user : arg.getUsers())
      if (auto reshard = dyn_cast<ReshardOp>(user); reshard && llvm::is_contained(definitions, reshard) && !found)
        found = reshard;
    auto wanted = [&](Operation *user) {
      auto reshard = dyn_cast<ReshardOp>(user);
      return reshard && reshard.getSharding() == cast<ReshardOp>(*arg.user_begin()).getSharding();
    };
    if (!found && !arg.use_empty() && isa<ReshardOp>(*arg.user_begin()) && llvm::all_of(arg.getUsers(), wanted))
      found = cast<ReshardOp>(*arg.user_begin());
    if (!found || func.getArgAttr(arg.getArgNumber(), kSharding))
      continue;
    ShardingAttr sharding = found.getSharding();
    func.setArgAttr(arg.getArgNumber(), kSharding, sharding);
    for (Operation *user : llvm::make_early_inc_range(arg.getUsers()))
      if (auto reshard = dyn_cast<ReshardOp>(user); reshard && reshard.getSharding() == sharding) {
        reshard.replaceAllUsesWith(arg);
        reshard.erase();
      }
  }
}

/// A result has the sharding that its value has got last.
static void raiseResults(FunctionOpInterface func) {
  Operation *terminator = func.getFunctionBody().back().getTerminator();
  if (!func.getFunctionBody().hasOneBlock())
    return;
  for (OpOperand &operand : terminator->getOpOperands()) {
    auto reshard = operand.get().getDefiningOp<ReshardOp>();
    if (!reshard || func.getResultAttr(operand.getOperandNumber(), kSharding))
      continue;
    func.setResultAttr(operand.getOperandNumber(), kSharding, reshard.getSharding());
    operand.set(reshard.getInput());
    if (reshard.use_empty())
      reshard.erase();
  }
}

/// Twice the same in a row: the definition and its user.
static void foldRepeated(ReshardOp op) {
  auto before = op.getInput().getDefiningOp<ReshardOp>();
  if (!before || before.getSharding() != op.getSharding())
    return;
  op.replaceAllUsesWith(before.getResult());
  op.erase();
}

LogicalResult raise::raiseShard(ModuleOp module) {
  SmallVector<shard::GridOp> grids(module.getOps<shard::GridOp>());
  for (shard::GridOp grid : grids)
    if (failed(raiseGrid(grid)))
      return failure();
  SmallVector<shard::ShardOp> shards;
  module.walk([&](shard::ShardOp op) { shards.push_back(op); });
  SmallVector<ReshardOp> all, definitions;
  for (shard::ShardOp op : shards) {
    auto sharding = shardingOf(op);
    if (failed(sharding))
      return failure();
    OpBuilder b(op);
    all.push_back(ReshardOp::create(b, op.getLoc(), op.getType(), op.getSrc(), *sharding));
    if (!op.getAnnotateForUsers())
      definitions.push_back(all.back());
    op.replaceAllUsesWith(all.back().getResult());
    op.erase();
  }
  if (!all.empty()) {
    // In reverse, so that an operation is looked at before the one it follows.
    for (ReshardOp op : llvm::reverse(all))
      foldRepeated(op);
    module.walk([&](FunctionOpInterface func) {
      if (func.isExternal())
        return;
      raiseArguments(func, definitions);
      raiseResults(func);
    });
  }
  module.walk([&](shard::ShardingOp op) {
    if (op->use_empty())
      op->erase();
  });
  auto result = module.walk([&](Operation *op) {
    if (!isa_and_nonnull<shard::ShardDialect>(op->getDialect()))
      return WalkResult::advance();
    op->emitOpError() << "cannot be raised: only grids and annotations of values can";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}
