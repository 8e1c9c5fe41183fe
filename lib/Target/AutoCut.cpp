// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ringconv/Target/AutoCut.h"
#include "ringconv/Cost/Cost.h"
#include "ringconv/Dialect/RingConv/Transforms/Partition.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Format.h"

using namespace mlir;
using namespace ringconv;

static constexpr int64_t maxCandidates = 256;
static constexpr size_t maxTold = 6;

namespace {
struct Candidate {
  ShardingAttr sharding;
  double seconds;
};
} // namespace

/// The position of the input to cut; -1: there is none.
static int64_t findLargestInput(func::FuncOp func) {
  int64_t best = -1, most = 0;
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes())) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    if (!tensor || !tensor.hasStaticShape() || func.getArgAttr(i, kParameter) || tensor.getNumElements() <= most)
      continue;
    best = i;
    most = tensor.getNumElements();
  }
  return best;
}

/// Assignment `number` of axes to dimensions: a digit for each axis, the last
/// value for none.
static ShardingAttr shardingOf(MeshOp mesh, int64_t rank, int64_t number) {
  SmallVector<SmallVector<StringAttr>> axes(rank + 1);
  for (StringAttr axis : mesh.getMesh().getAxes()) {
    axes[number % (rank + 1)].push_back(axis);
    number /= rank + 1;
  }
  SmallVector<DimShardingAttr> dims;
  for (int64_t d = 0; d < rank; ++d)
    dims.push_back(DimShardingAttr::get(mesh.getContext(), axes[d], {}));
  return ShardingAttr::get(mesh.getContext(), FlatSymbolRefAttr::get(mesh.getSymNameAttr()), dims);
}

/// What a run with this cut is predicted to take; nothing where it cannot be had.
static std::optional<double> priceOf(ModuleOp module, StringRef entry, int64_t input, ShardingAttr sharding,
                                     const CompileOptions &options, const cost::System &system) {
  OwningOpRef<ModuleOp> copy = module.clone();
  cast<func::FuncOp>(copy->lookupSymbol(entry)).setArgAttr(input, kSharding, sharding);
  ScopedDiagnosticHandler quiet(module.getContext(), [](Diagnostic &) { return success(); });
  PartitionReport report;
  report.wantsSteps = true;
  if (failed(partitionModule(*copy, options, report)))
    return std::nullopt;
  return cost::secondsOf(cost::costOf(report.functions[entry.str()]), system);
}

static void tell(func::FuncOp func, int64_t input, const cost::System &system, ArrayRef<Candidate> candidates) {
  auto remark = emitRemark(func.getLoc()) << "auto-cut for " << system.name << ": ";
  if (auto name = func.getArgAttrOfType<StringAttr>(input, kName))
    remark << name.getValue();
  else
    remark << "argument " << input;
  remark << " as ";
  auto add = [&](const Candidate &c) {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << c.sharding << ", " << llvm::format("%.3g", c.seconds * 1e3) << " ms";
    remark << text;
  };
  add(candidates.front());
  for (auto [i, c] : llvm::enumerate(candidates.drop_front().take_front(maxTold)))
    add((remark << (i ? "; " : ", predicted; else "), c));
  if (candidates.size() > maxTold + 1)
    remark << "; and " << candidates.size() - maxTold - 1 << " that cost more";
}

/// The first system where none is named; an error where there is no such one.
static const cost::System *findSystem(ModuleOp module, StringRef name) {
  const cost::System *system = name.empty() ? &cost::systems().front() : cost::findSystem(name);
  if (system)
    return system;
  auto diag = emitError(module.getLoc()) << "auto-cut: there is no system '" << name << "', expected ";
  llvm::interleaveComma(cost::systems(), diag, [&](const cost::System &s) { diag << s.name; });
  return nullptr;
}

LogicalResult ringconv::chooseCut(ModuleOp module, const CompileOptions &options, StringRef systemName) {
  const cost::System *system = findSystem(module, systemName);
  if (!system)
    return failure();
  FailureOr<std::string> entry = findEntry(module, options.entry);
  if (failed(entry))
    return failure();
  auto func = cast<func::FuncOp>(module.lookupSymbol(*entry));
  FailureOr<MeshOp> mesh = findMesh(module);
  if (failed(mesh))
    return failure();
  if (!*mesh)
    return func.emitError() << "auto-cut: there is no mesh to cut over";
  int64_t input = findLargestInput(func);
  if (input < 0)
    return func.emitError() << "auto-cut: there is no input tensor besides parameters";
  int64_t rank = cast<RankedTensorType>(func.getArgumentTypes()[input]).getRank(), count = 1;
  for (size_t axis = 0; axis < (*mesh).getMesh().getAxes().size(); ++axis)
    if ((count *= rank + 1) > maxCandidates)
      return func.emitError() << "auto-cut: more than " << maxCandidates << " cuts of " << rank
                              << " dimensions over the axes of the mesh";
  SmallVector<Candidate> candidates;
  for (int64_t number = 0; number < count; ++number) {
    ShardingAttr sharding = shardingOf(*mesh, rank, number);
    if (auto seconds = priceOf(module, *entry, input, sharding, options, *system))
      candidates.push_back({sharding, *seconds});
  }
  if (candidates.empty())
    return func.emitError() << "auto-cut: no cut of argument " << input << " can be partitioned";
  llvm::stable_sort(candidates, [](const Candidate &a, const Candidate &b) { return a.seconds < b.seconds; });
  func.setArgAttr(input, kSharding, candidates.front().sharding);
  tell(func, input, *system, candidates);
  return success();
}
