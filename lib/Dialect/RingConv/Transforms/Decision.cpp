// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sources speak in this order, and an axis is given to the first that asks:
//   1. the operands, operand 0 first: their cuts cost nothing to keep. Of
//      several cuts by the same axes the one that moves the fewest elements;
//   2. the wanted sharding of the result.
// A window dimension whose input is cut keeps that cut: its outputs are cut by
// the same axes, at the wanted cuts if those use the same axes, else anchored
// (halo rules, 6). What cannot be had this way is had by redistribution, before
// or after.
#include "Decision.h"
#include "ringconv/Halo/Fold.h"

using namespace mlir;
using namespace ringconv;

namespace {

using Axes = SmallVector<StringAttr>;

/// The cut that a factor got: its axes, and its cuts in units.
struct FactorCut {
  Axes axes;
  halo::Cuts units;
};

class Decider {
public:
  Decider(Operation *op, const MeshContext &mesh, ArrayRef<ShardingAttr> operands, ShardingAttr wanted,
          ArrayRef<Factor> factors)
      : op(op), windowed(dyn_cast<WindowedOpInterface>(op)), mesh(mesh), given(operands), wanted(wanted),
        factors(factors), cuts(factors.size()) {}

  Decision run();

private:
  void decideWindows();
  void decideFactors();
  void takeFactor(unsigned f, DimShardingAttr dim, int64_t size, int64_t unit);
  DimShardingAttr cheapestCut(const Factor &factor, unsigned first) const;
  DimShardingAttr factorDim(unsigned f, int64_t unit, int64_t size, int64_t begin = 0) const;
  Decision assemble();
  ShardingAttr operandSharding(unsigned i);
  ShardingAttr resultSharding(unsigned i);

  bool anyUsed(ArrayRef<StringAttr> axes) const {
    return llvm::any_of(axes, [&](StringAttr a) { return llvm::is_contained(used, a); });
  }
  void use(ArrayRef<StringAttr> axes) { used.append(axes.begin(), axes.end()); }
  ArrayRef<int64_t> shape(Value v) const { return cast<RankedTensorType>(v.getType()).getShape(); }
  DimShardingAttr givenDim(unsigned operand, int64_t d) const {
    return operand < given.size() && given[operand] && d >= 0 ? given[operand].dim(d) : mesh.whole();
  }
  DimShardingAttr wantedDim(int64_t d) const { return wanted && d >= 0 ? wanted.dim(d) : mesh.whole(); }

