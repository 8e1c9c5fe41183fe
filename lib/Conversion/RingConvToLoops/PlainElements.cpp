// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tap in a hole or outside the valid elements is skipped. What is read lies in
// the shard or in one of the slabs (see ringconv.local_conv).
#include "PlainElements.h"

using namespace mlir;
using namespace ringconv;

ExtendedInput::ExtendedInput(Loops &l, Value shard, ValueRange halos, ArrayRef<int64_t> haloDims)
    : l(l), shard(shard), halos(halos), haloDims(haloDims) {
  for (auto [i, d] : llvm::enumerate(haloDims)) {
    low.push_back(l.size(halos[2 * i], d));
    own.push_back(l.size(shard, d));
  }
}

Value ExtendedInput::read(SmallVector<Value> index, size_t count) {
  if (count == 0)
    return memref::LoadOp::create(l.b, l.loc, shard, index);
  size_t i = count - 1;
  int64_t d = haloDims[i];
  Type element = cast<MemRefType>(shard.getType()).getElementType();
  Value inner = l.sub(index[d], low[i]);
  auto moved = [&](Value to) {
    SmallVector<Value> next(index);
    next[d] = to;
    return next;
  };
  return l.select(
      element, l.less(index[d], low[i]),
      [&] { return memref::LoadOp::create(l.b, l.loc, halos[2 * i], index).getResult(); },
      [&] {
        return l.select(
            element, l.less(inner, own[i]), [&] { return read(moved(inner), i); },
            [&] {
              return memref::LoadOp::create(l.b, l.loc, halos[2 * i + 1], moved(l.sub(inner, own[i]))).getResult();
            });
      });
}

/// Loops over the taps of the spatial dimensions from `n` on; the body runs with
/// the extended coordinates of each tap that reads an element.
template <typename OpTy>
static SmallVector<Value>
forTaps(Loops &l, OpTy op, const WindowValues &w, ArrayRef<Value> outputs, ArrayRef<Value> counts, size_t n,
        SmallVector<Value> taps, SmallVector<Value> coords, ValueRange state,
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
    return l.ifElse(valid, inner,
                    [&] { return forTaps(l, op, w, outputs, counts, n + 1, nextTaps, nextCoords, inner, body); });
  });
}

static SmallVector<Value> spatialOf(ArrayRef<Value> index, ArrayRef<int64_t> dims) {
  SmallVector<Value> values;
  for (int64_t d : spatialDims(dims))
    values.push_back(index[d]);
  return values;
}

// ===--------------------------------------------------------------------=== //
// conv
// ===--------------------------------------------------------------------=== //

PlainConv::PlainConv(Loops &l, LocalConvOp op, bool count)
    : l(l), op(op), count(count), window(l, op), input(l, op.getInput(), op.getHalos(), op.getHaloDims()) {
  for (int64_t d : spatialDims(op.getFilterDims()))
    taps.push_back(l.size(op.getFilter(), d));
  features = l.size(op.getFilter(), dimOf(op.getFilterDims(), kInput));
  batches = l.size(op.getInit(), dimOf(op.getOutputDims(), kBatch));
}

Value PlainConv::term(ArrayRef<Value> x, ArrayRef<Value> f, Value sum) {
  if (count)
    CountOp::create(l.b, l.loc, l.constant(1));
  Value a = l.convert(input.read(x), sum.getType());
  Value c = l.convert(memref::LoadOp::create(l.b, l.loc, op.getFilter(), f), sum.getType());
  return l.multiplyAdd(a, c, sum);
}

