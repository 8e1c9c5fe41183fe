// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain loops for local convolutions and pools of any form. For each output the
// window is walked in the order input feature, then taps row-major; a tap in a
// hole or outside the valid elements is skipped. What is read lies in the shard
// or in one of the slabs (see ringconv.local_conv).
#include "Loops.h"
#include "LoopBuilder.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ringconv;

namespace {

/// The extended input: reads an element by its coordinates, extended in halo
/// dimensions.
class ExtendedInput {
public:
  ExtendedInput(Loops &l, Value shard, ValueRange halos, ArrayRef<int64_t> haloDims)
      : l(l), shard(shard), halos(halos), haloDims(haloDims) {
    for (auto [i, d] : llvm::enumerate(haloDims)) {
      low.push_back(l.size(halos[2 * i], d));
      own.push_back(l.size(shard, d));
    }
  }

  Value read(ArrayRef<Value> index) { return read(SmallVector<Value>(index), haloDims.size()); }

private:
  /// Coordinates of the first `count` halo dimensions are still extended; those
  /// of the later ones are the shard's.
  Value read(SmallVector<Value> index, size_t count) {
    if (count == 0)
      return memref::LoadOp::create(l.b, l.loc, shard, index);
    size_t i = count - 1;
    int64_t d = haloDims[i];
    Type element = cast<MemRefType>(shard.getType()).getElementType();
    Value inner = l.sub(index[d], low[i]);
    Value isLow = l.less(index[d], low[i]);
    return l.select(element, isLow, [&] { return memref::LoadOp::create(l.b, l.loc, halos[2 * i], index).getResult(); },
                    [&] {
                      return l.select(element, l.less(inner, own[i]),
                                      [&] {
                                        SmallVector<Value> next(index);
                                        next[d] = inner;
                                        return read(next, i);
                                      },
                                      [&] {
                                        SmallVector<Value> next(index);
                                        next[d] = l.sub(inner, own[i]);
                                        return memref::LoadOp::create(l.b, l.loc, halos[2 * i + 1], next).getResult();
                                      });
                    });
  }

  Loops &l;
  Value shard;
  ValueRange halos;
  ArrayRef<int64_t> haloDims;
  SmallVector<Value> low, own;
};

/// The window numbers of a local operation as values.
struct WindowValues {
  SmallVector<Value> offset, begin, end;

  template <typename OpTy> WindowValues(Loops &l, OpTy op) {
    auto next = op.getScalars().begin();
    auto fill = [&](ArrayRef<int64_t> list, SmallVectorImpl<Value> &values) {
      for (int64_t v : list)
        values.push_back(ShapedType::isDynamic(v) ? *next++ : l.constant(v));
    };
    fill(op.getOffset(), offset);
    fill(op.getValidBegin(), begin);
    fill(op.getValidEnd(), end);
  }
};

/// Loops over the taps of the spatial dimensions from `n` on; the body runs with
/// the extended coordinates of each tap that reads an element.
template <typename OpTy>
SmallVector<Value> forTaps(Loops &l, OpTy op, const WindowValues &w, ArrayRef<Value> outputs, ArrayRef<Value> counts,
                           size_t n, SmallVector<Value> taps, SmallVector<Value> coords, ValueRange state,
                           llvm::function_ref<SmallVector<Value>(ArrayRef<Value>, ArrayRef<Value>, ValueRange)> body) {
  if (n == op.getStride().size())
    return body(taps, coords, state);
  return l.forLoop(l.constant(0), counts[n], state, [&](Value t, ValueRange inner) {
    Value position = l.add(l.add(l.mul(outputs[n], op.getStride()[n]), l.mul(t, op.getRhsDilate()[n])), w.offset[n]);
    int64_t base = op.getLhsDilate()[n];
    Value element = base == 1 ? position : l.floorDiv(position, base);
    Value valid = l.both(l.lessEqual(w.begin[n], element), l.less(element, w.end[n]));
    if (base != 1)
      valid = l.both(valid, l.equal(l.mul(element, base), position));
    SmallVector<Value> nextTaps(taps), nextCoords(coords);
    nextTaps.push_back(t);
    nextCoords.push_back(element);
    return l.ifElse(valid, inner, [&] {
      return forTaps(l, op, w, outputs, counts, n + 1, nextTaps, nextCoords, inner, body);
    });
  });
}

/// Loops over all elements of `memref`; rank 0 runs the body once.
void forElements(Loops &l, Value memref, SmallVector<Value> index, llvm::function_ref<void(ArrayRef<Value>)> body) {
  if (int64_t(index.size()) == cast<MemRefType>(memref.getType()).getRank())
    return body(index);
  l.forLoop(l.constant(0), l.size(memref, index.size()), {}, [&](Value i, ValueRange) {
    SmallVector<Value> next(index);
    next.push_back(i);
    forElements(l, memref, next, body);
    return SmallVector<Value>();
  });
}

SmallVector<Value> spatialOf(ArrayRef<Value> index, ArrayRef<int64_t> dims) {
  SmallVector<Value> values;
  for (int64_t d : spatialDims(dims))
    values.push_back(index[d]);
  return values;
}

} // namespace

