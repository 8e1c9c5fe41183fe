// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "WindowAccess.h"

using namespace mlir;
using namespace ringconv;

void WindowAccess::forEach(Value count, llvm::function_ref<void(Value)> body) {
  l.forLoop(l.constant(0), count, {}, [&](Value i, ValueRange) {
    body(i);
    return Values();
  });
}

void WindowAccess::forEach(int64_t count, llvm::function_ref<void(Value)> body) {
  if (count == 1)
    return body(l.constant(0));
  forEach(l.constant(count), body);
}

// ===--------------------------------------------------------------------=== //
// Before the loops
// ===--------------------------------------------------------------------=== //

void WindowAccess::prepare() {
  auto next = window.scalars.begin();
  auto fill = [&](ArrayRef<int64_t> list, Value DimValues::*member) {
    for (auto [n, v] : llvm::enumerate(list))
      dims[n].*member = ShapedType::isDynamic(v) ? Value(*next++) : l.constant(v);
  };
  dims.resize(shape.taps.size());
  fill(window.offset, &DimValues::offset);
  fill(window.validBegin, &DimValues::begin);
  fill(window.validEnd, &DimValues::end);
  for (auto [n, dim] : llvm::enumerate(dims)) {
    dim.outputs = l.size(window.init, shape.outputDims[n]);
    if (int64_t i = haloOf(n); i >= 0) {
      dim.low = l.size(window.halos[2 * i], shape.inputDims[n]);
      dim.own = l.size(window.input, shape.inputDims[n]);
    }
  }
  castSources();
}

int64_t WindowAccess::haloOf(int64_t n) {
  auto it = llvm::find(window.haloDims, shape.inputDims[n]);
  return it == window.haloDims.end() ? -1 : it - window.haloDims.begin();
}

void WindowAccess::castSources() {
  shard = window.input;
  slabs.assign(window.halos.begin(), window.halos.end());
  if (slabs.empty())
    return;
  auto type = cast<MemRefType>(shard.getType());
  SmallVector<int64_t> sizes(type.getRank(), ShapedType::kDynamic), strides(sizes);
  Values all(slabs);
  all.push_back(shard);
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (llvm::all_of(all, [&](Value v) { return isContiguousDim(cast<MemRefType>(v.getType()), d); }))
      strides[d] = 1;
  auto layout = StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, strides);
  auto common = MemRefType::get(sizes, type.getElementType(), layout, type.getMemorySpace());
  shard = memref::CastOp::create(b, l.loc, common, shard);
  for (Value &slab : slabs)
    slab = memref::CastOp::create(b, l.loc, common, slab);
}

void WindowAccess::enterGroup(Value n, Value group) {
  outputBatch = inputBatch = n;
  firstFeature = l.constant(0);
  if (shape.featureGroups)
    firstFeature = l.mul(group, shape.features);
  else if (shape.batchGroups)
    inputBatch = l.add(l.mul(group, l.size(window.init, dimOf(window.outputDims, kBatch))), n);
}

// ===--------------------------------------------------------------------=== //
// Taps
// ===--------------------------------------------------------------------=== //

WindowAccess::TapBounds WindowAccess::tapBounds(int64_t n, Value output) {
  const DimValues &dim = dims[n];
  TapBounds t;
  t.position = l.add(l.mul(output, window.stride[n]), dim.offset);
  t.begin = l.constant(0);
  t.end = l.constant(shape.taps[n]);
  if (window.lhsDilate[n] != 1)
    return t;
  t.single = shape.taps[n] == 1 && isAlwaysValid(n);
  if (isAlwaysValid(n))
    return t;
  auto taps = [&](Value bound) {
    Value distance = l.sub(bound, t.position);
    if (window.rhsDilate[n] == 1)
      return distance;
    return arith::CeilDivSIOp::create(b, l.loc, distance, l.constant(window.rhsDilate[n])).getResult();
  };
  t.begin = arith::MaxSIOp::create(b, l.loc, taps(dim.begin), t.begin);
  t.end = arith::MinSIOp::create(b, l.loc, taps(dim.end), t.end);
  return t;
}

