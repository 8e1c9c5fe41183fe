// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv.pool and pool_grad from their definitions: max, sum, average or the
// number of the largest over the taps that read an element; for pool_grad, over
// those whose place holds their number.
#include "Reference.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <limits>

using namespace mlir;
using namespace ringconv;
using utils::IteratorType;

namespace {
/// What both operations are made of.
struct Pool {
  Location loc;
  RankedTensorType type;
  TypedValue<RankedTensorType> input;
  Value taps; ///< of pool_grad, else null
  PoolKind kind;
  bool countPadding;
  SmallVector<halo::Window> windows;
  ArrayRef<int64_t> inputDims, outputDims, size;

  explicit Pool(PoolOp op)
      : loc(op.getLoc()), type(op.getType()), input(op.getInput()), kind(PoolKind(op.getKind())),
        countPadding(op.getCountPadding()), windows(op.getWindows()), inputDims(op.getInputDims()),
        outputDims(op.getOutputDims()), size(op.getSize()) {}
  explicit Pool(PoolGradOp op)
      : loc(op.getLoc()), type(op.getType()), input(op.getInput()), taps(op.getTaps()), kind(PoolKind::Sum),
        countPadding(false), windows(op.getWindows()), inputDims(op.getInputDims()), outputDims(op.getOutputDims()),
        size(op.getSize()) {}

  bool isMax() const { return kind == PoolKind::Max || kind == PoolKind::ArgMax; }
  /// Whether the number of taps that read something is counted.
  bool counts() const { return kind == PoolKind::Avg && !countPadding; }
  int64_t numTaps() const {
    int64_t n = 1;
    for (int64_t k : size)
      n *= k;
    return n;
  }
};
} // namespace

/// What a window without elements gives.
static TypedAttr startValue(OpBuilder &b, const Pool &p, Type type) {
  if (!p.isMax())
    return cast<TypedAttr>(b.getZeroAttr(type));
  if (type.isInteger()) // never the result: pool_c8
    return b.getIntegerAttr(type, std::numeric_limits<int64_t>::min());
  return b.getFloatAttr(type, -std::numeric_limits<double>::infinity());
}

/// Loops are the result's dimensions, then one per spatial number.
static Value tapLoop(OpBuilder &b, const Pool &p, int64_t s) {
  return linalg::IndexOp::create(b, p.loc, p.type.getRank() + s);
}

static SmallVector<reference::Tap> makeTaps(OpBuilder &b, const Pool &p) {
  SmallVector<reference::Tap> taps;
  ArrayRef<int64_t> shape = p.input.getType().getShape();
  for (auto [s, window] : llvm::enumerate(p.windows)) {
    Value out = linalg::IndexOp::create(b, p.loc, dimOf(p.outputDims, s));
    taps.push_back(reference::makeTap(b, p.loc, window, shape[dimOf(p.inputDims, s)], out, tapLoop(b, p, s)));
  }
  return taps;
}

/// The row-major number of this iteration's tap, as i64. linalg.index stands in
/// the body itself, not under a condition: it is made before.
static Value tapNumber(OpBuilder &b, const Pool &p) {
  Value number = arith::ConstantIndexOp::create(b, p.loc, 0);
  for (auto [s, k] : llvm::enumerate(p.size)) {
    Value rows = arith::MulIOp::create(b, p.loc, number, arith::ConstantIndexOp::create(b, p.loc, k));
    number = arith::AddIOp::create(b, p.loc, rows, tapLoop(b, p, s));
  }
  return arith::IndexCastOp::create(b, p.loc, b.getI64Type(), number);
}

/// The input's position of this iteration, in the order of its dimensions.
static SmallVector<Value> inputPosition(OpBuilder &b, const Pool &p, ArrayRef<reference::Tap> taps) {
  SmallVector<Value> position;
  for (int64_t n : p.inputDims)
    position.push_back(n >= 0 ? taps[n].element
                              : linalg::IndexOp::create(b, p.loc, dimOf(p.outputDims, n)).getResult());
  return position;
}

