// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Partitioner, windows: halo plans become an exchange and the numbers of the
// local operation. The arithmetic is in lib/Halo.
#include "Partitioner.h"

#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace ringconv;

static std::vector<halo::Interval> outputsOf(const WindowCut &cut, size_t parts) {
  if (cut.output.parts() == 1)
    return std::vector<halo::Interval>(parts, cut.output.part(0));
  std::vector<halo::Interval> outputs;
  for (size_t r = 0; r < parts; ++r)
    outputs.push_back(cut.output.part(r));
  return outputs;
}

halo::Plan Partitioner::planWindow(const halo::Window &window, const WindowCut &cut) {
  if (cut.cutsInput || cut.axes.empty())
    return halo::planRanges(window, cut.input, outputsOf(cut, cut.input.parts()), cut.taps);
  return halo::planWhole(window, cut.input.size(), outputsOf(cut, mesh.mesh.parts(cut.axes)), cut.taps);
}

PieceAttr ringconv::makePiece(MLIRContext *ctx, const halo::Piece &p) {
  return PieceAttr::get(ctx, int64_t(p.side), p.reverse, p.step, makeTable(ctx, p.recvPeer), makeTable(ctx, p.recvAt),
                        makeTable(ctx, p.recvExtended), makeTable(ctx, p.recvSize), makeTable(ctx, p.sendPeer),
                        makeTable(ctx, p.sendAt), makeTable(ctx, p.sendSize));
}

static HaloDimAttr makeHaloDim(MLIRContext *ctx, int64_t dim, ArrayRef<StringAttr> axes, const halo::Plan &plan,
                               ArrayRef<int64_t> edges = {}) {
  auto table = [&](const halo::Table &t) { return makeTable(ctx, t); };
  SmallVector<PieceAttr> pieces;
  for (const halo::Piece &p : plan.pieces)
    pieces.push_back(makePiece(ctx, p));
  SmallVector<FillAttr> fills;
  for (const halo::Fill &f : plan.fills)
    fills.push_back(FillAttr::get(ctx, int64_t(f.side), int64_t(f.from), f.step, f.fromStep, f.ordered, table(f.at),
                                  table(f.extended), table(f.fromAt), table(f.fromExtended), table(f.size)));
  return HaloDimAttr::get(ctx, dim, axes, plan.low, plan.high, edges, pieces, fills);
}

static SmallVector<int64_t> edgesOf(const WindowCut &cut, int64_t parts, const halo::Plan &plan) {
  if (auto common = halo::commonEdges(plan, outputsOf(cut, parts)))
    return {common->low, common->high, common->outputs};
  return {};
}

std::string ringconv::locationText(Location loc) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    os << file.getFilename().getValue() << ':' << file.getLine() << ':' << file.getColumn();
  return text;
}

/// `conv 7x7/2` and the like, for tables.
static std::string labelOf(WindowedOpInterface op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  SmallVector<halo::Window> windows = op.getWindows();
  os << op->getName().stripDialect() << ' ';
  llvm::interleave(windows, os, [&](const halo::Window &w) { os << w.size; }, "x");
  auto suffix = [&](StringRef word, auto get) {
    if (llvm::all_of(windows, [&](const halo::Window &w) { return get(w) == 1; }))
      return;
    bool same = llvm::all_of(windows, [&](const halo::Window &w) { return get(w) == get(windows[0]); });
    os << word;
    if (same)
      os << get(windows[0]);
    else
      llvm::interleave(windows, os, [&](const halo::Window &w) { os << get(w); }, "x");
  };
  suffix("/", [](const halo::Window &w) { return w.stride; });
  suffix(" d", [](const halo::Window &w) { return w.dilation; });
  suffix(" up", [](const halo::Window &w) { return w.baseDilation; });
  return text;
}

static int64_t bytesOf(RankedTensorType type) { return (type.getElementTypeBitWidth() + 7) / 8; }

std::vector<int64_t> Partitioner::meshPositions(ArrayRef<StringAttr> axes) {
  std::vector<int64_t> positions;
  for (StringAttr axis : axes)
    positions.push_back(mesh.mesh.axisIndex(axis.getValue()));
  return positions;
}

TensorReport Partitioner::reportTensor(RankedTensorType type, ShardingAttr sharding) {
  TensorReport tensor{type.getShape().vec(), {}, {}, bytesOf(type)};
  llvm::raw_string_ostream(tensor.elementType) << type.getElementType();
  for (auto [dim, size] : llvm::zip(sharding.getDims(), type.getShape()))
    tensor.dims.push_back({meshPositions(dim.getAxes()), halo::Table::of(mesh.cuts(dim, size).bounds)});
  return tensor;
}

SmallVector<Value> Partitioner::exchange(Location loc, Value input, ArrayRef<HaloDimAttr> dims, IntegerAttr id) {
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<Type> slabs;
  SmallVector<int64_t> extents(type.getShape());
  for (HaloDimAttr dim : dims) {
    if (!dim.hasSlabs())
      continue;
    int64_t own = extents[dim.getDim()];
    for (int64_t size : {dim.getLow(), dim.getHigh()}) {
      extents[dim.getDim()] = size;
      slabs.push_back(RankedTensorType::get(extents, type.getElementType()));
    }
    extents[dim.getDim()] = ShapedType::isDynamic(own) ? own : dim.getLow() + own + dim.getHigh();
  }
  auto op = HaloExchangeOp::create(builder, loc, slabs, input, mesh.name,
                                   builder.getArrayAttr(SmallVector<Attribute>(dims.begin(), dims.end())), id);
  return SmallVector<Value>(op.getSlabs());
}