bool WindowAccess::isAlwaysValid(int64_t n) {
  Bounds outputs = boundsOf(dims[n].outputs);
  if (outputs.min != outputs.max)
    return false;
  Bounds offset = boundsOf(dims[n].offset), begin = boundsOf(dims[n].begin), end = boundsOf(dims[n].end);
  int64_t reach = (outputs.max - 1) * window.stride[n] + (shape.taps[n] - 1) * window.rhsDilate[n];
  return offset.min >= begin.max && offset.max + reach < end.min;
}

Values WindowAccess::forTapRows(ArrayRef<TapBounds> bounds, Values taps, Values coords, ValueRange state,
                                llvm::function_ref<Values(ArrayRef<Value>, ArrayRef<Value>, ValueRange)> body) {
  size_t n = taps.size();
  if (n == bounds.size())
    return body(taps, coords, state);
  auto inner = [&](Value tap, Value element, ValueRange s) {
    Values nextTaps(taps), nextCoords(coords);
    nextTaps.push_back(tap);
    nextCoords.push_back(element);
    return forTapRows(bounds, nextTaps, nextCoords, s, body);
  };
  const TapBounds &t = bounds[n];
  if (t.single)
    return inner(l.constant(0), t.position, state);
  return l.forLoop(t.begin, t.end, state, [&](Value tap, ValueRange s) {
    Value position = l.add(t.position, l.mul(tap, window.rhsDilate[n]));
    int64_t base = window.lhsDilate[n];
    if (base == 1)
      return inner(tap, position, s);
    Value element = l.floorDiv(position, base);
    Value reads = l.both(l.equal(l.mul(element, base), position), isValid(n, element));
    return l.ifElse(reads, s, [&] { return inner(tap, element, s); });
  });
}

// ===--------------------------------------------------------------------=== //
// Places of elements
// ===--------------------------------------------------------------------=== //

Source WindowAccess::sourceOf(ArrayRef<Value> coords, std::optional<Segment> segment, Value inputFeature) {
  Source s{shard, Values(window.inputDims.size())};
  for (auto [d, number] : llvm::enumerate(window.inputDims))
    if (number < 0)
      s.index[d] = number == kBatch ? inputBatch : inputFeature;
  bool extended = segment && *segment != Segment::Own;
  for (auto [n, c] : llvm::enumerate(coords))
    s.index[shape.inputDims[n]] = extended || !dims[n].low ? c : l.sub(c, dims[n].low);
  if (extended) {
    s.memref = slabs[slabs.size() - (*segment == Segment::Low ? 2 : 1)];
    return s;
  }
  for (auto [i, d] : llvm::enumerate(window.haloDims))
    if (size_t n = spatialOf(d); n < coords.size())
      chooseSlab(s, i, n, coords);
  return s;
}

void WindowAccess::chooseSlab(Source &s, size_t i, size_t n, ArrayRef<Value> coords) {
  auto slabType = [&](size_t k) { return cast<MemRefType>(window.halos[k].getType()); };
  int64_t d = shape.inputDims[n];
  for (size_t side : {0, 1}) {
    if (slabType(2 * i + side).getDimSize(d) == 0)
      continue;
    Value inner = l.sub(coords[n], dims[n].low);
    Value here = side == 0 ? l.less(coords[n], dims[n].low) : l.lessEqual(dims[n].own, inner);
    auto choose = [&](Value yes, Value &no) { no = arith::SelectOp::create(b, l.loc, here, yes, no); };
    choose(slabs[2 * i + side], s.memref);
    choose(side == 0 ? coords[n] : l.sub(inner, dims[n].own), s.index[d]);
    for (int64_t earlier : window.haloDims.take_front(i))
      choose(coords[spatialOf(earlier)], s.index[earlier]);
  }
}

Value WindowAccess::filterElement(LocalConvOp op, Value output, Value feature, ArrayRef<Value> rowTaps, int64_t tap) {
  Values index(op.getFilterDims().size()), taps(rowTaps);
  taps.push_back(l.constant(tap));
  index[dimOf(op.getFilterDims(), kOutput)] = output;
  index[dimOf(op.getFilterDims(), kInput)] = feature;
  for (auto [n, d] : llvm::enumerate(shape.filterDims))
    index[d] = op.getReverse()[n] ? l.sub(l.constant(shape.taps[n] - 1), taps[n]) : taps[n];
  return l.convert(memref::LoadOp::create(b, l.loc, op.getFilter(), index), shape.accumulator);
}
