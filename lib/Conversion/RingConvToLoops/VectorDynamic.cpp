// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Columns of unknown extent: uneven cuts, where ranks have different sizes.
//
//    0        tile                               outputs - tile     outputs
//    | border |  tile |  tile | ... |  tile (moved back) | border   |
//
// The columns of the left border tile are known relative to the low slab, those
// of the right one relative to the end of the shard, if the sizes are as they
// mostly are; a guard asks once per call. Otherwise the outputs that read the
// shard only go by tiles, and the others one by one.
#include "VectorConv.h"
#include "ringconv/Halo/Halo.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ringconv;

/// A shard's extent where it plays no part: beyond any column.
static constexpr int64_t kBeyond = int64_t(1) << 40;

// ===--------------------------------------------------------------------=== //
// Border tiles
// ===--------------------------------------------------------------------=== //

ColumnWindow VectorConv::leftWindow() {
  ColumnWindow w = plan.columns;
  w.own = kBeyond;
  w.validBegin = {0, w.low};
  w.validEnd = {kBeyond, kBeyond};
  return w;
}

/// Coordinates count from the end of the shard. The last tap of the last output
/// reads the last element of the high slab.
ColumnWindow VectorConv::rightWindow() {
  ColumnWindow w = plan.columns;
  int64_t lastOutput = w.high - 1 - (w.taps - 1) * w.dilation;
  w.offset = lastOutput - (plan.tile - 1) * w.stride;
  w.low = -kBeyond;
  w.own = kBeyond;
  w.validBegin = {-kBeyond, -kBeyond};
  w.validEnd = {0, w.high};
  return w;
}

void VectorConv::prepareBorders() {
  const ColumnWindow &w = plan.columns;
  bool known = llvm::none_of(ArrayRef<int64_t>{w.offset, w.low, w.high}, ShapedType::isDynamic);
  if (w.isStatic() || w.base != 1 || !known || !dims[last()].low)
    return;
  ColumnWindow left = leftWindow(), right = rightWindow();
  int64_t reach = (w.taps - 1) * w.dilation, lastOutput = right.offset + (plan.tile - 1) * w.stride;
  // What lies between the border tiles must read the shard only.
  if (w.offset + plan.tile * w.stride < w.low || lastOutput - plan.tile * w.stride + reach >= 0)
    return;
  const DimValues &dim = dims[last()];
  shardEnd = l.add(dim.own, w.low);
  // The first output that reads nothing of the low slab.
  int64_t firstInterior = std::max<int64_t>(0, halo::ceilDiv(w.low - w.offset, w.stride));
  Value last = l.add(l.mul(l.sub(dim.outputs, l.constant(1)), w.stride), w.offset);
  auto guard = [&](Value condition) { bordersKnown = bordersKnown ? l.both(bordersKnown, condition) : condition; };
  guard(l.lessEqual(l.constant(2 * plan.tile + firstInterior), dim.outputs));
  guard(l.equal(l.sub(last, shardEnd), l.constant(lastOutput)));
  guard(l.lessEqual(dim.begin, l.constant(w.low)));
  guard(l.lessEqual(shardEnd, dim.end));
  // The left tile ends, and the right one begins, inside the shard.
  guard(l.less(l.constant(left.columns(0, plan.tile).back().element), shardEnd));
  guard(l.lessEqual(l.constant(-right.offset), dim.own));
}

void VectorConv::borderTile(ArrayRef<Value> outputs, Value column, const ColumnWindow &w, bool isLeft) {
  SmallVector<TileColumn> columns = w.columns(0, plan.tile);
  conditions.clear();
  places.clear();
  for (const TileColumn &c : columns) {
    int64_t e = c.element;
    if (!w.mustBeValid(e))
      conditions[e] = isValid(last(), isLeft ? l.constant(e) : l.add(shardEnd, e));
    if (isLeft)
      places.push_back(e < w.low ? Place{Segment::Low, l.constant(e)} : Place{Segment::Own, l.constant(e - w.low)});
    else
      places.push_back(e < 0 ? Place{Segment::Own, l.add(dims[last()].own, e)} : Place{Segment::High, l.constant(e)});
  }
  store(outputs, column, overFeatures(columns, initial(outputs, column, plan.tile)));
}

// ===--------------------------------------------------------------------=== //
// All tiles of a row
// ===--------------------------------------------------------------------=== //

