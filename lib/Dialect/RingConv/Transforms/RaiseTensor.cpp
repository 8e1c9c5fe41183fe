// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pads and slices are pools with windows of 1: padding is skipped, which leaves
// a sum of nothing, 0, or a maximum of nothing, -inf; negative padding cuts off.
#include "Raise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/ReshapeOpsUtils.h"

using namespace mlir;
using namespace ringconv;

/// Names for the dimensions of a tensor: spatial where `changed`, of the others
/// two are b and f, and the rest is spatial too.
static raise::Names nameDims(ArrayRef<bool> changed) {
  int64_t letter = kBatch, number = 0;
  raise::Names names;
  for (bool c : changed)
    names.push_back(!c && letter >= kFeature ? letter-- : number++);
  return names;
}

/// One window for each dimension that has a number.
static raise::Windows numbered(ArrayRef<int64_t> names, ArrayRef<halo::Window> all) {
  raise::Windows windows;
  for (auto [name, w] : llvm::zip(names, all))
    if (name >= 0)
      windows.push_back(w);
  return windows;
}

Value raise::makeMove(OpBuilder &b, Location loc, RankedTensorType result, PoolKind kind, Value input,
                      ArrayRef<halo::Window> all) {
  SmallVector<bool> changed;
  for (const halo::Window &w : all)
    changed.push_back(w.padLow != 0 || w.padHigh != 0 || w.stride != 1 || w.baseDilation != 1);
  raise::Names names = nameDims(changed);
  return raise::makePool(b, loc, result, kind, input, names, names, numbered(names, all));
}

static bool replaceByPool(Operation *op, PoolKind kind, Value input, ArrayRef<halo::Window> all) {
  OpBuilder b(op);
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  op->getResult(0).replaceAllUsesWith(raise::makeMove(b, op->getLoc(), type, kind, input, all));
  op->erase();
  return true;
}

/// Padded with zeros, and the constant where ones padded with zeros are none.
static Value selectPadding(tensor::PadOp op, const raise::Pad &pad, ArrayRef<halo::Window> all) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto type = cast<RankedTensorType>(op.getResult().getType());
  Type element = type.getElementType();
  auto splat = [&](Type type, Attribute value) -> Value {
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(cast<RankedTensorType>(type), value));
  };
  Attribute one = isa<FloatType>(element) ? Attribute(b.getFloatAttr(element, 1)) : b.getIntegerAttr(element, 1);
  Value x = raise::makeMove(b, loc, type, PoolKind::Sum, pad.source, all);
  Value ones = raise::makeMove(b, loc, type, PoolKind::Sum, splat(pad.source.getType(), one), all), inside;
  if (isa<FloatType>(element))
    inside = arith::CmpFOp::create(b, loc, arith::CmpFPredicate::OEQ, ones, splat(type, one));
  else
    inside = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, ones, splat(type, one));
  return arith::SelectOp::create(b, loc, inside, x, splat(type, pad.value));
}

static bool raisePad(tensor::PadOp op) {
  raise::Pad pad = raise::padOf(op.getResult());
  auto type = cast<RankedTensorType>(op.getResult().getType());
  if (!pad.value || !raise::poolType(type.getElementType()) || !raise::isStatic(op.getResult()))
    return false;
  SmallVector<halo::Window> all;
  for (auto [low, high] : llvm::zip(pad.low, pad.high))
    all.push_back({1, 1, 1, 1, low, high});
  if (raise::isZero(pad.value) || raise::isMinusInfinity(pad.value))
    return replaceByPool(op, raise::isZero(pad.value) ? PoolKind::Sum : PoolKind::Max, pad.source, all);
  Value padded = selectPadding(op, pad, all);
  op.getResult().replaceAllUsesWith(padded);
  return op.erase(), true;
}

/// Element i of the slice is element offset + i * stride: the last one read is
/// followed by padHigh elements that are cut off. Dimensions that the result
/// lacks are sliced to 1, then dropped.
static bool raiseSlice(tensor::ExtractSliceOp op) {
  RankedTensorType from = op.getSourceType(), to = op.getType();
  if (!op.getOffsets().empty() || !op.getSizes().empty() || !op.getStrides().empty() || from == to ||
      !raise::poolType(from.getElementType()) || !raise::isStatic(op.getSource()) ||
      !raise::isStatic(op.getResult()))
    return false;
  SmallVector<halo::Window> all;
  for (int64_t d = 0; d < from.getRank(); ++d) {
    int64_t offset = op.getStaticOffsets()[d], size = op.getStaticSizes()[d], stride = op.getStaticStrides()[d];
    if (stride < 1)
      return false;
    // The stride of a single element means nothing.
    all.push_back({1, size == 1 ? 1 : stride, 1, 1, -offset, offset + (size - 1) * stride + 1 - from.getDimSize(d)});
  }
  if (from.getRank() == to.getRank())
    return replaceByPool(op, PoolKind::Max, op.getSource(), all);
  auto full = RankedTensorType::get(op.getStaticSizes(), from.getElementType());
  auto groups = getReassociationIndicesForReshape(full, to);
  if (!groups)
    return false;
  OpBuilder b(op);
  Value slice = raise::makeMove(b, op.getLoc(), full, PoolKind::Max, op.getSource(), all);
  op.getResult().replaceAllUsesWith(tensor::CollapseShapeOp::create(b, op.getLoc(), to, slice, *groups).getResult());
  return op.erase(), true;
}

bool raise::raiseTensor(Operation *op, bool slices) {
  if (auto pad = dyn_cast<tensor::PadOp>(op))
    return raisePad(pad);
  auto slice = dyn_cast<tensor::ExtractSliceOp>(op);
  return slice && slices && raiseSlice(slice);
}