void PlainConv::element(ArrayRef<Value> y) {
  Value o = y[dimOf(op.getOutputDims(), kFeature)], batch = y[dimOf(op.getOutputDims(), kBatch)];
  Value firstFeature = l.constant(0);
  if (int64_t per = op.getFeatureGroupOutputs())
    firstFeature = l.mul(l.floorDiv(o, per), features);
  if (int64_t per = op.getBatchGroupOutputs())
    batch = l.add(l.mul(l.floorDiv(o, per), batches), batch);
  Type acc = accumulationType(cast<MemRefType>(op.getFilter().getType()).getElementType());
  SmallVector<int64_t> xs = spatialDims(op.getInputDims()), ws = spatialDims(op.getFilterDims());
  Value start = op.getBias() ? l.convert(memref::LoadOp::create(l.b, l.loc, op.getBias(), o), acc) : l.zero(acc);
  Value sum = l.forLoop(l.constant(0), features, start, [&](Value i, ValueRange state) {
    auto body = [&](ArrayRef<Value> t, ArrayRef<Value> coords, ValueRange sums) {
      SmallVector<Value> x(op.getInputDims().size()), f(op.getFilterDims().size());
      x[dimOf(op.getInputDims(), kBatch)] = batch;
      x[dimOf(op.getInputDims(), kFeature)] = l.add(firstFeature, i);
      f[dimOf(op.getFilterDims(), kOutput)] = o;
      f[dimOf(op.getFilterDims(), kInput)] = i;
      for (size_t n = 0; n < t.size(); ++n) {
        x[xs[n]] = coords[n];
        f[ws[n]] = op.getReverse()[n] ? l.sub(l.sub(taps[n], l.constant(1)), t[n]) : t[n];
      }
      return SmallVector<Value>{term(x, f, sums[0])};
    };
    return forTaps(l, op, window, spatialOf(y, op.getOutputDims()), taps, 0, {}, {}, state, body);
  })[0];
  Type element = cast<MemRefType>(op.getInit().getType()).getElementType();
  memref::StoreOp::create(l.b, l.loc, l.convert(sum, element), op.getInit(), y);
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

PlainPool::PlainPool(Loops &l, LocalPoolOp op)
    : l(l), op(op), kind(PoolKind(op.getKind())), window(l, op),
      input(l, op.getInput(), op.getHalos(), op.getHaloDims()) {
  if (!op.getSelector().empty())
    selector.emplace(l, op.getSelector()[0], op.getSelector().drop_front(), op.getHaloDims());
  for (int64_t size : op.getSize()) {
    taps.push_back(l.constant(size));
    windowSize *= size;
  }
}

/// Sums, maxima and averages carry a value and a count, argmax a value and a tap
/// number.
SmallVector<Value> PlainPool::start(Type acc) {
  return {isMax() ? l.lowest(acc) : l.zero(acc), l.constant(kind == PoolKind::ArgMax ? -1 : 0)};
}

SmallVector<Value> PlainPool::take(ArrayRef<Value> x, ArrayRef<Value> t, ValueRange state) {
  Value v = l.convert(input.read(x), state[0].getType());
  if (kind == PoolKind::ArgMax)
    return takeMaximum(l, state, v, tapNumber(l, op.getSize(), t));
  return {isMax() ? maximum(l, state[0], v) : l.sum(state[0], v), l.add(state[1], l.constant(1))};
}

Value PlainPool::result(ValueRange state, Type element) {
  if (kind == PoolKind::ArgMax)
    return arith::IndexCastOp::create(l.b, l.loc, l.b.getI32Type(), state[1]);
  if (kind == PoolKind::Avg)
    return l.convert(average(l, state[0], op.getCountPadding() ? l.constant(windowSize) : state[1]), element);
  return l.convert(state[0], element);
}

void PlainPool::element(ArrayRef<Value> y) {
  Type element = cast<MemRefType>(op.getInput().getType()).getElementType();
  SmallVector<int64_t> xs = spatialDims(op.getInputDims());
  auto body = [&](ArrayRef<Value> t, ArrayRef<Value> coords, ValueRange state) {
    SmallVector<Value> x(op.getInputDims().size());
    for (auto [d, number] : llvm::enumerate(op.getInputDims()))
      if (number < 0)
        x[d] = y[dimOf(op.getOutputDims(), number)];
    for (size_t n = 0; n < coords.size(); ++n)
      x[xs[n]] = coords[n];
    if (!selector)
      return take(x, t, state);
    Value wanted = l.sub(l.constant(windowSize - 1), tapNumber(l, op.getSize(), t));
    Value held = arith::IndexCastOp::create(l.b, l.loc, l.b.getIndexType(), selector->read(x));
    return l.ifElse(l.equal(held, wanted), state, [&] { return take(x, t, state); });
  };
  SmallVector<Value> state = forTaps(l, op, window, spatialOf(y, op.getOutputDims()), taps, 0, {}, {},
                                     start(isMax() ? element : accumulationType(element)), body);
  memref::StoreOp::create(l.b, l.loc, result(state, element), op.getInit(), y);
}