  Operation *op;
  WindowedOpInterface windowed;
  const MeshContext &mesh;
  ArrayRef<ShardingAttr> given;
  ShardingAttr wanted;
  ArrayRef<Factor> factors;
  SmallVector<FactorCut> cuts;
  SmallVector<WindowCut> windows;
  Axes used;
};

Axes axesOf(DimShardingAttr dim) { return Axes(dim.getAxes()); }

/// The dimension that a fold reads is cut as its result is: what lies outside
/// is at the ends.
void followOutputs(Operation *op, WindowCut &cut) {
  if (auto fold = dyn_cast<FoldBorderOp>(op))
    cut.input = halo::foldCuts(fold.getExtension(), cut.output);
}

void Decider::decideWindows() {
  if (!windowed)
    return;
  SmallVector<halo::Window> w = windowed.getWindows();
  SmallVector<int64_t> in = windowed.getInputWindowDims(), out = windowed.getResultWindowDims();
  SmallVector<int64_t> taps = windowed.getFilterWindowDims();
  ArrayRef<int64_t> x = shape(op->getOperand(0)), y = shape(op->getResult(0));
  windows.resize(w.size());
  for (size_t n = 0; n < w.size(); ++n) {
    WindowCut &cut = windows[n];
    DimShardingAttr xDim = givenDim(0, in[n]), wDim = taps.empty() ? mesh.whole() : givenDim(1, taps[n]);
    cut.input = halo::Cuts::whole(x[in[n]]);
    cut.output = halo::Cuts::whole(y[out[n]]);
    if (!xDim.isCut())
      continue;
    cut.axes = axesOf(xDim);
    cut.cutsInput = true;
    cut.input = mesh.cuts(xDim, x[in[n]]);
    use(cut.axes);
    if (wDim.getAxes() == xDim.getAxes()) {
      cut.cutsTaps = true;
      continue;
    }
    DimShardingAttr yDim = wantedDim(out[n]);
    cut.output = yDim.getAxes() == xDim.getAxes() ? mesh.cuts(yDim, y[out[n]]) : halo::anchoredOutputs(w[n], cut.input);
    followOutputs(op, cut);
  }
  // Taps that only the filter cuts.
  for (size_t n = 0; n < w.size() && !taps.empty(); ++n) {
    DimShardingAttr wDim = givenDim(1, taps[n]);
    if (!windows[n].axes.empty() || !wDim.isCut() || anyUsed(wDim.getAxes()))
      continue;
    // Axes that cut another dimension of the input belong to that one.
    bool elsewhere = given[0] && llvm::any_of(given[0].getDims(), [&](DimShardingAttr d) {
                       return llvm::any_of(d.getAxes(),
                                           [&](StringAttr a) { return llvm::is_contained(wDim.getAxes(), a); });
                     });
    if (elsewhere)
      continue;
    windows[n].axes = axesOf(wDim);
    windows[n].cutsTaps = true;
    use(windows[n].axes);
  }
}

/// Gives a dimension's cut to a factor. Cuts inside a unit move to the balanced
/// ones, in units: the operand is redistributed.
void Decider::takeFactor(unsigned f, DimShardingAttr dim, int64_t size, int64_t unit) {
  FactorCut &cut = cuts[f];
  if (!cut.axes.empty() || !dim.isCut() || anyUsed(dim.getAxes()))
    return;
  cut.axes = axesOf(dim);
  use(cut.axes);
  halo::Cuts elements = mesh.cuts(dim, size);
  // The cuts of one operand say nothing of the others that follow it.
  if (size != factors[f].size * unit) {
    cut.units = halo::Cuts::balanced(factors[f].size, elements.parts());
    return;
  }
  bool onUnits = llvm::all_of(elements.bounds, [&](int64_t b) { return b % unit == 0; });
  if (!onUnits) {
    cut.units = halo::Cuts::balanced(factors[f].size, elements.parts());
    return;
  }
  for (int64_t bound : elements.bounds)
    cut.units.bounds.push_back(bound / unit);
}

/// The cuts that operand `first` has in the factor, or another operand by the same
/// axes, whichever moves fewer elements; of equals, even cuts: they keep local
/// shapes static.
DimShardingAttr Decider::cheapestCut(const Factor &factor, unsigned first) const {
  DimShardingAttr best = givenDim(first, factor.operandDims[first]);
  auto alike = [&](unsigned i) {
    return given[i] && factor.operandDims[i] >= 0 && factor.operandUnits[i] == factor.operandUnits[first] &&
           givenDim(i, factor.operandDims[i]).getAxes() == best.getAxes();
  };
  auto costOf = [&](DimShardingAttr dim) {
    int64_t size = factor.size * factor.operandUnits[first], cost = 0;
    halo::Cuts cuts = mesh.cuts(dim, size);
    for (unsigned i = 0; i < given.size(); ++i)
      if (alike(i))
        cost += halo::moved(mesh.cuts(givenDim(i, factor.operandDims[i]), size), cuts) *
                (ShapedType::getNumElements(shape(op->getOperand(i))) / size);
    return std::pair(cost, !cuts.even());
  };
  if (!best.isCut() || factor.size == 0 || !factor.operandBegins.empty())
    return best;
  for (unsigned i = first + 1; i < given.size(); ++i)
    if (alike(i))
      if (DimShardingAttr other = givenDim(i, factor.operandDims[i]); costOf(other) < costOf(best))
        best = other;
  return best;
}

void Decider::decideFactors() {
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    if (!given[i])
      continue;
    for (auto [f, factor] : llvm::enumerate(factors)) {
      int64_t d = factor.operandDims[i];
      if (d < 0)
        continue;
      // The wanted cuts win where they use the same axes.
      int64_t r = factor.resultDims.empty() ? -1 : factor.resultDims[0];
      if (r >= 0 && wantedDim(r).isCut() && wantedDim(r).getAxes() == givenDim(i, d).getAxes())
        takeFactor(f, wantedDim(r), shape(op->getResult(0))[r], factor.resultUnits[0]);
      else
        takeFactor(f, cheapestCut(factor, i), shape(operand)[d], factor.operandUnits[i]);
    }
  }
  if (!wanted)
    return;
  for (auto [f, factor] : llvm::enumerate(factors))
    if (!factor.reduction && factor.resultDims[0] >= 0)
      takeFactor(f, wantedDim(factor.resultDims[0]), shape(op->getResult(0))[factor.resultDims[0]],
                 factor.resultUnits[0]);
  // Outputs of whole inputs: each rank computes its own, nothing travels.
  if (!windowed)
    return;
  SmallVector<int64_t> out = windowed.getResultWindowDims();
  for (size_t n = 0; n < out.size(); ++n) {
    DimShardingAttr yDim = wantedDim(out[n]);
    if (!windows[n].axes.empty() || !yDim.isCut() || anyUsed(yDim.getAxes()))
      continue;
    windows[n].axes = axesOf(yDim);
    use(windows[n].axes);
    windows[n].output = mesh.cuts(yDim, shape(op->getResult(0))[out[n]]);
    // A fold is written for shards: its input is cut first, by a slice.
    if (isa<FoldBorderOp>(op)) {
      windows[n].cutsInput = true;
      followOutputs(op, windows[n]);
    }
  }
}

