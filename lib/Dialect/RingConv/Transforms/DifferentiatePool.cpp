// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of pools: the transposed window over dy.
//
//   sum   dx[e] = sum over t of dy[s(e, t)]
//   avg   the same of dy[s] / (taps that s counts)
//   max   dx[e] = sum over t of dy[s(e, t)] where t was the largest of s
#include "Differentiate.h"
#include "Raise.h"
#include "ringconv/Halo/Gradient.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace ringconv;

/// dy / (number of taps that an average counts). It is the product of one number
/// per dimension, which is a vector of constants.
static Value divideByCounts(PoolOp op, Value dy, OpBuilder &builder, Location loc) {
  auto type = cast<RankedTensorType>(dy.getType());
  Type wide = accumulationType(type.getElementType());
  MLIRContext *ctx = builder.getContext();
  SmallVector<AffineMap> maps{AffineMap::getMultiDimIdentityMap(type.getRank(), ctx)};
  SmallVector<Value> inputs{dy};
  SmallVector<int64_t> inputDims = op.getInputWindowDims(), resultDims = op.getResultWindowDims();
  double window = 1;
  for (auto [n, w] : llvm::enumerate(op.getWindows())) {
    window *= w.size;
    if (op.getCountPadding())
      continue;
    std::vector<int64_t> taps = halo::readingTaps(w, op.getInput().getType().getDimSize(inputDims[n]));
    SmallVector<Attribute> counts;
    for (int64_t count : taps)
      counts.push_back(builder.getFloatAttr(wide, double(count)));
    auto vector = RankedTensorType::get({int64_t(counts.size())}, wide);
    inputs.push_back(arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(vector, counts)));
    maps.push_back(AffineMap::get(type.getRank(), 0, getAffineDimExpr(resultDims[n], ctx)));
  }
  maps.push_back(maps[0]);
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    // A window that counts nothing gives nothing: any divisor but 0 will do.
    Value divisor = makeConstant(b, loc, wide, op.getCountPadding() ? window : 1);
    Value product;
    for (Value count : args.drop_front().drop_back())
      product = product ? arith::MulFOp::create(b, loc, product, count).getResult() : count;
    if (product)
      divisor = arith::MaximumFOp::create(b, loc, product, divisor);
    Value quotient = arith::DivFOp::create(b, loc, convertTo(b, loc, args[0], wide), divisor);
    linalg::YieldOp::create(b, loc, convertTo(b, loc, quotient, type.getElementType()));
  };
  SmallVector<utils::IteratorType> iterators(type.getRank(), utils::IteratorType::parallel);
  return linalg::GenericOp::create(builder, loc, type, inputs, empty, maps, iterators, body).getResult(0);
}

/// The number of the largest tap of each window. It is made where the pool is, so
/// that nothing else of the input is kept.
static Value largestTaps(PoolOp op) {
  OpBuilder b(op->getContext());
  b.setInsertionPointAfter(op);
  auto type = RankedTensorType::get(op.getType().getShape(), b.getI32Type());
  return PoolOp::create(b, op.getLoc(), type, op.getInput(), uint64_t(PoolKind::ArgMax), false, op.getInputDims(),
                        op.getOutputDims(), op.getSize(), op.getStride(), op.getPadLow(), op.getPadHigh(),
                        op.getLhsDilate(), op.getRhsDilate(), op.getReverse(), op.getBorder());
}

static Value scatterToTaps(OpBuilder &b, Location loc, RankedTensorType type, PoolOp op, Value dy,
                           const raise::Windows &windows) {
  SmallVector<int64_t> size, stride, low, high, lhs, rhs, border(windows.size(), 0);
  SmallVector<bool> reverse(windows.size(), false);
  for (const halo::Window &w : windows) {
    size.push_back(w.size);
    stride.push_back(w.stride);
    low.push_back(w.padLow);
    high.push_back(w.padHigh);
    lhs.push_back(w.baseDilation);
    rhs.push_back(w.dilation);
  }
  return PoolGradOp::create(b, loc, type, dy, largestTaps(op), op.getOutputDims(), op.getInputDims(), size, stride, low,
                            high, lhs, rhs, reverse, border);
}

LogicalResult ringconv::pullBack(PoolOp op, Value dy, Gradients &gradients) {
  OpBuilder &b = gradients.b;
  Location loc = gradients.loc;
  if (!gradients.wants(op.getInput()) || PoolKind(op.getKind()) == PoolKind::ArgMax)
    return success();
  RankedTensorType xType = op.getInput().getType();
  if (llvm::is_contained(op.getType().getShape(), 0)) {
    gradients.addLike(op.getInput(), makeConstant(b, loc, xType, 0));
    return success();
  }
  SmallVector<halo::Window> forward = op.getWindows();
  SmallVector<int64_t> dims = op.getInputWindowDims(), shape(xType.getShape());
  raise::Windows windows;
  for (auto [n, w] : llvm::enumerate(forward)) {
    int64_t &size = shape[dims[n]];
    if (halo::mapsBorder(w))
      size += w.padLow + w.padHigh;
    windows.push_back(halo::inputGradient(halo::mapsBorder(w) ? halo::onExtended(w) : w, size));
  }
  // What is still to be folded is not rounded yet.
  Type element = xType.getElementType();
  auto type =
      RankedTensorType::get(shape, llvm::any_of(forward, halo::mapsBorder) ? accumulationType(element) : element);
  // Of one tap each, pads and slices: the largest is the sum.
  PoolKind kind = PoolKind(op.getKind());
  if (kind == PoolKind::Max && llvm::all_of(op.getSize(), [](int64_t k) { return k == 1; }))
    kind = PoolKind::Sum;
  if (kind == PoolKind::Avg)
    dy = divideByCounts(op, dy, b, loc);
  dy = convertTo(b, loc, dy, type.getElementType());
  Value dx = kind == PoolKind::Max
                 ? scatterToTaps(b, loc, type, op, dy, windows)
                 : raise::makePool(b, loc, type, PoolKind::Sum, dy, op.getOutputDims(), op.getInputDims(), windows);
  gradients.addLike(op.getInput(), convertTo(b, loc, foldBorders(b, loc, dx, forward, dims), element));
  return success();
}
