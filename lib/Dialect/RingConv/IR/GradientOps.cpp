// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that gradients need: verifiers, and what the partitioner asks.
#include "WindowOps.h"

using namespace mlir;
using namespace ringconv;

static bool isGradientType(Type type) { return type.isF64() || type.isF32() || type.isF16() || type.isBF16(); }

// ===--------------------------------------------------------------------=== //
// pool_grad
// ===--------------------------------------------------------------------=== //

SmallVector<halo::Window> PoolGradOp::getWindows() {
  return makeWindows(getSize(), getStride(), getPadLow(), getPadHigh(), getLhsDilate(), getRhsDilate(), getBorder());
}
SmallVector<int64_t> PoolGradOp::getInputWindowDims() { return spatialDims(getInputDims()); }
SmallVector<int64_t> PoolGradOp::getResultWindowDims() { return spatialDims(getOutputDims()); }
SmallVector<int64_t> PoolGradOp::getFilterWindowDims() { return {}; }
bool PoolGradOp::isReversed(int64_t) { return false; }
int64_t PoolGradOp::getNumWindowedOperands() { return 2; }

FailureOr<SmallVector<int64_t>> PoolGradOp::inferShape() {
  ArrayRef<int64_t> x = getInput().getType().getShape();
  auto sizes = windowSizes(*this, getWindows(), getInputDims(), x, "pool_grad_c5", "pool_grad_c2");
  if (failed(sizes))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t n : getOutputDims())
    shape.push_back(n >= 0 ? (*sizes)[n] : x[dimOf(getInputDims(), n)]);
  return shape;
}

LogicalResult PoolGradOp::verify() {
  int64_t spatial = getStride().size();
  RankedTensorType x = getInput().getType();
  if (failed(verifyDims(*this, "pool_grad_c1", "input", getInputDims(), x.getRank(), spatial, true)) ||
      failed(verifyDims(*this, "pool_grad_c1", "result", getOutputDims(), getType().getRank(), spatial, true)))
    return failure();
  for (int64_t letter : {kBatch, kFeature})
    if ((dimOf(getInputDims(), letter) < 0) != (dimOf(getOutputDims(), letter) < 0))
      return emitOpError() << "pool_grad_c1: " << (letter == kBatch ? "b" : "f")
                           << " must be named by both or none of input and result";
  if (failed(verifyWords(*this, "pool_grad_c2", wordsOf(*this), spatial)))
    return failure();
  if (int64_t(getSize().size()) != spatial || llvm::any_of(getSize(), [](int64_t k) { return k < 1; }))
    return emitOpError() << "pool_grad_c2: size must have " << spatial << " entries of at least 1";
  if (llvm::any_of(getBorder(), [](int64_t b) { return Border(b) != Border::Zero; }))
    return emitOpError() << "pool_grad_c2: borders must be zero; ringconv.fold_border adds what they map";
  Type element = x.getElementType(), result = getType().getElementType();
  if (!isGradientType(element) || element != result)
    return emitOpError() << "pool_grad_c3: input and result must share a type f64, f32, f16 or bf16, got " << element
                         << " and " << result;
  RankedTensorType taps = getTaps().getType();
  if (!taps.getElementType().isSignlessInteger(32) || taps.getShape() != x.getShape())
    return emitOpError() << "pool_grad_c3: taps must be i32 and have the shape of the input, got " << taps;
  auto shape = inferShape();
  return failure(failed(shape) || failed(verifyShape(*this, "pool_grad_c4", *shape, getType())));
}

SmallVector<Factor> PoolGradOp::getFactors() {
  SmallVector<Factor> factors;
  for (int64_t letter : {kBatch, kFeature}) {
    int64_t in = dimOf(getInputDims(), letter), out = dimOf(getOutputDims(), letter);
    if (in >= 0)
      factors.push_back(Factor(getInput().getType().getShape()[in], false, {in, in}, {out}));
  }
  return factors;
}

FailureOr<SmallVector<Value>> PoolGradOp::createLocal(LocalBuilder &local) {
  OpBuilder &b = local.builder;
  LocalWindows &w = local.windows;
  SmallVector<Value> scalars;
  auto offset = mixedNumbers(b, w.offset, scalars), begin = mixedNumbers(b, w.validBegin, scalars);
  auto end = mixedNumbers(b, w.validEnd, scalars);
  size_t slabs = 2 * w.haloDims.size();
  ArrayRef<Value> halos(w.halos);
  SmallVector<Value> selector{local.operands[1]};
  llvm::append_range(selector, halos.drop_front(slabs));
  auto op = LocalPoolOp::create(b, local.loc, local.results[0], local.operands[0], halos.take_front(slabs), selector,
                                scalars, local.empty(), uint64_t(PoolKind::Sum), false, getInputDims(), getOutputDims(),
                                getSize(), getStride(), getLhsDilate(), getRhsDilate(), w.haloDims, offset.asArrayRef(),
                                begin.asArrayRef(), end.asArrayRef(), w.report);
  return SmallVector<Value>{op.getResult()};
}

// ===--------------------------------------------------------------------=== //
// fold_border
// ===--------------------------------------------------------------------=== //

/// Of the extended dimension, the part that stays where it is.
SmallVector<halo::Window> FoldBorderOp::getWindows() { return {{1, 1, 1, 1, -getPad()[0], -getPad()[1]}}; }
SmallVector<int64_t> FoldBorderOp::getInputWindowDims() { return {int64_t(getDim())}; }
SmallVector<int64_t> FoldBorderOp::getResultWindowDims() { return {int64_t(getDim())}; }
SmallVector<int64_t> FoldBorderOp::getFilterWindowDims() { return {}; }
bool FoldBorderOp::isReversed(int64_t) { return false; }
int64_t FoldBorderOp::getNumWindowedOperands() { return 1; }

LogicalResult FoldBorderOp::verify() {
  RankedTensorType from = getInput().getType(), to = getType();
  int64_t dim = getDim();
  if (dim < 0 || dim >= from.getRank())
    return emitOpError() << "fold_border_c1: dim must be below " << from.getRank() << ", got " << dim;
  if (!isGradientType(from.getElementType()))
    return emitOpError() << "fold_border_c2: element type must be f64, f32, f16 or bf16, got " << from.getElementType();
  if (getPad().size() != 2 || !symbolizeBorder(getBorder()))
    return emitOpError() << "fold_border_c4: expected a low and a high padding and a border 0 to 3";
  if (to.getRank() != from.getRank() || to.getElementType() != from.getElementType())
    return emitOpError() << "fold_border_c3: input and result must share rank and element type";
  SmallVector<int64_t> shape(from.getShape());
  if (!ShapedType::isDynamic(shape[dim]))
    shape[dim] -= getPad()[0] + getPad()[1];
  if (failed(verifyShape(*this, "fold_border_c3", shape, to)))
    return failure();
  if (auto why = halo::checkWindow(getExtension(), std::max<int64_t>(shape[dim], 0)))
    return emitOpError() << "fold_border_c4: " << *why;
  return success();
}

SmallVector<Factor> FoldBorderOp::getFactors() {
  SmallVector<Factor> factors;
  for (auto [d, size] : llvm::enumerate(getType().getShape()))
    if (int64_t(d) != int64_t(getDim()))
      factors.push_back(Factor(size, false, {int64_t(d)}, {int64_t(d)}));
  return factors;
}

/// The partitioner writes the slices and sums: they need the plan of the fold.
FailureOr<SmallVector<Value>> FoldBorderOp::createLocal(LocalBuilder &) { return failure(); }
