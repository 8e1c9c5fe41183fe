// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of y[n, s, o] = b[o] + sum over i, t of x[n, e(s, t), i] w[o, i, t]:
//
//   dx[n, e, i] = sum over o, t of  dy[n, s(e, t), o] w[o, i, t]
//   dw[o, i, t] = sum over n, s of  x[n, e(s, t), i] dy[n, s, o]
//   db[o]       = sum over n, s of  dy[n, s, o]
//
// The first two are convolutions: of dy with w, features swapped, taps counted
// from the last; and of x with dy, where batch is what features were and the
// other way round. Their windows are in lib/Halo/Gradient.cpp.
//
// Groups. With G feature groups x has G I features and w [G O', I]: dx needs the
// filter [G I, O'], and dw is a convolution with G batch groups. With G batch
// groups y[n] reads x[g n', ...]: dw is a convolution with G feature groups, dx
// gets the groups as features and moves them to its batch.
#include "Differentiate.h"
#include "Raise.h"
#include "ringconv/Halo/Gradient.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace ringconv;

namespace {
/// A convolution that is being differentiated.
struct Forward {
  ConvOp op;
  SmallVector<halo::Window> windows;
  SmallVector<int64_t> inputDims, filterDims; ///< by spatial number
  ArrayRef<int64_t> x, w;                     ///< shapes
  int64_t featureGroups, batchGroups;

  explicit Forward(ConvOp op)
      : op(op), windows(op.getWindows()), inputDims(op.getInputWindowDims()), filterDims(op.getFilterWindowDims()),
        x(op.getInput().getType().getShape()), w(op.getFilter().getType().getShape()),
        featureGroups(op.getFeatureGroupCount()), batchGroups(op.getBatchGroupCount()) {}

  int64_t groups() const { return std::max(featureGroups, batchGroups); }
  int64_t size(size_t n) const { return x[inputDims[n]]; }
};
} // namespace

/// The window words of a gradient convolution.
static ConvOp makeGradientConv(OpBuilder &b, Location loc, RankedTensorType type, Value input, Value filter,
                               ArrayRef<int64_t> inputDims, ArrayRef<int64_t> filterDims, ArrayRef<int64_t> outputDims,
                               ArrayRef<halo::Window> windows, ArrayRef<bool> reverse, int64_t featureGroups,
                               int64_t batchGroups) {
  raise::Conv conv{input, filter, {}, raise::Names(inputDims), raise::Names(filterDims), raise::Names(outputDims)};
  conv.windows.assign(windows.begin(), windows.end());
  conv.featureGroups = featureGroups;
  auto op = raise::makeConv(b, loc, type, conv).getDefiningOp<ConvOp>();
  op.setReverse(reverse);
  op.setBatchGroupCount(batchGroups);
  return op;
}

static Value inputGradient(const Forward &f, Value dy, OpBuilder &b, Location loc) {
  ConvOp op = f.op;
  SmallVector<halo::Window> windows, folded;
  SmallVector<bool> reverse;
  SmallVector<int64_t> shape(f.x);
  for (auto [n, w] : llvm::enumerate(f.windows)) {
    reverse.push_back(!op.getReverse()[n]);
    folded.push_back(w);
    if (halo::wrapsAround(w, f.size(n))) {
      windows.push_back({w.size, 1, w.dilation, 1, w.padHigh, w.padLow, w.border});
      folded.back().border = halo::Border::Zero;
    } else if (halo::mapsBorder(w)) {
      int64_t &extended = shape[f.inputDims[n]];
      extended += w.padLow + w.padHigh;
      windows.push_back(halo::inputGradient(halo::onExtended(w), extended));
    } else {
      windows.push_back(halo::inputGradient(w, f.size(n)));
    }
  }
  int64_t batch = dimOf(op.getInputDims(), kBatch), feature = dimOf(op.getInputDims(), kFeature);
  int64_t outputs = dimOf(op.getFilterDims(), kOutput), inputs = dimOf(op.getFilterDims(), kInput);
  Value filter = op.getFilter();
  if (f.groups() > 1)
    filter = moveGroups(b, loc, filter, outputs, inputs, f.groups());
  shape[batch] /= f.batchGroups;
  shape[feature] *= f.batchGroups;
  // What is still to be folded is not rounded yet.
  Type element = op.getInput().getType().getElementType();
  auto type =
      RankedTensorType::get(shape, llvm::any_of(folded, halo::mapsBorder) ? accumulationType(element) : element);
  Value dx = makeGradientConv(b, loc, type, dy, filter, op.getOutputDims(), swapLetters(op.getFilterDims()),
                              op.getInputDims(), windows, reverse, f.groups(), 1);
  if (f.batchGroups > 1)
    dx = moveGroups(b, loc, dx, feature, batch, f.batchGroups);
  return convertTo(b, loc, foldBorders(b, loc, dx, folded, f.inputDims), element);
}

