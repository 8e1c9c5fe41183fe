// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-partition: analyses and rewrites each entry.
#include "FilterGradients.h"
#include "Entries.h"
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

namespace {
struct PartitionPass : ringconv::impl::PartitionPassBase<PartitionPass> {
  PartitionPass() = default;
  explicit PartitionPass(PartitionReport *report) : report(report) {}

  void runOnOperation() override {
    auto partition = [&](func::FuncOp func, const MeshContext &mesh) { return this->partition(func, mesh); };
    if (failed(forEachEntry(getOperation(), partition)))
      signalPassFailure();
  }

private:
  LogicalResult partition(func::FuncOp func, const MeshContext &mesh) {
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
    entry.wantsSteps = report && report->wantsSteps;
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
