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
  return PieceAttr::get(ctx, int64_t(p.side), int64_t(p.fill), makeTable(ctx, p.recvPeer), makeTable(ctx, p.recvAt),
                        makeTable(ctx, p.recvExtended), makeTable(ctx, p.recvSize), makeTable(ctx, p.sendPeer),
                        makeTable(ctx, p.sendAt), makeTable(ctx, p.sendSize));
}

static HaloDimAttr makeHaloDim(MLIRContext *ctx, int64_t dim, const WindowCut &cut, const halo::Plan &plan) {
  SmallVector<PieceAttr> pieces;
  for (const halo::Piece &p : plan.pieces)
    pieces.push_back(makePiece(ctx, p));
  SmallVector<int64_t> edges;
  if (auto common = halo::commonEdges(plan, outputsOf(cut, cut.input.parts())))
    edges = {common->low, common->high, common->outputs};
  return HaloDimAttr::get(ctx, dim, cut.axes, plan.low, plan.high, edges, pieces);
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

static halo::Table tableOf(TableAttr attr) {
  halo::Table table;
  for (ArrayRef<int64_t> runs = attr.getRuns(); !runs.empty(); runs = runs.drop_front(3))
    table.runs.push_back({runs[0], runs[1], runs[2]});
  return table;
}

/// From the attributes, so that the report is about what the program does.
std::vector<halo::ExchangeDim> Partitioner::reportExchange(ArrayRef<HaloDimAttr> dims) {
  std::vector<halo::ExchangeDim> exchange;
  for (HaloDimAttr dim : dims) {
    exchange.push_back({dim.getDim(), meshPositions(dim.getAxes()), {}});
    for (PieceAttr attr : dim.getPieces())
      exchange.back().pieces.push_back({halo::Side(attr.getSide()), halo::Fill(attr.getFill()),
                                        tableOf(attr.getRecvPeer()), tableOf(attr.getRecvAt()),
                                        tableOf(attr.getRecvExtended()), tableOf(attr.getRecvSize()),
                                        tableOf(attr.getSendPeer()), tableOf(attr.getSendAt()),
                                        tableOf(attr.getSendSize())});
  }
  return exchange;
}

SmallVector<Value> Partitioner::exchange(Location loc, Value input, ArrayRef<HaloDimAttr> dims, IntegerAttr id) {
  auto type = cast<RankedTensorType>(input.getType());
  SmallVector<Type> slabs;
  SmallVector<int64_t> extents(type.getShape());
  for (HaloDimAttr dim : dims) {
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

/// One remark per exchange: halo widths, pieces and their neighbours.
void Partitioner::remarkWindows(WindowedOpInterface op, ArrayRef<HaloDimAttr> dims, const Decision &decision) {
  for (HaloDimAttr dim : dims) {
    int64_t hops = 0, pieces = 0;
    for (PieceAttr piece : dim.getPieces()) {
      if (piece.getSide() == int64_t(halo::Side::Own))
        continue;
      ++pieces;
      int64_t parts = mesh.mesh.parts(dim.getAxes());
      for (int64_t r = 0; r < parts; ++r)
        if (int64_t peer = piece.getRecvPeer().at(r); peer >= 0) {
          int64_t distance = std::abs(peer - r);
          hops = std::max(hops, std::min(distance, parts - distance));
        }
    }
    emitRemark(op->getLoc()) << "dim " << dim.getDim() << ": halo of " << dim.getLow() << " low and " << dim.getHigh()
                     << " high elements, " << pieces << (pieces == 1 ? " piece" : " pieces") << ", " << hops
                     << (hops == 1 ? " hop" : " hops")
                     << (dim.getLow() && dim.getHigh() ? ", two-sided" : ", one-sided");
  }
}

FailureOr<LocalWindows> Partitioner::makeWindows(WindowedOpInterface op, const Decision &decision,
                                                 ArrayRef<Value> operands) {
  LocalWindows local;
  SmallVector<halo::Window> windows = op.getWindows();
  SmallVector<int64_t> inputDims = op.getInputWindowDims();
  ShardingAttr inputSharding = decision.operands[0] ? decision.operands[0] : analysis.of(op->getOperand(0));
  WindowReport entry{labelOf(op), locationText(op->getLoc()), false, {},
                     reportTensor(cast<RankedTensorType>(op->getOperand(0).getType()), inputSharding),
                     reportTensor(cast<RankedTensorType>(op->getResult(0).getType()), decision.results[0]), 0, {}};
  for (Value operand : op->getOperands().take_front(op.getNumWindowedOperands()))
    entry.exchangedBytes += bytesOf(cast<RankedTensorType>(operand.getType()));
  SmallVector<std::pair<int64_t, HaloDimAttr>> exchanged;
  for (auto [n, cut] : llvm::enumerate(decision.windows)) {
    halo::Plan plan = planWindow(windows[n], cut);
    local.offset.push_back(lookup(cut.axes, plan.offset));
    local.validBegin.push_back(lookup(cut.axes, plan.validBegin));
    local.validEnd.push_back(lookup(cut.axes, plan.validEnd));
    if (plan.needsExchange())
      exchanged.push_back({inputDims[n], makeHaloDim(builder.getContext(), inputDims[n], cut, plan)});
    if (cut.axes.empty())
      continue;
    entry.dims.push_back({inputDims[n], mesh.mesh.parts(cut.axes), meshPositions(cut.axes), plan.ownBegin, plan.ownEnd,
                          plan.needBegin, plan.needEnd});
  }
  entry.exchanges = !exchanged.empty();
  local.report = builder.getI64IntegerAttr(report.windows.size());
  report.windows.push_back(std::move(entry));
  if (exchanged.empty())
    return local;
  llvm::sort(exchanged, [](auto &a, auto &b) { return a.first < b.first; });
  SmallVector<HaloDimAttr> dims;
  for (auto &[d, dim] : exchanged) {
    local.haloDims.push_back(d);
    dims.push_back(dim);
  }
  report.windows.back().exchange = reportExchange(dims);
  remarkWindows(op, dims, decision);
  for (Value input : operands.take_front(op.getNumWindowedOperands()))
    llvm::append_range(local.halos, exchange(op->getLoc(), input, dims, local.report));
  return local;
}
