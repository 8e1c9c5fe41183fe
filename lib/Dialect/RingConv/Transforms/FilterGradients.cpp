// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A filter gradient dw = conv(x, dy) reads x with its halo where each rank keeps
// its own dy (halo rules, 3, by output owner). With the operands swapped it
// reads dy with its halo where each rank keeps its own x (by input owner):
//
//   y[b, m - 1 - o, f] = conv(w, x)[f, o, b]     for y = conv(x, w)
//
// The second is the halo that the input gradient conv(dy, w) reads: where that
// one is there, the exchange serves both and x's halo need not travel.
#include "FilterGradients.h"
#include "Differentiate.h"
#include "Raise.h"
#include "ringconv/Halo/Gradient.h"

#include <map>

using namespace mlir;
using namespace ringconv;

namespace {
/// Plans of an operand's exchanges, by its dimensions.
using Plans = std::map<int64_t, halo::Plan>;

/// A convolution whose operands are cut along the same dimensions.
class Candidate {
public:
  Candidate(ConvOp op, const Decision &decision, const MeshContext &mesh, const ShardingAnalysis &analysis)
      : op(op), decision(decision), mesh(mesh), analysis(analysis), windows(op.getWindows()) {}

  bool isCutTwice() const {
    return llvm::any_of(decision.windows, [](const WindowCut &cut) { return cut.cutsTaps && cut.cutsInput; });
  }
  bool canSwap();
  bool swapIsBetter();
  void swap();

private:
  halo::Window swappedWindow(size_t n) {
    return halo::swapOperands(windows[n], op.getInput().getType().getDimSize(op.getInputWindowDims()[n]));
  }
  Plans plans();
  Plans swappedPlans();
  bool isExchangedAnyway(const Plans &plans);
  int64_t bytes(Value operand, const Plans &plans);

  ConvOp op;
  const Decision &decision;
  const MeshContext &mesh;
  const ShardingAnalysis &analysis;
  SmallVector<halo::Window> windows;
};
} // namespace

static std::vector<halo::Interval> partsOf(const halo::Cuts &cuts) {
  std::vector<halo::Interval> parts;
  for (int64_t r = 0; r < cuts.parts(); ++r)
    parts.push_back(cuts.part(r));
  return parts;
}

static std::vector<halo::Interval> same(halo::Interval interval, int64_t parts) {
  return std::vector<halo::Interval>(parts, interval);
}

/// Cuts that partitioning divides in another way are left alone, and so are
/// borders, which are mapped for the first operand only, and feature groups,
/// which have no form with the operands swapped.
bool Candidate::canSwap() {
  bool plain = !op.getBias() && op.getFeatureGroupCount() == 1 && decision.operands[0] == analysis.of(op.getInput()) &&
               decision.operands[1] == analysis.of(op.getFilter());
  for (auto [n, cut] : llvm::enumerate(decision.windows))
    plain &= !halo::mapsBorder(windows[n]) && !op.getReverse()[n] && cut.cutsTaps == cut.cutsInput;
  return plain && !llvm::is_contained(op.getFilter().getType().getShape(), 0);
}

Plans Candidate::plans() {
  Plans plans;
  SmallVector<int64_t> dims = op.getInputWindowDims();
  for (auto [n, cut] : llvm::enumerate(decision.windows))
    if (cut.cutsTaps)
      plans[dims[n]] = halo::planRanges(windows[n], cut.input, same(cut.output.part(0), cut.input.parts()), cut.taps);
  return plans;
}

Plans Candidate::swappedPlans() {
  Plans plans;
  SmallVector<int64_t> dims = op.getFilterWindowDims();
  for (auto [n, cut] : llvm::enumerate(decision.windows)) {
    if (!cut.cutsTaps)
      continue;
    halo::Cuts filter = mesh.cuts(decision.operands[1].dim(dims[n]), windows[n].size);
    plans[dims[n]] =
        halo::planRanges(swappedWindow(n), filter, same(cut.output.part(0), filter.parts()), partsOf(cut.input));
  }
  return plans;
}

static bool sameExchange(const halo::Plan &a, const halo::Plan &b) {
  auto equal = [](const halo::Piece &p, const halo::Piece &q) {
    return p.side == q.side && p.reverse == q.reverse && p.step == q.step && p.recvPeer == q.recvPeer &&
           p.recvAt == q.recvAt && p.recvSize == q.recvSize && p.sendPeer == q.sendPeer && p.sendAt == q.sendAt &&
           p.sendSize == q.sendSize;
  };
  return a.low == b.low && a.high == b.high && llvm::equal(a.pieces, b.pieces, equal) && a.fills.empty() && b.fills.empty();
}

