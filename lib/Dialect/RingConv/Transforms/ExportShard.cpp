// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-export-shard: our annotations as upstream's, the way back from
// RaiseShard.cpp.
#include "ringconv/Dialect/RingConv/IR/RingConv.h"
#include "ringconv/Dialect/RingConv/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Shard/IR/ShardOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace ringconv {
#define GEN_PASS_DEF_EXPORTSHARDPASS
#include "ringconv/Dialect/RingConv/Transforms/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

/// Offsets stand for all cut dimensions or for none: none only where all parts
/// of each are equal, as upstream assumes without them.
static SmallVector<int64_t> offsetsOf(ShardingAttr sharding, ArrayRef<int64_t> shape, MeshAttr mesh) {
  SmallVector<int64_t> offsets;
  bool even = true;
  for (auto [dim, size] : llvm::zip(sharding.getDims(), shape)) {
    if (!dim.isCut())
      continue;
    halo::Cuts cuts = cutsOf(dim, size, mesh);
    llvm::append_range(offsets, cuts.bounds);
    even &= cuts.even();
  }
  return even ? SmallVector<int64_t>() : offsets;
}

/// `value` with its sharding, and the annotation.
static Value annotate(OpBuilder &b, Value value, ShardingAttr sharding, MeshAttr mesh, bool forUsers) {
  SmallVector<shard::GridAxesAttr> splits;
  for (DimShardingAttr dim : sharding.getDims()) {
    SmallVector<shard::GridAxis> axes;
    for (StringAttr name : dim.getAxes())
      axes.push_back(mesh.axisIndex(name.getValue()));
    splits.push_back(shard::GridAxesAttr::get(b.getContext(), axes));
  }
  auto shape = cast<RankedTensorType>(value.getType()).getShape();
  SmallVector<int64_t> offsets = offsetsOf(sharding, shape, mesh);
  // Attribute by attribute: the builders of plain numbers mix up halos and offsets.
  auto described =
      shard::ShardingOp::create(b, value.getLoc(), shard::ShardingType::get(b.getContext()), sharding.getMesh(),
                                shard::GridAxesArrayAttr::get(b.getContext(), splits), b.getDenseI64ArrayAttr(offsets),
                                ValueRange(), b.getDenseI64ArrayAttr({}), ValueRange());
  return shard::ShardOp::create(b, value.getLoc(), value, described, forUsers);
}

static void exportFunction(func::FuncOp func, MeshAttr mesh) {
  if (func.isExternal())
    return;
  OpBuilder b(func.getContext());
  SmallVector<ReshardOp> reshards;
  func.walk([&](ReshardOp op) { reshards.push_back(op); });
  for (ReshardOp op : reshards) {
    b.setInsertionPoint(op);
    op.replaceAllUsesWith(annotate(b, op.getInput(), op.getSharding(), mesh, true));
    op.erase();
  }
  b.setInsertionPointToStart(&func.getBody().front());
  for (BlockArgument arg : func.getArguments())
    if (auto sharding = func.getArgAttrOfType<ShardingAttr>(arg.getArgNumber(), kSharding)) {
      Value value = annotate(b, arg, sharding, mesh, false);
      arg.replaceAllUsesExcept(value, value.getDefiningOp());
      func.removeArgAttr(arg.getArgNumber(), kSharding);
    }
  func.walk([&](func::ReturnOp ret) {
    b.setInsertionPoint(ret);
    for (OpOperand &operand : ret->getOpOperands())
      if (auto sharding = func.getResultAttrOfType<ShardingAttr>(operand.getOperandNumber(), kSharding))
        operand.set(annotate(b, operand.get(), sharding, mesh, false));
  });
  for (unsigned i = 0; i < func.getNumResults(); ++i)
    func.removeResultAttr(i, b.getStringAttr(kSharding));
}

namespace {
struct ExportShardPass : ringconv::impl::ExportShardPassBase<ExportShardPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    for (MeshOp op : llvm::make_early_inc_range(module.getOps<MeshOp>())) {
      MeshAttr mesh = op.getMesh();
      if (!mesh.getDeviceIds().empty()) {
        op.emitOpError() << "cannot be exported: a shard.grid has no device_ids";
        return signalPassFailure();
      }
      for (func::FuncOp func : module.getOps<func::FuncOp>())
        exportFunction(func, mesh);
      OpBuilder b(op);
      // A grid has at least one axis.
      SmallVector<int64_t> shape(mesh.getExtents());
      if (shape.empty())
        shape.push_back(1);
      shard::GridOp::create(b, op.getLoc(), op.getSymName(), shape);
      op.erase();
    }
  }
};
} // namespace
