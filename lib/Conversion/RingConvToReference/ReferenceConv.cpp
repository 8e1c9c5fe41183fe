// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv.conv from its definition:
//
//   y[n, s, o] = bias[o] + sum over i, t of  x[N, e(s, t), F + i] * w[o, i, t']
//
// with e the element that tap t of output s reads (the product is left out
// where there is none), t' = t, or counted from the end where the window is
// reversed, and the group of o choosing
//
//   F = (o / (O / feature groups)) * I,    N = (o / (O / batch groups)) * (B / batch groups) + n.
#include "Reference.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace ringconv;
using utils::IteratorType;

namespace {
/// The loops of the sum: n, s..., t..., i, o. With o innermost nothing of the
/// index arithmetic is left in the innermost loop unless there are groups.
struct ConvLoops {
  int64_t spatial;
  int64_t batch() const { return 0; }
  int64_t out(int64_t s) const { return 1 + s; }
  int64_t tap(int64_t s) const { return 1 + spatial + s; }
  int64_t in() const { return 1 + 2 * spatial; }
  int64_t feature() const { return 2 + 2 * spatial; }
  int64_t count() const { return 3 + 2 * spatial; }
};
} // namespace

/// A tensor with dimension numbers `dims` whose letters are loops `first`
/// (b or o) and `second` (f or i), and whose spatial dimensions are loops `s`.
static AffineMap mapOf(MLIRContext *ctx, ArrayRef<int64_t> dims, int64_t loops, int64_t first, int64_t second,
                       llvm::function_ref<int64_t(int64_t)> s) {
  SmallVector<AffineExpr> exprs;
  for (int64_t n : dims)
    exprs.push_back(getAffineDimExpr(n == kBatch ? first : n == kFeature ? second : s(n), ctx));
  return AffineMap::get(loops, 0, exprs, ctx);
}

/// (o / perGroup) * scale + x; just x where there is one group.
static Value inGroup(OpBuilder &b, Location loc, int64_t groups, int64_t outputs, int64_t scale, Value o, Value x) {
  if (groups == 1)
    return x;
  Value perGroup = arith::ConstantIndexOp::create(b, loc, outputs / groups);
  Value group = arith::DivUIOp::create(b, loc, o, perGroup);
  Value first = arith::MulIOp::create(b, loc, group, arith::ConstantIndexOp::create(b, loc, scale));
  return arith::AddIOp::create(b, loc, first, x);
}

/// Taps of all spatial dimensions. The loop runs along the filter's storage.
static SmallVector<reference::Tap> makeTaps(OpBuilder &b, Location loc, ConvOp op, ConvLoops loops) {
  SmallVector<reference::Tap> taps;
  ArrayRef<int64_t> shape = op.getInput().getType().getShape();
  for (auto [s, window] : llvm::enumerate(op.getWindows())) {
    Value out = linalg::IndexOp::create(b, loc, loops.out(s)), tap = linalg::IndexOp::create(b, loc, loops.tap(s));
    if (op.getReverse()[s])
      tap = arith::SubIOp::create(b, loc, arith::ConstantIndexOp::create(b, loc, window.size - 1), tap);
    taps.push_back(reference::makeTap(b, loc, window, shape[dimOf(op.getInputDims(), s)], out, tap));
  }
  return taps;
}

/// The input's position of this iteration, in the order of its dimensions.
static SmallVector<Value> inputPosition(OpBuilder &b, Location loc, ConvOp op, ConvLoops loops,
                                        ArrayRef<reference::Tap> taps) {
  ArrayRef<int64_t> x = op.getInput().getType().getShape(), w = op.getFilter().getType().getShape();
  int64_t outputs = w[dimOf(op.getFilterDims(), kOutput)], inputs = w[dimOf(op.getFilterDims(), kInput)];
  int64_t batchGroups = op.getBatchGroupCount(), batch = x[dimOf(op.getInputDims(), kBatch)] / batchGroups;
  auto index = [&](int64_t loop) { return linalg::IndexOp::create(b, loc, loop).getResult(); };
  Value o = index(loops.feature());
  SmallVector<Value> position;
  for (int64_t n : op.getInputDims())
    position.push_back(n >= 0 ? taps[n].element
                       : n == kBatch
                           ? inGroup(b, loc, batchGroups, outputs, batch, o, index(loops.batch()))
                           : inGroup(b, loc, op.getFeatureGroupCount(), outputs, inputs, o, index(loops.in())));
  return position;
}