void VectorConv::dynamicTiles(ArrayRef<Value> outputs) {
  Value count = dims[last()].outputs;
  if (plan.columns.base != 1)
    // Where the holes are is not known: one by one.
    return forEach(count, [&](Value column) { singleColumn(outputs, column); });
  if (!bordersKnown)
    return mixedColumns(outputs);
  auto branch = scf::IfOp::create(b, l.loc, TypeRange(), bordersKnown, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  Value right = l.sub(count, l.constant(plan.tile));
  borderTile(outputs, l.constant(0), leftWindow(), true);
  interiorTiles(outputs, l.constant(plan.tile), right);
  borderTile(outputs, right, rightWindow(), false);
  b.setInsertionPoint(branch.elseBlock()->getTerminator());
  mixedColumns(outputs);
}

/// The last tile is moved back so that it is full: it computes some outputs
/// again, alike, and counts those that are new.
void VectorConv::interiorTiles(ArrayRef<Value> outputs, Value begin, Value end) {
  Value tiles = arith::CeilDivSIOp::create(b, l.loc, l.sub(end, begin), l.constant(plan.tile));
  forEach(tiles, [&](Value k) {
    Value regular = l.add(begin, l.mul(k, plan.tile));
    Value column = arith::MinSIOp::create(b, l.loc, regular, l.sub(end, l.constant(plan.tile)));
    if (options.count)
      countedColumns = arith::MinSIOp::create(b, l.loc, l.sub(end, regular), l.constant(plan.tile));
    interiorTile(outputs, column);
    countedColumns = {};
  });
}

void VectorConv::mixedColumns(ArrayRef<Value> outputs) {
  auto interior = interiorColumns();
  Value first = interior.first, inner = l.sub(interior.second, first);
  Value fits = l.lessEqual(l.constant(plan.tile), inner);
  inner = arith::SelectOp::create(b, l.loc, fits, inner, l.constant(0));
  interiorTiles(outputs, first, l.add(first, inner));
  forEach(l.sub(dims[last()].outputs, inner), [&](Value k) {
    Value column = arith::SelectOp::create(b, l.loc, l.less(k, first), k, l.add(k, inner));
    singleColumn(outputs, column);
  });
}

/// The outputs that read nothing but valid elements of the shard.
std::pair<Value, Value> VectorConv::interiorColumns() {
  const DimValues &dim = dims[last()];
  const ColumnWindow &w = plan.columns;
  Value begin = dim.begin, end = dim.end, zero = l.constant(0);
  if (dim.low) {
    begin = arith::MaxSIOp::create(b, l.loc, begin, dim.low);
    end = arith::MinSIOp::create(b, l.loc, end, l.add(dim.low, dim.own));
  }
  auto divide = [&](Value v) {
    return w.stride == 1 ? v : arith::CeilDivSIOp::create(b, l.loc, v, l.constant(w.stride)).getResult();
  };
  auto clamp = [&](Value v, Value low) {
    v = arith::MinSIOp::create(b, l.loc, v, dim.outputs);
    return arith::MaxSIOp::create(b, l.loc, v, low).getResult();
  };
  Value first = clamp(divide(l.sub(begin, dim.offset)), zero);
  // Last tap below the end: o * stride < end - offset - reach.
  Value stop = divide(l.sub(l.sub(end, dim.offset), l.constant((w.taps - 1) * w.dilation)));
  return {first, clamp(stop, first)};
}

void VectorConv::interiorTile(ArrayRef<Value> outputs, Value column) {
  ColumnWindow w = plan.columns;
  w.offset = 0;
  w.validBegin = w.validEnd = {INT64_MIN, INT64_MAX};
  SmallVector<TileColumn> columns = w.columns(0, plan.tile);
  const DimValues &dim = dims[last()];
  Value base = l.add(l.mul(column, w.stride), dim.offset);
  if (dim.low)
    base = l.sub(base, dim.low);
  conditions.clear();
  places.clear();
  for (const TileColumn &c : columns)
    places.push_back({Segment::Own, l.add(base, c.element)});
  store(outputs, column, overFeatures(columns, initial(outputs, column, plan.tile)));
}

void VectorConv::singleColumn(ArrayRef<Value> outputs, Value column) {
  SmallVector<TapBounds> all(rows);
  all.push_back(tapBounds(last(), column));
  auto step = [&](Value f, ValueRange s) {
    return forTapRows(all, {}, {}, s, [&](ArrayRef<Value> taps, ArrayRef<Value> coords, ValueRange sums) {
      Values xs = inputVectors(sourceOf(coords, std::nullopt, l.add(firstFeature, f)), 0);
      Values weights = loadWeights(f, taps.drop_back(), taps.back()), next;
      for (auto [x, w, sum] : llvm::zip(xs, weights, sums))
        next.push_back(math::FmaOp::create(b, l.loc, x, w, sum));
      count(1);
      return next;
    });
  };
  store(outputs, column, l.forLoop(l.constant(0), l.constant(plan.features), initial(outputs, column, 1), step));
}