// ===--------------------------------------------------------------------=== //
// conv
// ===--------------------------------------------------------------------=== //

void ringconv::lowerToPlainLoops(LocalConvOp op, const LoopOptions &options) {
  OpBuilder b(op);
  Loops l{b, op.getLoc()};
  Value filter = op.getFilter(), init = op.getInit();
  WindowValues w(l, op);
  ExtendedInput input(l, op.getInput(), op.getHalos(), op.getHaloDims());
  int64_t xb = dimOf(op.getInputDims(), kBatch), xf = dimOf(op.getInputDims(), kFeature);
  int64_t wo = dimOf(op.getFilterDims(), kOutput), wi = dimOf(op.getFilterDims(), kInput);
  int64_t yb = dimOf(op.getOutputDims(), kBatch), yf = dimOf(op.getOutputDims(), kFeature);
  SmallVector<int64_t> xs = spatialDims(op.getInputDims()), ws = spatialDims(op.getFilterDims());
  Type element = cast<MemRefType>(init.getType()).getElementType();
  Type acc = accumulationType(cast<MemRefType>(filter.getType()).getElementType());
  SmallVector<Value> counts;
  for (int64_t d : ws)
    counts.push_back(l.size(filter, d));
  Value features = l.size(filter, wi), batches = l.size(init, yb);

  forElements(l, init, {}, [&](ArrayRef<Value> y) {
    Value o = y[yf], batch = y[yb], firstFeature = l.constant(0);
    if (int64_t per = op.getFeatureGroupOutputs())
      firstFeature = l.mul(l.floorDiv(o, per), features);
    if (int64_t per = op.getBatchGroupOutputs())
      batch = l.add(l.mul(l.floorDiv(o, per), batches), batch);
    Value start = op.getBias() ? l.convert(memref::LoadOp::create(b, l.loc, op.getBias(), o), acc) : l.zero(acc);
    Value sum = l.forLoop(l.constant(0), features, start, [&](Value i, ValueRange state) {
      return forTaps(l, op, w, spatialOf(y, op.getOutputDims()), counts, 0, {}, {}, state,
                     [&](ArrayRef<Value> taps, ArrayRef<Value> coords, ValueRange sums) {
                       SmallVector<Value> x(op.getInputDims().size()), f(op.getFilterDims().size());
                       x[xb] = batch;
                       x[xf] = l.add(firstFeature, i);
                       f[wo] = o;
                       f[wi] = i;
                       for (size_t n = 0; n < taps.size(); ++n) {
                         x[xs[n]] = coords[n];
                         f[ws[n]] = op.getReverse()[n] ? l.sub(l.sub(counts[n], l.constant(1)), taps[n]) : taps[n];
                       }
                       if (options.count)
                         CountOp::create(b, l.loc, l.constant(1));
                       Value a = l.convert(input.read(x), acc);
                       Value c = l.convert(memref::LoadOp::create(b, l.loc, filter, f), acc);
                       return SmallVector<Value>{l.multiplyAdd(a, c, sums[0])};
                     });
    })[0];
    memref::StoreOp::create(b, l.loc, l.convert(sum, element), init, y);
  });
  op.erase();
}

// ===--------------------------------------------------------------------=== //
// pool
// ===--------------------------------------------------------------------=== //

/// The larger of two values; NaN wins, the first of equals stays.
static Value maximum(Loops &l, Value best, Value v) {
  if (isa<FloatType>(v.getType()))
    return arith::MaximumFOp::create(l.b, l.loc, best, v);
  return arith::MaxSIOp::create(l.b, l.loc, best, v);
}

/// What an argmax has so far, with tap `number` taken in: the best value and the
/// number of its tap, -1 before the first. The first of equals stays, the first
/// NaN wins.
static SmallVector<Value> takeMaximum(Loops &l, ValueRange best, Value v, Value number) {
  auto compare = [&](arith::CmpFPredicate p, Value x, Value y) -> Value {
    return arith::CmpFOp::create(l.b, l.loc, p, x, y);
  };
  Value firstNan = l.both(compare(arith::CmpFPredicate::UNO, v, v), compare(arith::CmpFPredicate::ORD, best[0], best[0]));
  Value larger = arith::OrIOp::create(l.b, l.loc, compare(arith::CmpFPredicate::OGT, v, best[0]), firstNan);
  Value take = arith::OrIOp::create(l.b, l.loc, larger, l.less(best[1], l.constant(0)));
  return {arith::SelectOp::create(l.b, l.loc, take, v, best[0]),
          arith::SelectOp::create(l.b, l.loc, take, number, best[1])};
}