/// For argmax: the best value and its number, with x taken in. -1 is the number
/// before the first; the first of equals stays, the first NaN wins.
static SmallVector<Value> takeNumbered(OpBuilder &b, const Pool &p, Value x, Value number, ValueRange soFar) {
  auto compare = [&](arith::CmpFPredicate predicate, Value a, Value c) -> Value {
    return arith::CmpFOp::create(b, p.loc, predicate, a, c);
  };
  Value firstNan = arith::AndIOp::create(b, p.loc, compare(arith::CmpFPredicate::UNO, x, x),
                                         compare(arith::CmpFPredicate::ORD, soFar[0], soFar[0]));
  Value none = arith::ConstantOp::create(b, p.loc, b.getI64IntegerAttr(-1));
  Value first = arith::CmpIOp::create(b, p.loc, arith::CmpIPredicate::eq, soFar[1], none);
  Value larger = arith::OrIOp::create(b, p.loc, compare(arith::CmpFPredicate::OGT, x, soFar[0]), firstNan);
  Value take = arith::OrIOp::create(b, p.loc, larger, first);
  return {arith::SelectOp::create(b, p.loc, take, x, soFar[0]),
          arith::SelectOp::create(b, p.loc, take, number, soFar[1])};
}

/// The value so far, and the count or number so far, with element `position`
/// taken in, which tap `number` reads.
static SmallVector<Value> takeIn(OpBuilder &b, const Pool &p, ValueRange position, Value number, ValueRange soFar) {
  Value x = reference::widen(b, p.loc, tensor::ExtractOp::create(b, p.loc, p.input, position));
  if (p.kind == PoolKind::ArgMax)
    return takeNumbered(b, p, x, number, soFar);
  SmallVector<Value> results;
  if (x.getType().isInteger())
    results.push_back(p.isMax() ? arith::MaxSIOp::create(b, p.loc, soFar[0], x).getResult()
                                : arith::AddIOp::create(b, p.loc, soFar[0], x).getResult());
  else
    results.push_back(p.isMax() ? arith::MaximumFOp::create(b, p.loc, soFar[0], x).getResult()
                                : arith::AddFOp::create(b, p.loc, soFar[0], x).getResult());
  if (p.counts()) {
    Value one = arith::ConstantOp::create(b, p.loc, b.getF64FloatAttr(1.0));
    results.push_back(arith::AddFOp::create(b, p.loc, soFar[1], one));
  }
  return results;
}

/// takeIn where `reads` holds; null: always.
static SmallVector<Value> takeInIf(OpBuilder &b, const Pool &p, Value reads, ValueRange position, Value number,
                                   ValueRange soFar) {
  if (!reads)
    return takeIn(b, p, position, number, soFar);
  auto branch = scf::IfOp::create(
      b, p.loc, reads,
      [&](OpBuilder &b, Location) { scf::YieldOp::create(b, p.loc, takeIn(b, p, position, number, soFar)); },
      [&](OpBuilder &b, Location) { scf::YieldOp::create(b, p.loc, soFar); });
  return SmallVector<Value>(branch.getResults());
}

/// Of pool_grad: the tap counts where the place that it reads holds its number,
/// counted from the last.
static SmallVector<Value> takeInMarked(OpBuilder &b, const Pool &p, Value reads, ValueRange position, Value number,
                                       ValueRange soFar) {
  auto marked = [&](OpBuilder &b) {
    Value held = reference::widen(b, p.loc, tensor::ExtractOp::create(b, p.loc, p.taps, position));
    Value last = arith::ConstantOp::create(b, p.loc, b.getI64IntegerAttr(p.numTaps() - 1));
    Value wanted = arith::SubIOp::create(b, p.loc, last, number);
    Value here = arith::CmpIOp::create(b, p.loc, arith::CmpIPredicate::eq, held, wanted);
    return takeInIf(b, p, here, position, number, soFar);
  };
  if (!reads)
    return marked(b);
  auto branch = scf::IfOp::create(
      b, p.loc, reads, [&](OpBuilder &b, Location) { scf::YieldOp::create(b, p.loc, marked(b)); },
      [&](OpBuilder &b, Location) { scf::YieldOp::create(b, p.loc, soFar); });
  return SmallVector<Value>(branch.getResults());
}