/// In a reversed dimension entry t of the filter is tap k - 1 - t.
static Value filterGradient(const Forward &f, Value dy, OpBuilder &b, Location loc) {
  ConvOp op = f.op;
  SmallVector<halo::Window> windows;
  SmallVector<int64_t> shape(f.w), reversed;
  SmallVector<bool> reverse(f.windows.size(), false);
  for (auto [n, w] : llvm::enumerate(f.windows)) {
    windows.push_back(halo::filterGradient(w, f.size(n)));
    shape[f.filterDims[n]] = halo::numOutputs(windows.back(), f.size(n));
    if (op.getReverse()[n])
      reversed.push_back(f.filterDims[n]);
  }
  auto filterType = op.getFilter().getType();
  auto type = RankedTensorType::get(shape, filterType.getElementType());
  Value dw =
      makeGradientConv(b, loc, type, op.getInput(), dy, swapLetters(op.getInputDims()), swapLetters(op.getOutputDims()),
                       swapLetters(op.getFilterDims()), windows, reverse, f.batchGroups, f.featureGroups);
  if (type != filterType) {
    SmallVector<OpFoldResult> offsets(shape.size(), b.getIndexAttr(0)), strides(shape.size(), b.getIndexAttr(1));
    SmallVector<OpFoldResult> sizes;
    for (int64_t size : f.w)
      sizes.push_back(b.getIndexAttr(size));
    dw = tensor::ExtractSliceOp::create(b, loc, filterType, dw, offsets, sizes, strides);
  }
  return reverseAlong(b, loc, dw, reversed);
}

LogicalResult ringconv::pullBack(ConvOp op, Value dy, Gradients &gradients) {
  OpBuilder &b = gradients.b;
  Location loc = gradients.loc;
  Forward f(op);
  Value bias = op.getBias();
  auto empty = [](Value v) { return llvm::is_contained(cast<RankedTensorType>(v.getType()).getShape(), 0); };
  bool nothing = empty(dy) || empty(op.getFilter());
  // Products are of the operands' type, as forward.
  Value factor = nothing ? dy : convertTo(b, loc, dy, op.getInput().getType().getElementType());
  auto zeros = [&](Value v) { return makeConstant(b, loc, v.getType(), 0); };
  // dx first: its interior is computed while the halo of dy travels. dw and db
  // side by side: their sums travel together.
  if (gradients.wants(op.getInput()))
    gradients.addLike(op.getInput(), nothing ? zeros(op.getInput()) : inputGradient(f, factor, b, loc));
  if (gradients.wants(op.getFilter()))
    gradients.addLike(op.getFilter(), nothing ? zeros(op.getFilter()) : filterGradient(f, factor, b, loc));
  if (bias && gradients.wants(bias))
    gradients.addLike(bias, empty(dy) ? zeros(bias) : sumAllBut(b, loc, dy, dimOf(op.getOutputDims(), kFeature)));
  return success();
}
