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
    : l(l), op(op), window(l, op), input(l, op.getInput(), op.getHalos(), op.getHaloDims()) {
  for (int64_t size : op.getSize()) {
    taps.push_back(l.constant(size));
    windowSize *= size;
  }
}

void PlainPool::element(ArrayRef<Value> y) {
  auto kind = PoolKind(op.getKind());
  Type element = cast<MemRefType>(op.getInit().getType()).getElementType();
  Type acc = kind == PoolKind::Max ? element : accumulationType(element);
  SmallVector<int64_t> xs = spatialDims(op.getInputDims());
  Value start = kind == PoolKind::Max ? l.lowest(acc) : l.zero(acc);
  auto body = [&](ArrayRef<Value>, ArrayRef<Value> coords, ValueRange state) {
    SmallVector<Value> x(op.getInputDims().size());
    for (auto [d, number] : llvm::enumerate(op.getInputDims()))
      if (number < 0)
        x[d] = y[dimOf(op.getOutputDims(), number)];
    for (size_t n = 0; n < coords.size(); ++n)
      x[xs[n]] = coords[n];
    Value v = l.convert(input.read(x), acc);
    Value next = kind == PoolKind::Max ? maximum(l, state[0], v) : l.sum(state[0], v);
    return SmallVector<Value>{next, l.add(state[1], l.constant(1))};
  };
  SmallVector<Value> state =
      forTaps(l, op, window, spatialOf(y, op.getOutputDims()), taps, 0, {}, {}, ValueRange{start, l.constant(0)}, body);
  Value value = state[0];
  if (kind == PoolKind::Avg)
    value = average(l, value, op.getCountPadding() ? l.constant(windowSize) : state[1]);
  memref::StoreOp::create(l.b, l.loc, l.convert(value, element), op.getInit(), y);
}