static SmallVector<Value> makeInits(OpBuilder &b, const Pool &p) {
  Type type = reference::sumType(p.input.getType().getElementType());
  SmallVector<Value> inits{reference::filled(b, p.loc, p.type.getShape(), startValue(b, p, type))};
  if (p.counts())
    inits.push_back(reference::filled(b, p.loc, p.type.getShape(), b.getF64FloatAttr(0.0)));
  if (p.kind == PoolKind::ArgMax)
    inits.push_back(reference::filled(b, p.loc, p.type.getShape(), b.getI64IntegerAttr(-1)));
  return inits;
}

/// Maxima or sums, and counts or numbers where wanted, in the result's order of
/// dimensions. A tensor that is never read gives the window's extents.
static SmallVector<Value> makeAccumulators(OpBuilder &builder, const Pool &p) {
  MLIRContext *ctx = builder.getContext();
  int64_t rank = p.type.getRank(), spatial = p.windows.size(), loops = rank + spatial;
  SmallVector<Value> inits = makeInits(builder, p);
  Value window = tensor::EmptyOp::create(builder, p.loc, p.size, builder.getF32Type());
  SmallVector<AffineExpr> taps;
  for (int64_t l = rank; l < loops; ++l)
    taps.push_back(getAffineDimExpr(l, ctx));
  SmallVector<AffineMap> maps{AffineMap::get(loops, 0, taps, ctx)};
  maps.append(inits.size(), AffineMap::getMultiDimIdentityMap(loops, ctx).getMajorSubMap(rank));
  SmallVector<IteratorType> iterators(rank, IteratorType::parallel);
  iterators.append(spatial, IteratorType::reduction);
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    SmallVector<reference::Tap> taps = makeTaps(b, p);
    SmallVector<Value> position = inputPosition(b, p, taps);
    ValueRange soFar = args.drop_front();
    Value reads = reference::allOf(b, loc, taps), number = tapNumber(b, p);
    linalg::YieldOp::create(b, loc,
                            p.taps ? takeInMarked(b, p, reads, position, number, soFar)
                                   : takeInIf(b, p, reads, position, number, soFar));
  };
  auto generic =
      linalg::GenericOp::create(builder, p.loc, ValueRange(inits).getTypes(), window, inits, maps, iterators, body);
  return SmallVector<Value>(generic.getResults());
}

/// The average: 0 where nothing was read.
static Value divide(OpBuilder &b, Location loc, const Pool &p, ValueRange args) {
  if (p.countPadding) {
    Value size = arith::ConstantOp::create(b, loc, b.getF64FloatAttr(double(p.numTaps())));
    return arith::DivFOp::create(b, loc, args[0], size);
  }
  // A sum of nothing is 0, and stays it when divided by 1.
  Value one = arith::ConstantOp::create(b, loc, b.getF64FloatAttr(1.0));
  return arith::DivFOp::create(b, loc, args[0], arith::MaximumFOp::create(b, loc, args[1], one));
}

static Value lower(OpBuilder &builder, const Pool &p) {
  SmallVector<Value> inputs = makeAccumulators(builder, p);
  int64_t rank = p.type.getRank();
  SmallVector<AffineMap> maps(inputs.size() + 1, AffineMap::getMultiDimIdentityMap(rank, builder.getContext()));
  Type type = p.type.getElementType();
  Value empty = tensor::EmptyOp::create(builder, p.loc, p.type.getShape(), type);
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value value = p.kind == PoolKind::Avg ? divide(b, loc, p, args) : p.kind == PoolKind::ArgMax ? args[1] : args[0];
    linalg::YieldOp::create(b, loc, reference::roundTo(b, loc, value, type));
  };
  return linalg::GenericOp::create(builder, p.loc, p.type, inputs, empty, maps,
                                   SmallVector<IteratorType>(rank, IteratorType::parallel), body)
      .getResult(0);
}

Value reference::lowerPool(OpBuilder &builder, PoolOp op) { return lower(builder, Pool(op)); }
Value reference::lowerPoolGrad(OpBuilder &builder, PoolGradOp op) { return lower(builder, Pool(op)); }