/// Row-major number of a tap in its window.
static Value tapNumber(Loops &l, ArrayRef<int64_t> size, ArrayRef<Value> taps) {
  Value number = l.constant(0);
  for (auto [k, tap] : llvm::zip(size, taps))
    number = l.add(l.mul(number, k), tap);
  return number;
}

/// sum / count, and 0 for no taps.
static Value average(Loops &l, Value sum, Value count) {
  Type type = sum.getType();
  Value wide = arith::IndexCastOp::create(l.b, l.loc, l.b.getI64Type(), count);
  Value divisor = arith::SIToFPOp::create(l.b, l.loc, type, wide);
  Value none = l.equal(count, l.constant(0));
  Value quotient = arith::DivFOp::create(l.b, l.loc, sum, divisor);
  return arith::SelectOp::create(l.b, l.loc, none, l.zero(type), quotient);
}

/// The value of a pool: sums, maxima and averages carry a value and a count,
/// argmax a value and a tap number.
static SmallVector<Value> poolStart(Loops &l, PoolKind kind, Type acc) {
  bool isMax = kind == PoolKind::Max || kind == PoolKind::ArgMax;
  return {isMax ? l.lowest(acc) : l.zero(acc), l.constant(kind == PoolKind::ArgMax ? -1 : 0)};
}

static Value poolResult(Loops &l, LocalPoolOp op, ValueRange state, int64_t windowSize) {
  switch (PoolKind(op.getKind())) {
  case PoolKind::Avg:
    return average(l, state[0], op.getCountPadding() ? l.constant(windowSize) : state[1]);
  case PoolKind::ArgMax:
    return arith::IndexCastOp::create(l.b, l.loc, l.b.getI32Type(), state[1]);
  default:
    return state[0];
  }
}

void ringconv::lowerToPlainLoops(LocalPoolOp op, const LoopOptions &options) {
  OpBuilder b(op);
  Loops l{b, op.getLoc()};
  Value init = op.getInit();
  WindowValues w(l, op);
  ExtendedInput input(l, op.getInput(), op.getHalos(), op.getHaloDims());
  std::optional<ExtendedInput> selector;
  if (!op.getSelector().empty())
    selector.emplace(l, op.getSelector()[0], op.getSelector().drop_front(), op.getHaloDims());
  auto kind = PoolKind(op.getKind());
  bool isMax = kind == PoolKind::Max || kind == PoolKind::ArgMax;
  Type element = cast<MemRefType>(op.getInput().getType()).getElementType();
  Type acc = isMax ? element : accumulationType(element);
  SmallVector<int64_t> xs = spatialDims(op.getInputDims());
  SmallVector<Value> counts;
  int64_t windowSize = 1;
  for (int64_t size : op.getSize()) {
    counts.push_back(l.constant(size));
    windowSize *= size;
  }
  forElements(l, init, {}, [&](ArrayRef<Value> y) {
    auto take = [&](ArrayRef<Value> x, ArrayRef<Value> taps, ValueRange state) -> SmallVector<Value> {
      Value v = l.convert(input.read(x), acc);
      if (kind == PoolKind::ArgMax)
        return takeMaximum(l, state, v, tapNumber(l, op.getSize(), taps));
      return {isMax ? maximum(l, state[0], v) : l.sum(state[0], v), l.add(state[1], l.constant(1))};
    };
    auto body = [&](ArrayRef<Value> taps, ArrayRef<Value> coords, ValueRange state) {
      SmallVector<Value> x(op.getInputDims().size());
      for (auto [d, number] : llvm::enumerate(op.getInputDims()))
        if (number < 0)
          x[d] = y[dimOf(op.getOutputDims(), number)];
      for (size_t n = 0; n < coords.size(); ++n)
        x[xs[n]] = coords[n];
      if (!selector)
        return take(x, taps, state);
      Value wanted = l.sub(l.constant(windowSize - 1), tapNumber(l, op.getSize(), taps));
      Value held = arith::IndexCastOp::create(b, l.loc, b.getIndexType(), selector->read(x));
      return l.ifElse(l.equal(held, wanted), state, [&] { return take(x, taps, state); });
    };
    SmallVector<Value> state =
        forTaps(l, op, w, spatialOf(y, op.getOutputDims()), counts, 0, {}, {}, poolStart(l, kind, acc), body);
    Value value = poolResult(l, op, state, windowSize);
    if (kind != PoolKind::ArgMax)
      value = l.convert(value, element);
    memref::StoreOp::create(b, l.loc, value, init, y);
  });
  op.erase();
}
