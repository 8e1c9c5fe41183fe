// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-partition: inlines private functions, then analyses and rewrites
// each public one.
#include "FilterGradients.h"
#include "Inline.h"
#include "Partitioner.h"
#include "ringconv/Dialect/RingConv/Transforms/Partition.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace ringconv {
#define GEN_PASS_DEF_PARTITIONPASS
#include "ringconv/Dialect/RingConv/Transforms/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

FailureOr<MeshOp> ringconv::findMesh(ModuleOp module) {
  MeshOp found;
  for (MeshOp mesh : module.getOps<MeshOp>()) {
    if (found)
      return mesh.emitOpError() << "one mesh per module, @" << found.getSymName() << " stands before", failure();
    found = mesh;
  }
  return found;
}

/// Static shapes only: halos are known when the program is compiled.
static LogicalResult checkStatic(func::FuncOp func) {
  auto dynamic = [](Type type) {
    auto tensor = dyn_cast<TensorType>(type);
    return tensor && (!tensor.hasRank() || !tensor.hasStaticShape());
  };
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
    if (dynamic(type))
      return func.emitError() << "argument " << i << " of @" << func.getSymName() << " must have a static shape, got "
                              << type;
  auto result = func.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (dynamic(type))
        return op->emitOpError() << "must have a static shape, got " << type, WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

namespace {
struct PartitionPass : ringconv::impl::PartitionPassBase<PartitionPass> {
  PartitionPass() = default;
  explicit PartitionPass(PartitionReport *report) : report(report) {}

  void runOnOperation() override {
    ModuleOp module = getOperation();
    FailureOr<MeshOp> mesh = findMesh(module);
    if (failed(mesh) || failed(inlinePrivateFunctions(module)))
      return signalPassFailure();
    MLIRContext *ctx = &getContext();
    MeshContext context{FlatSymbolRefAttr::get(ctx, *mesh ? mesh->getSymName() : "mesh"),
                        *mesh ? mesh->getMesh() : MeshAttr::get(ctx, {}, {}, {})};
    if (!*mesh) {
      OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
      MeshOp::create(b, module.getLoc(), "mesh", context.mesh);
    }
    for (func::FuncOp func : module.getOps<func::FuncOp>())
      if (failed(partition(func, context)))
        return signalPassFailure();
  }

private:
  LogicalResult partition(func::FuncOp func, const MeshContext &mesh) {
    if (func.isExternal())
      return func.emitError() << "@" << func.getSymName() << " has no body to partition";
    if (!func.getBody().hasOneBlock())
      return func.emitError() << "@" << func.getSymName() << " must have one block; write branches as scf";
    if (failed(checkStatic(func)))
      return failure();
    std::optional<ShardingAnalysis> analysis(std::in_place, func, mesh);
    if (failed(analysis->run()))
      return failure();
    if (swapFilterGradients(func, mesh, *analysis)) {
      analysis.emplace(func, mesh);
      if (failed(analysis->run()))
        return failure();
    }
    FuncReport local;
    FuncReport &entry = report ? report->functions[func.getSymName().str()] : local;
    for (StringAttr axis : mesh.mesh.getAxes())
      entry.axes.push_back(axis.str());
    entry.extents = mesh.mesh.getExtents().vec();
    return Partitioner(func, mesh, *analysis, entry).run();
  }

  PartitionReport *report = nullptr;
};
} // namespace

std::unique_ptr<Pass> ringconv::createPartitionPass(PartitionReport *report) {
  return std::make_unique<PartitionPass>(report);
}