/// The factor's cuts on a dimension of `size` elements that begins at unit `begin`.
DimShardingAttr Decider::factorDim(unsigned f, int64_t unit, int64_t size, int64_t begin) const {
  const FactorCut &cut = cuts[f];
  if (cut.axes.empty())
    return mesh.whole();
  halo::Cuts elements;
  for (int64_t bound : cut.units.clipped(begin, size / unit).bounds)
    elements.bounds.push_back(bound * unit);
  return makeDimSharding(mesh.mesh.getContext(), cut.axes, elements);
}

ShardingAttr Decider::operandSharding(unsigned i) {
  auto type = dyn_cast<RankedTensorType>(op->getOperand(i).getType());
  if (!type)
    return {};
  SmallVector<DimShardingAttr> dims(type.getRank(), mesh.whole());
  for (auto [f, factor] : llvm::enumerate(factors))
    if (int64_t d = factor.operandDims[i]; d >= 0)
      dims[d] = factorDim(f, factor.operandUnits[i], type.getDimSize(d),
                          factor.operandBegins.empty() ? 0 : factor.operandBegins[i]);
  if (windowed && i < windowed.getNumWindowedOperands())
    for (auto [n, d] : llvm::enumerate(windowed.getInputWindowDims()))
      if (windows[n].cutsInput)
        dims[d] = makeDimSharding(mesh.mesh.getContext(), windows[n].axes, windows[n].input);
  if (windowed && i == 1)
    for (auto [n, d] : llvm::enumerate(windowed.getFilterWindowDims()))
      if (windows[n].cutsTaps)
        dims[d] = givenDim(1, d);
  return ShardingAttr::get(mesh.mesh.getContext(), mesh.name, dims);
}

ShardingAttr Decider::resultSharding(unsigned i) {
  auto type = cast<RankedTensorType>(op->getResult(i).getType());
  SmallVector<DimShardingAttr> dims(type.getRank(), mesh.whole());
  for (auto [f, factor] : llvm::enumerate(factors))
    if (int64_t d = factor.resultDims[i]; d >= 0)
      dims[d] = factorDim(f, factor.resultUnits[i], type.getDimSize(d));
  if (windowed && i == 0)
    for (auto [n, d] : llvm::enumerate(windowed.getResultWindowDims()))
      if (!windows[n].axes.empty() && !windows[n].cutsTaps)
        dims[d] = makeDimSharding(mesh.mesh.getContext(), windows[n].axes, windows[n].output);
  return ShardingAttr::get(mesh.mesh.getContext(), mesh.name, dims);
}

Decision Decider::assemble() {
  Decision decision;
  for (unsigned i = 0; i < op->getNumOperands(); ++i)
    decision.operands.push_back(operandSharding(i));
  for (unsigned i = 0; i < op->getNumResults(); ++i)
    decision.results.push_back(resultSharding(i));
  for (auto [f, factor] : llvm::enumerate(factors))
    if (factor.reduction)
      decision.reduceAxes.append(cuts[f].axes.begin(), cuts[f].axes.end());
  for (auto [n, cut] : llvm::enumerate(windows)) {
    if (!cut.cutsTaps)
      continue;
    decision.reduceAxes.append(cut.axes.begin(), cut.axes.end());
    int64_t d = windowed.getFilterWindowDims()[n], size = shape(op->getOperand(1))[d];
    halo::Cuts entries = mesh.cuts(givenDim(1, d), size);
    // Stored entry e of a reversed window is tap size - 1 - e (halo rules, 12).
    for (int64_t part = 0; part < entries.parts(); ++part) {
      halo::Interval e = entries.part(part);
      cut.taps.push_back(windowed.isReversed(n) ? halo::Interval{size - e.end, size - e.begin} : e);
    }
  }
  // An axis of one rank cuts nothing: there is nothing to add.
  llvm::erase_if(decision.reduceAxes, [&](StringAttr axis) { return mesh.mesh.parts(axis) == 1; });
  decision.windows = std::move(windows);
  return decision;
}

Decision Decider::run() {
  decideWindows();
  decideFactors();
  return assemble();
}

} // namespace

FailureOr<Decision> ringconv::decide(Operation *op, const MeshContext &mesh, ArrayRef<ShardingAttr> operands,
                                     ShardingAttr wanted, ShardingAttr hint) {
  FailureOr<SmallVector<Factor>> factors = factorsOf(op);
  if (failed(factors))
    return failure();
  bool anyCut = llvm::any_of(operands, [](ShardingAttr s) { return s && !s.isReplicated(); });
  if (!wanted && !anyCut)
    wanted = hint;
  return Decider(op, mesh, operands, wanted, *factors).run();
}