/// True if another convolution reads the filter operand with the same halos.
bool Candidate::isExchangedAnyway(const Plans &plans) {
  for (Operation *user : op.getFilter().getUsers()) {
    auto other = dyn_cast<ConvOp>(user);
    const Decision *made = other ? analysis.decision(other) : nullptr;
    if (!made || other == op || other.getInput() != op.getFilter())
      continue;
    SmallVector<halo::Window> theirs = other.getWindows();
    SmallVector<int64_t> dims = other.getInputWindowDims();
    bool all = made->operands[0] == decision.operands[1];
    for (auto [n, cut] : llvm::enumerate(made->windows)) {
      auto plan = plans.find(dims[n]);
      if (cut.axes.empty() && plan == plans.end())
        continue;
      all &= plan != plans.end() && cut.cutsInput && !cut.cutsTaps &&
             sameExchange(plan->second, halo::planRanges(theirs[n], cut.input, partsOf(cut.output), {}));
    }
    if (all)
      return true;
  }
  return false;
}

/// What all ranks receive: the product of what they read in each dimension, less
/// what they own.
int64_t Candidate::bytes(Value operand, const Plans &plans) {
  auto type = cast<RankedTensorType>(operand.getType());
  double read = 1, own = 1;
  for (auto [d, size] : llvm::enumerate(type.getShape())) {
    int64_t received = 0, parts = mesh.mesh.parts(analysis.of(operand).dim(d).getAxes());
    auto plan = plans.find(d);
    for (const halo::Piece &piece : plan == plans.end() ? std::vector<halo::Piece>() : plan->second.pieces)
      for (int64_t r = 0; piece.side != halo::Side::Own && r < parts; ++r)
        received += piece.recvPeer.at(r) >= 0 ? piece.recvSize.at(r) : 0;
    read *= double(size + received);
    own *= double(size);
  }
  return int64_t((read - own) * type.getElementTypeBitWidth() / 8);
}

bool Candidate::swapIsBetter() {
  Plans swapped = swappedPlans();
  bool shared = isExchangedAnyway(swapped);
  int64_t input = bytes(op.getInput(), plans()), filter = shared ? 0 : bytes(op.getFilter(), swapped);
  bool better = filter < input;
  auto remark = emitRemark(op.getLoc()) << "filter gradient: ";
  if (better && shared)
    remark << "shares the exchange of the result's gradient, " << input << " bytes of the input's halo saved";
  else if (better)
    remark << "exchanges the halo of the result's gradient, " << filter << " bytes; the input's has " << input;
  else
    remark << "exchanges the input's halo, " << input << " bytes; that of the result's gradient has " << filter;
  return better;
}

void Candidate::swap() {
  OpBuilder b(op);
  Location loc = op.getLoc();
  SmallVector<int64_t> shape(op.getType().getShape()), spatial = op.getResultWindowDims();
  int64_t batch = dimOf(op.getOutputDims(), kBatch), feature = dimOf(op.getOutputDims(), kFeature);
  int64_t groups = op.getBatchGroupCount();
  raise::Conv conv{op.getFilter(),
                   op.getInput(),
                   {},
                   raise::Names(op.getFilterDims()),
                   raise::Names(op.getInputDims()),
                   raise::Names(swapLetters(op.getOutputDims()))};
  for (size_t n = 0; n < windows.size(); ++n)
    conv.windows.push_back(swappedWindow(n));
  // One group's filter outputs are the batch, all batches the features.
  shape[feature] /= groups;
  shape[batch] *= groups;
  Value y = raise::makeConv(b, loc, RankedTensorType::get(shape, op.getType().getElementType()), conv);
  y.getDefiningOp<ConvOp>().setBatchGroupCount(groups);
  if (groups > 1)
    y = moveGroups(b, loc, y, batch, feature, groups);
  op.replaceAllUsesWith(reverseAlong(b, loc, y, spatial));
  op.erase();
}

bool ringconv::swapFilterGradients(func::FuncOp func, const MeshContext &mesh, const ShardingAnalysis &analysis) {
  SmallVector<std::pair<ConvOp, const Decision *>> found;
  func.walk([&](ConvOp op) {
    if (const Decision *decision = analysis.decision(op))
      found.push_back({op, decision});
  });
  bool changed = false;
  for (auto [op, decision] : found) {
    Candidate candidate(op, *decision, mesh, analysis);
    if (!candidate.isCutTwice() || !candidate.canSwap() || !candidate.swapIsBetter())
      continue;
    candidate.swap();
    changed = true;
  }
  return changed;
}