/// sum + x[position] * w
static Value addProduct(OpBuilder &b, Location loc, Value input, ValueRange position, Value weight, Value sum) {
  Value x = reference::widen(b, loc, tensor::ExtractOp::create(b, loc, input, position));
  Value w = reference::widen(b, loc, weight);
  if (isa<FloatType>(sum.getType()))
    return arith::AddFOp::create(b, loc, sum, arith::MulFOp::create(b, loc, x, w));
  return arith::AddIOp::create(b, loc, sum, arith::MulIOp::create(b, loc, x, w));
}

/// The sums, as a tensor with dimensions n, s..., o.
static Value makeSums(OpBuilder &builder, ConvOp op, ConvLoops loops) {
  MLIRContext *ctx = op.getContext();
  Type type = reference::sumType(op.getType().getElementType());
  ArrayRef<int64_t> y = op.getType().getShape();
  SmallVector<int64_t> shape{y[dimOf(op.getOutputDims(), kBatch)]}, numbers{kBatch};
  for (int64_t s = 0; s < loops.spatial; ++s) {
    shape.push_back(y[dimOf(op.getOutputDims(), s)]);
    numbers.push_back(s);
  }
  shape.push_back(y[dimOf(op.getOutputDims(), kFeature)]);
  numbers.push_back(kFeature);
  AffineMap filter = mapOf(ctx, op.getFilterDims(), loops.count(), loops.feature(), loops.in(),
                           [&](int64_t s) { return loops.tap(s); });
  AffineMap result =
      mapOf(ctx, numbers, loops.count(), loops.batch(), loops.feature(), [&](int64_t s) { return loops.out(s); });
  SmallVector<IteratorType> iterators(loops.count(), IteratorType::parallel);
  for (int64_t l = loops.tap(0); l <= loops.in(); ++l)
    iterators[l] = IteratorType::reduction;
  Value init = reference::filled(builder, op.getLoc(), shape, cast<TypedAttr>(builder.getZeroAttr(type)));
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    SmallVector<reference::Tap> taps = makeTaps(b, loc, op, loops);
    SmallVector<Value> position = inputPosition(b, loc, op, loops, taps);
    auto product = [&](OpBuilder &b) { return addProduct(b, loc, op.getInput(), position, args[0], args[1]); };
    Value sum = args[1], reads = reference::allOf(b, loc, taps);
    if (!reads)
      sum = product(b);
    else
      sum = scf::IfOp::create(
                b, loc, reads, [&](OpBuilder &b, Location) { scf::YieldOp::create(b, loc, product(b)); },
                [&](OpBuilder &b, Location) { scf::YieldOp::create(b, loc, args[1]); })
                .getResult(0);
    linalg::YieldOp::create(b, loc, sum);
  };
  return linalg::GenericOp::create(builder, op.getLoc(), init.getType(), op.getFilter(), init,
                                   ArrayRef<AffineMap>{filter, result}, iterators, body)
      .getResult(0);
}

/// Bias, the one rounding, and the result's order of dimensions.
Value reference::lowerConv(OpBuilder &builder, ConvOp op) {
  MLIRContext *ctx = op.getContext();
  ConvLoops loops{op.getNumSpatial()};
  SmallVector<Value> inputs{makeSums(builder, op, loops)};
  int64_t rank = op.getType().getRank();
  auto loopOf = [&](int64_t number) { return getAffineDimExpr(dimOf(op.getOutputDims(), number), ctx); };
  SmallVector<AffineExpr> sums{loopOf(kBatch)};
  for (int64_t s = 0; s < loops.spatial; ++s)
    sums.push_back(loopOf(s));
  sums.push_back(loopOf(kFeature));
  SmallVector<AffineMap> maps{AffineMap::get(rank, 0, sums, ctx)};
  if (op.getBias()) {
    inputs.push_back(op.getBias());
    maps.push_back(AffineMap::get(rank, 0, loopOf(kFeature), ctx));
  }
  maps.push_back(AffineMap::getMultiDimIdentityMap(rank, ctx));
  Type type = op.getType().getElementType();
  Value empty = tensor::EmptyOp::create(builder, op.getLoc(), op.getType().getShape(), type);
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value sum = args[0];
    if (op.getBias()) {
      Value bias = widen(b, loc, args[1]);
      sum = type.isInteger() ? arith::AddIOp::create(b, loc, sum, bias).getResult()
                             : arith::AddFOp::create(b, loc, sum, bias).getResult();
    }
    linalg::YieldOp::create(b, loc, roundTo(b, loc, sum, type));
  };
  return linalg::GenericOp::create(builder, op.getLoc(), op.getType(), inputs, empty, maps,
                                   SmallVector<IteratorType>(rank, IteratorType::parallel), body)
      .getResult(0);
}
