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

/// sum / count, and 0 for no taps.
static Value average(Loops &l, Value sum, Value count) {
  Type type = sum.getType();
  Value wide = arith::IndexCastOp::create(l.b, l.loc, l.b.getI64Type(), count);
  Value divisor = arith::SIToFPOp::create(l.b, l.loc, type, wide);
  Value none = l.equal(count, l.constant(0));
  Value quotient = arith::DivFOp::create(l.b, l.loc, sum, divisor);
  return arith::SelectOp::create(l.b, l.loc, none, l.zero(type), quotient);
}

void ringconv::lowerToPlainLoops(LocalPoolOp op, const LoopOptions &options) {
  OpBuilder b(op);
  Loops l{b, op.getLoc()};
  Value init = op.getInit();
  WindowValues w(l, op);
  ExtendedInput input(l, op.getInput(), op.getHalos(), op.getHaloDims());
  auto kind = PoolKind(op.getKind());
  Type element = cast<MemRefType>(init.getType()).getElementType();
  Type acc = kind == PoolKind::Max ? element : accumulationType(element);
  SmallVector<int64_t> xs = spatialDims(op.getInputDims());
  SmallVector<Value> counts;
  int64_t windowSize = 1;
  for (int64_t size : op.getSize()) {
    counts.push_back(l.constant(size));
    windowSize *= size;
  }
  forElements(l, init, {}, [&](ArrayRef<Value> y) {
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
    SmallVector<Value> state = forTaps(l, op, w, spatialOf(y, op.getOutputDims()), counts, 0, {}, {},
                                       ValueRange{start, l.constant(0)}, body);
    Value value = state[0];
    if (kind == PoolKind::Avg)
      value = average(l, value, op.getCountPadding() ? l.constant(windowSize) : state[1]);
    memref::StoreOp::create(b, l.loc, l.convert(value, element), init, y);
  });
  op.erase();
}