/// One remark per exchanged dimension: halo widths, pieces and their neighbours.
static void remarkDim(Location loc, HaloDimAttr dim, const halo::Plan &plan) {
  int64_t pieces = llvm::count_if(plan.pieces, [](const halo::Piece &p) { return p.side != halo::Side::Own; });
  emitRemark(loc) << "dim " << dim.getDim() << ": halo of " << plan.low << " low and " << plan.high
                  << " high elements, " << pieces << (pieces == 1 ? " piece" : " pieces") << ", " << plan.hops
                  << (plan.hops == 1 ? " hop" : " hops") << (plan.low && plan.high ? ", two-sided" : ", one-sided");
}

namespace {
/// What the exchange of an operation says of one dimension of its input.
struct ExchangedDim {
  HaloDimAttr attr;
  halo::Plan plan;
  bool circular = false;
};
} // namespace

/// Output dimensions that the input lacks: ranks whose part of one is empty
/// read nothing, which is said along the input's first dimension without a
/// window that is summed over.
static void excludeIdle(WindowedOpInterface op, const Decision &decision, const MeshContext &mesh,
                        std::vector<ExchangedDim> &dims) {
  FailureOr<SmallVector<Factor>> factors = factorsOf(op);
  int64_t summed = -1;
  for (const Factor &factor : *factors)
    if (factor.reduction && factor.operandDims[0] >= 0 && summed < 0)
      summed = factor.operandDims[0];
  if (summed < 0)
    return;
  auto input = cast<RankedTensorType>(op->getOperand(0).getType());
  auto result = cast<RankedTensorType>(op->getResult(0).getType());
  DimShardingAttr inner = decision.operands[0].dim(summed);
  SmallVector<StringAttr> axes(inner.getAxes());
  for (const Factor &factor : *factors) {
    int64_t d = factor.resultDims[0];
    if (d < 0 || factor.operandDims[0] >= 0 || !decision.results[0].dim(d).isCut())
      continue;
    DimShardingAttr cut = decision.results[0].dim(d);
    halo::Plan plan = halo::planIdle(mesh.cuts(inner, input.getDimSize(summed)), mesh.cuts(cut, result.getDimSize(d)));
    if (plan.readsAll)
      continue;
    llvm::append_range(axes, cut.getAxes());
    dims.push_back({makeHaloDim(op->getContext(), summed, axes, plan), plan});
    return;
  }
}

FailureOr<LocalWindows> Partitioner::makeWindows(WindowedOpInterface op, const Decision &decision,
                                                 ArrayRef<Value> operands) {
  LocalWindows local;
  MLIRContext *ctx = builder.getContext();
  SmallVector<halo::Window> windows = op.getWindows();
  SmallVector<int64_t> inputDims = op.getInputWindowDims();
  ShardingAttr inputSharding = decision.operands[0] ? decision.operands[0] : analysis.of(op->getOperand(0));
  WindowReport entry{labelOf(op), locationText(op->getLoc()), false, {},
                     reportTensor(cast<RankedTensorType>(op->getOperand(0).getType()), inputSharding),
                     reportTensor(cast<RankedTensorType>(op->getResult(0).getType()), decision.results[0]), 0, {}};
  for (Value operand : op->getOperands().take_front(op.getNumWindowedOperands()))
    entry.exchangedBytes += bytesOf(cast<RankedTensorType>(operand.getType()));
  std::vector<ExchangedDim> dims;
  for (auto [n, cut] : llvm::enumerate(decision.windows)) {
    int64_t d = inputDims[n];
    halo::Plan plan = planWindow(windows[n], cut);
    local.offset.push_back(lookup(cut.axes, plan.offset));
    local.validBegin.push_back(lookup(cut.axes, plan.validBegin));
    local.validEnd.push_back(lookup(cut.axes, plan.validEnd));
    if (plan.needsExchange()) {
      dims.push_back({makeHaloDim(ctx, d, cut.axes, plan, edgesOf(cut, mesh.mesh.parts(cut.axes), plan)), plan,
                      windows[n].border == halo::Border::Circular});
      local.haloDims.push_back(d);
      remarkDim(op->getLoc(), dims.back().attr, plan);
    } else if (!plan.readsAll) {
      dims.push_back({makeHaloDim(ctx, d, cut.axes, plan), plan});
    }
    if (cut.axes.empty())
      continue;
    entry.dims.push_back({d, mesh.mesh.parts(cut.axes), meshPositions(cut.axes), plan.ownBegin, plan.ownEnd,
                          plan.needBegin, plan.needEnd});
  }
  if (local.haloDims.empty())
    dims.clear();
  else
    excludeIdle(op, decision, mesh, dims);
  entry.exchanges = !dims.empty();
  llvm::sort(dims, [](auto &a, auto &b) { return a.attr.getDim() < b.attr.getDim(); });
  for (const ExchangedDim &dim : dims)
    entry.exchange.push_back({dim.attr.getDim(), meshPositions(dim.attr.getAxes()), dim.plan.pieces, dim.plan.low,
                              dim.plan.high, dim.circular});
  local.report = builder.getI64IntegerAttr(report.windows.size());
  report.windows.push_back(std::move(entry));
  if (dims.empty())
    return local;
  llvm::sort(local.haloDims);
  SmallVector<HaloDimAttr> attrs = llvm::map_to_vector(dims, [](ExchangedDim &dim) { return dim.attr; });
  for (Value input : operands.take_front(op.getNumWindowedOperands()))
    llvm::append_range(local.halos, exchange(op->getLoc(), input, attrs, local.report));
  return local;
}
