// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv.pool from its definition: max, sum or average over the taps that
// read an element.
#include "Reference.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;
using namespace ringconv;
using utils::IteratorType;

/// Whether the number of taps that read something is counted.
static bool counts(PoolOp op) { return PoolKind(op.getKind()) == PoolKind::Avg && !op.getCountPadding(); }

/// What a window without elements gives.
static TypedAttr startValue(OpBuilder &b, PoolOp op, Type type) {
  if (PoolKind(op.getKind()) != PoolKind::Max)
    return cast<TypedAttr>(b.getZeroAttr(type));
  if (type.isInteger()) // never the result: pool_c8
    return b.getIntegerAttr(type, std::numeric_limits<int64_t>::min());
  return b.getFloatAttr(type, -std::numeric_limits<double>::infinity());
}

/// Loops are the result's dimensions, then one per spatial number.
static SmallVector<reference::Tap> makeTaps(OpBuilder &b, Location loc, PoolOp op) {
  SmallVector<reference::Tap> taps;
  ArrayRef<int64_t> shape = op.getInput().getType().getShape();
  for (auto [s, window] : llvm::enumerate(op.getWindows())) {
    Value out = linalg::IndexOp::create(b, loc, dimOf(op.getOutputDims(), s));
    Value tap = linalg::IndexOp::create(b, loc, op.getType().getRank() + s);
    taps.push_back(reference::makeTap(b, loc, window, shape[dimOf(op.getInputDims(), s)], out, tap));
  }
  return taps;
}

/// The input's position of this iteration, in the order of its dimensions.
static SmallVector<Value> inputPosition(OpBuilder &b, Location loc, PoolOp op, ArrayRef<reference::Tap> taps) {
  SmallVector<Value> position;
  for (int64_t n : op.getInputDims())
    position.push_back(n >= 0 ? taps[n].element
                              : linalg::IndexOp::create(b, loc, dimOf(op.getOutputDims(), n)).getResult());
  return position;
}

/// The value so far, and the count so far, with element `position` taken in.
static SmallVector<Value> takeIn(OpBuilder &b, Location loc, PoolOp op, ValueRange position, ValueRange soFar) {
  Value x = reference::widen(b, loc, tensor::ExtractOp::create(b, loc, op.getInput(), position));
  bool isMax = PoolKind(op.getKind()) == PoolKind::Max;
  SmallVector<Value> results;
  if (x.getType().isInteger())
    results.push_back(isMax ? arith::MaxSIOp::create(b, loc, soFar[0], x).getResult()
                            : arith::AddIOp::create(b, loc, soFar[0], x).getResult());
  else
    results.push_back(isMax ? arith::MaximumFOp::create(b, loc, soFar[0], x).getResult()
                            : arith::AddFOp::create(b, loc, soFar[0], x).getResult());
  if (counts(op)) {
    Value one = arith::ConstantOp::create(b, loc, b.getF64FloatAttr(1.0));
    results.push_back(arith::AddFOp::create(b, loc, soFar[1], one));
  }
  return results;
}

/// Maxima or sums, and counts where wanted, in the result's order of
/// dimensions. A tensor that is never read gives the window's extents.
static SmallVector<Value> makeAccumulators(OpBuilder &builder, PoolOp op) {
  MLIRContext *ctx = op.getContext();
  Location loc = op.getLoc();
  Type type = reference::sumType(op.getType().getElementType());
  int64_t rank = op.getType().getRank(), loops = rank + op.getNumSpatial();
  Value window = tensor::EmptyOp::create(builder, loc, op.getSize(), type);
  SmallVector<Value> inits{reference::filled(builder, loc, op.getType().getShape(), startValue(builder, op, type))};
  if (counts(op))
    inits.push_back(reference::filled(builder, loc, op.getType().getShape(), builder.getF64FloatAttr(0.0)));
  SmallVector<AffineExpr> taps;
  for (int64_t l = rank; l < loops; ++l)
    taps.push_back(getAffineDimExpr(l, ctx));
  SmallVector<AffineMap> maps{AffineMap::get(loops, 0, taps, ctx)};
  maps.append(inits.size(), AffineMap::getMultiDimIdentityMap(loops, ctx).getMajorSubMap(rank));
  SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
  iterators.append(op.getNumSpatial(), IteratorType::reduction);
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    SmallVector<reference::Tap> taps = makeTaps(b, loc, op);
    SmallVector<Value> position = inputPosition(b, loc, op, taps), results;
    ValueRange soFar = args.drop_front();
    if (Value reads = reference::allOf(b, loc, taps))
      results = scf::IfOp::create(
                    b, loc, reads,
                    [&](OpBuilder &b, Location) { scf::YieldOp::create(b, loc, takeIn(b, loc, op, position, soFar)); },
                    [&](OpBuilder &b, Location) { scf::YieldOp::create(b, loc, soFar); })
                    .getResults();
    else
      results = takeIn(b, loc, op, position, soFar);
    linalg::YieldOp::create(b, loc, results);
  };
  auto generic =
      linalg::GenericOp::create(builder, loc, ValueRange(inits).getTypes(), window, inits, maps, iterators, body);
  return SmallVector<Value>(generic.getResults());
}

/// The average: 0 where nothing was read.
static Value divide(OpBuilder &b, Location loc, PoolOp op, ValueRange args) {
  double size = 1;
  for (int64_t k : op.getSize())
    size *= k;
  if (op.getCountPadding())
    return arith::DivFOp::create(b, loc, args[0], arith::ConstantOp::create(b, loc, b.getF64FloatAttr(size)));
  // A sum of nothing is 0, and stays it when divided by 1.
  Value one = arith::ConstantOp::create(b, loc, b.getF64FloatAttr(1.0));
  return arith::DivFOp::create(b, loc, args[0], arith::MaximumFOp::create(b, loc, args[1], one));
}

Value reference::lowerPool(OpBuilder &builder, PoolOp op) {
  SmallVector<Value> inputs = makeAccumulators(builder, op);
  int64_t rank = op.getType().getRank();
  SmallVector<AffineMap> maps(inputs.size() + 1, AffineMap::getMultiDimIdentityMap(rank, op.getContext()));
  Type type = op.getType().getElementType();
  Value empty = tensor::EmptyOp::create(builder, op.getLoc(), op.getType().getShape(), type);
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value value = PoolKind(op.getKind()) == PoolKind::Avg ? divide(b, loc, op, args) : args[0];
    linalg::YieldOp::create(b, loc, roundTo(b, loc, value, type));
  };
  return linalg::GenericOp::create(builder, op.getLoc(), op.getType(), inputs, empty, maps,
                                   SmallVector<IteratorType>(rank, IteratorType::parallel), body)
      .getResult(0);
}
