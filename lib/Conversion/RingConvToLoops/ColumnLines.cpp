// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ColumnLines.h"
#include "ringconv/Halo/Halo.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ringconv;

/// Tap rows per line buffer, places per block: lines and sums stay small however
/// long rows are.
static constexpr int64_t kMaxRows = 128, kBlock = 2048;

// ===--------------------------------------------------------------------=== //
// Classes
// ===--------------------------------------------------------------------=== //

/// The offset of the columns modulo the base dilation.
static std::optional<int64_t> phaseOf(const LocalWindow &window) {
  int64_t base = window.lhsDilate.back(), offset = window.offset.back();
  if (!ShapedType::isDynamic(offset))
    return offset - halo::floorDiv(offset, base) * base;
  size_t before = llvm::count_if(window.offset.drop_back(), ShapedType::isDynamic);
  return residueOf(window.scalars[before], base);
}

const char *ColumnLines::check(LocalWindow window, const VectorShape &shape) {
  int64_t column = shape.inputDims.back(), base = window.lhsDilate.back(), tapRows = 1;
  for (int64_t t : ArrayRef<int64_t>(shape.taps).drop_back())
    tapRows *= t;
  if (tapRows > kMaxRows)
    return "a window of too many taps";
  if (base != 1 && (window.stride.back() != 1 || !phaseOf(window)))
    return "holes in the input with a stride, or at places that ranks differ in";
  auto isDense = [&](Value v) { return isVectorDim(cast<MemRefType>(v.getType()), column); };
  if (!isDense(window.input) || !llvm::all_of(window.halos, isDense))
    return "columns that do not lie densely";
  return nullptr;
}

ColumnLines::ColumnLines(LocalWindow window, const VectorShape &shape, const LoopOptions &options)
    : WindowAccess(window, shape), options(options) {
  int64_t taps = shape.taps.back(), stride = window.stride.back(), dilation = window.rhsDilate.back();
  int64_t base = window.lhsDilate.back();
  phases = base == 1 ? stride : 1;
  reach = base == 1 ? (taps - 1) * dilation : 0;
  phase = base == 1 ? 0 : *phaseOf(window);
  for (int64_t remainder = 0; remainder < base; ++remainder) {
    classes.push_back({remainder, {}});
    for (int64_t t = 0; t < taps; ++t) {
      if (base == 1) {
        classes[0].taps.push_back({t, t * dilation % stride, t * dilation / stride});
        continue;
      }
      int64_t position = remainder + t * dilation + phase, shift = halo::floorDiv(position, base);
      if (shift * base == position)
        classes.back().taps.push_back({t, 0, shift});
    }
  }
  if (base == 1)
    return;
  int64_t first = INT64_MAX, last = INT64_MIN;
  for (OutputClass &c : classes)
    for (TapColumn &tap : c.taps)
      first = std::min(first, tap.shift), last = std::max(last, tap.shift);
  for (OutputClass &c : classes)
    for (TapColumn &tap : c.taps)
      tap.shift -= first;
  firstShift = first == INT64_MAX ? 0 : first;
  reach = first == INT64_MAX ? 0 : last - first;
}

// ===--------------------------------------------------------------------=== //
// Blocks
// ===--------------------------------------------------------------------=== //

void ColumnLines::allocate(int64_t planes) {
  auto ceilDiv = [&](Value v, int64_t n) {
    return n == 1 ? v : arith::CeilDivSIOp::create(b, l.loc, v, l.constant(n)).getResult();
  };
  Value all = ceilDiv(dims[last()].outputs, numClasses());
  Value block = arith::MinSIOp::create(b, l.loc, all, l.constant(kBlock));
  Value width = l.mul(ceilDiv(block, shape.lanes), shape.lanes), length = l.add(width, reach / phases);
  int64_t rowCount = 1;
  for (int64_t n = 0; n < last(); ++n)
    rowCount *= shape.taps[n];
  auto make = [&](ArrayRef<int64_t> sizes, Value places) -> Value {
    SmallVector<int64_t> type(sizes);
    type.push_back(ShapedType::kDynamic);
    return memref::AllocOp::create(b, l.loc, MemRefType::get(type, shape.accumulator), places, b.getI64IntegerAttr(64));
  };
  lines = make({rowCount, phases}, length);
  sums = make({planes * numClasses()}, width);
  tapRows =
      memref::AllocOp::create(b, l.loc, MemRefType::get({rowCount, std::max<int64_t>(last(), 1)}, b.getIndexType()));
  // Lanes beyond the last output compute with what stands there.
  Value zero = l.zero(shape.accumulator);
  forEach(rowCount, [&](Value r) {
    forEach(phases, [&](Value phase) {
      forEach(length, [&](Value q) { memref::StoreOp::create(b, l.loc, zero, lines, ValueRange{r, phase, q}); });
    });
  });
}

void ColumnLines::free() {
  for (Value buffer : {lines, tapRows, sums})
    memref::DeallocOp::create(b, l.loc, buffer);
}

void ColumnLines::forBlocks(Values outputs, llvm::function_ref<void(ArrayRef<Value>)> body) {
  int64_t n = outputs.size();
  if (n < last())
    return forEach(dims[n].outputs, [&](Value o) {
      rows.resize(n);
      rows.push_back(tapBounds(n, o));
      Values next(outputs);
      next.push_back(o);
      forBlocks(next, body);
    });
  Value count = dims[last()].outputs;
  auto block = [&](Value k) {
    enterBlock(k);
    body(outputs);
  };
  if (boundsOf(count).max <= kBlock * numClasses())
    return block(l.constant(0));
  forEach(arith::CeilDivSIOp::create(b, l.loc, count, l.constant(kBlock * numClasses())), block);
}

void ColumnLines::enterBlock(Value k) {
  const DimValues &dim = dims[last()];
  firstPlace = l.mul(k, kBlock);
  Value left = l.sub(dim.outputs, l.mul(firstPlace, numClasses()));
  blockOutputs = arith::MinSIOp::create(b, l.loc, left, l.constant(kBlock * numClasses()));
  places = arith::CeilDivSIOp::create(b, l.loc, blockOutputs, l.constant(numClasses()));
  vectors = arith::CeilDivSIOp::create(b, l.loc, places, l.constant(shape.lanes));
  Value begin = dim.offset;
  if (int64_t base = window.lhsDilate.back(); base != 1)
    begin = l.add(l.floorDiv(l.sub(dim.offset, l.constant(phase)), base), firstShift);
  lineBegin = l.add(l.mul(firstPlace, phases), begin);
}

void ColumnLines::start(int64_t plane, Value number) {
  Value spread = vector::BroadcastOp::create(b, l.loc, vectorType, number);
  for (const OutputClass &c : classes)
    forEach(vectors, [&](Value k) { storePlane(spread, plane, c, l.mul(k, shape.lanes)); });
}

Value ColumnLines::loadPlane(int64_t plane, const OutputClass &outputs, Value place) {
  return vector::LoadOp::create(b, l.loc, vectorType, sums, ValueRange{planeOf(plane, outputs.remainder), place});
}

void ColumnLines::storePlane(Value v, int64_t plane, const OutputClass &outputs, Value place) {
  vector::StoreOp::create(b, l.loc, v, sums, ValueRange{planeOf(plane, outputs.remainder), place});
}

// ===--------------------------------------------------------------------=== //
// Lines
// ===--------------------------------------------------------------------=== //

void ColumnLines::fillLines(Value inputFeature) {
  auto fill = [&](ArrayRef<Value> taps, ArrayRef<Value> coords, ValueRange state) {
    Value line = state[0];
    fillLine(line, coords, inputFeature);
    for (auto [n, tap] : llvm::enumerate(taps))
      memref::StoreOp::create(b, l.loc, tap, tapRows, ValueRange{line, l.constant(n)});
    return Values{l.add(line, 1)};
  };
  numLines = forTapRows(rows, {}, {}, ValueRange{l.constant(0)}, fill)[0];
}

/// Column p of a line is the element with extended coordinate lineBegin + p. What
/// is not valid is left as it was.
void ColumnLines::fillLine(Value line, ArrayRef<Value> coords, Value inputFeature) {
  const DimValues &dim = dims[last()];
  int64_t d = shape.inputDims.back();
  Value length = l.add(l.mul(l.sub(places, l.constant(1)), phases), reach + 1);
  auto clamp = [&](Value element) {
    Value p = arith::MinSIOp::create(b, l.loc, l.sub(element, lineBegin), length);
    return arith::MaxSIOp::create(b, l.loc, p, l.constant(0)).getResult();
  };
  auto copy = [&](Segment segment, Value begin, Value size) {
    Value first = arith::MaxSIOp::create(b, l.loc, begin, dim.begin);
    Value stop = arith::MinSIOp::create(b, l.loc, l.add(begin, size), dim.end);
    copyColumns(line, sourceOf(coords, segment, inputFeature), clamp(first), clamp(stop), l.sub(lineBegin, begin));
  };
  Value own = l.size(window.input, d), start = dim.low ? dim.low : l.constant(0);
  copy(Segment::Own, start, own);
  if (!dim.low)
    return;
  size_t slab = window.halos.size() - 2;
  auto isEmpty = [&](size_t k) { return cast<MemRefType>(window.halos[k].getType()).getDimSize(d) == 0; };
  if (!isEmpty(slab))
    copy(Segment::Low, l.constant(0), dim.low);
  if (!isEmpty(slab + 1))
    copy(Segment::High, l.add(start, own), l.size(window.halos[slab + 1], d));
}

/// Columns [begin, end) of the line, from the source's columns base + p.
void ColumnLines::copyColumns(Value line, const Source &source, Value begin, Value end, Value base) {
  if (phases <= 2)
    begin = copyVectors(line, source, begin, end, base);
  copyElements(line, source, begin, end, base);
}

void ColumnLines::copyElements(Value line, const Source &source, Value begin, Value end, Value base) {
  Source s = source;
  l.forLoop(begin, end, {}, [&](Value p, ValueRange) {
    s.index[shape.inputDims.back()] = l.add(base, p);
    Value x = l.convert(memref::LoadOp::create(b, l.loc, s.memref, s.index), shape.accumulator);
    Value phase = l.constant(0), place = p;
    if (phases > 1) {
      phase = arith::RemSIOp::create(b, l.loc, p, l.constant(phases));
      place = arith::DivSIOp::create(b, l.loc, p, l.constant(phases));
    }
    memref::StoreOp::create(b, l.loc, x, lines, ValueRange{line, phase, place});
    return Values();
  });
}

/// As many columns as go by whole vectors; the first one that is left. Of two
/// phases a pair of vectors is split into even and odd columns.
Value ColumnLines::copyVectors(Value line, const Source &source, Value begin, Value end, Value base) {
  if (phases == 2) {
    Value even = l.mul(arith::CeilDivSIOp::create(b, l.loc, begin, l.constant(2)), 2);
    even = arith::MinSIOp::create(b, l.loc, even, end);
    copyElements(line, source, begin, even, base);
    begin = even;
  }
  int64_t step = phases * shape.lanes;
  Value length = arith::MaxSIOp::create(b, l.loc, l.sub(end, begin), l.constant(0));
  Value whole = l.mul(arith::DivSIOp::create(b, l.loc, length, l.constant(step)), step);
  auto copy = [&](Value i, ValueRange) {
    Value p = l.add(begin, i), x = loadSource(source, l.add(base, p));
    if (phases == 1) {
      vector::StoreOp::create(b, l.loc, x, lines, ValueRange{line, l.constant(0), p});
      return Values();
    }
    Value y = loadSource(source, l.add(l.add(base, p), shape.lanes));
    Value place = arith::DivSIOp::create(b, l.loc, p, l.constant(2));
    for (int64_t phase : {0, 1}) {
      SmallVector<int64_t> pick;
      for (int64_t k = 0; k < shape.lanes; ++k)
        pick.push_back(2 * k + phase);
      Value half = vector::ShuffleOp::create(b, l.loc, x, y, pick);
      vector::StoreOp::create(b, l.loc, half, lines, ValueRange{line, l.constant(phase), place});
    }
    return Values();
  };
  l.forLoop(l.constant(0), whole, {}, copy, step);
  return l.add(begin, whole);
}

Value ColumnLines::loadSource(const Source &source, Value column) {
  Source s = source;
  s.index[shape.inputDims.back()] = column;
  auto stored = VectorType::get({shape.lanes}, cast<MemRefType>(s.memref.getType()).getElementType());
  Value x = vector::LoadOp::create(b, l.loc, stored, s.memref, s.index);
  return stored == vectorType ? x : arith::ExtFOp::create(b, l.loc, vectorType, x).getResult();
}

Value ColumnLines::loadColumns(Value line, const TapColumn &tap, Value place) {
  return vector::LoadOp::create(b, l.loc, vectorType, lines,
                                ValueRange{line, l.constant(tap.phase), l.add(place, tap.shift)});
}

Values ColumnLines::overLines(ValueRange state, llvm::function_ref<Values(Value, ArrayRef<Value>, ValueRange)> body) {
  return l.forLoop(l.constant(0), numLines, state, [&](Value line, ValueRange s) {
    Values taps;
    for (int64_t n = 0; n < last(); ++n)
      taps.push_back(memref::LoadOp::create(b, l.loc, tapRows, ValueRange{line, l.constant(n)}));
    return body(line, taps, s);
  });
}

// ===--------------------------------------------------------------------=== //
// Tiles
// ===--------------------------------------------------------------------=== //

void ColumnLines::forTiles(llvm::function_ref<void(const OutputClass &, Value, ArrayRef<Value>)> body) {
  const DimValues &dim = dims[last()];
  forEach(vectors, [&](Value k) {
    Value place = l.mul(k, shape.lanes), first = l.add(l.mul(place, phases), lineBegin);
    Value lastRead = l.add(first, (shape.lanes - 1) * phases + reach);
    Value inside = l.both(l.lessEqual(dim.begin, first), l.less(lastRead, dim.end));
    auto branch = scf::IfOp::create(b, l.loc, TypeRange(), inside, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    for (const OutputClass &c : classes)
      body(c, place, {});
    b.setInsertionPoint(branch.elseBlock()->getTerminator());
    for (const OutputClass &c : classes) {
      Values masks;
      for (const TapColumn &tap : c.taps)
        masks.push_back(maskOf(tap, place));
      body(c, place, masks);
    }
  });
}

/// The lanes whose element is valid.
Value ColumnLines::maskOf(const TapColumn &tap, Value place) {
  auto numbers = VectorType::get({shape.lanes}, b.getI32Type());
  SmallVector<int32_t> steps;
  for (int64_t k = 0; k < shape.lanes; ++k)
    steps.push_back(k * phases);
  Value lanes = arith::ConstantOp::create(b, l.loc, DenseElementsAttr::get(numbers, ArrayRef<int32_t>(steps)));
  Value first = l.add(l.add(l.mul(place, phases), lineBegin), tap.shift * phases + tap.phase);
  // Bounds beyond the lanes say the same wherever they lie.
  auto bound = [&](Value v) {
    v = arith::MaxSIOp::create(b, l.loc, l.sub(v, first), l.constant(0));
    v = arith::MinSIOp::create(b, l.loc, v, l.constant(shape.lanes * phases));
    v = arith::IndexCastOp::create(b, l.loc, b.getI32Type(), v);
    return vector::BroadcastOp::create(b, l.loc, numbers, v).getResult();
  };
  return l.both(l.lessEqual(bound(dims[last()].begin), lanes), l.less(lanes, bound(dims[last()].end)));
}

Value ColumnLines::countTaps() {
  const DimValues &dim = dims[last()];
  Value total = l.constant(0);
  for (const OutputClass &c : classes) {
    Value left = l.sub(blockOutputs, l.constant(c.remainder));
    Value outputs = arith::CeilDivSIOp::create(b, l.loc, left, l.constant(numClasses()));
    for (const TapColumn &tap : c.taps) {
      auto below = [&](Value bound) {
        Value distance = l.sub(l.sub(bound, lineBegin), l.constant(tap.shift * phases + tap.phase));
        Value count = arith::CeilDivSIOp::create(b, l.loc, distance, l.constant(phases));
        count = arith::MinSIOp::create(b, l.loc, count, outputs);
        return arith::MaxSIOp::create(b, l.loc, count, l.constant(0)).getResult();
      };
      total = l.add(total, l.sub(below(dim.end), below(dim.begin)));
    }
  }
  return total;
}

// ===--------------------------------------------------------------------=== //
// Results
// ===--------------------------------------------------------------------=== //

/// One vector per class to as many vectors of neighbours; a power of two.
static Values interleave(ringconv::Loops &l, ArrayRef<Value> classes) {
  if (classes.size() == 1)
    return Values(classes);
  Values even, odd, result;
  for (auto [i, v] : llvm::enumerate(classes))
    (i % 2 ? odd : even).push_back(v);
  even = interleave(l, even);
  odd = interleave(l, odd);
  int64_t n = cast<VectorType>(classes[0].getType()).getNumElements();
  for (auto [x, y] : llvm::zip(even, odd))
    for (int64_t half : {0, 1}) {
      SmallVector<int64_t> pick;
      for (int64_t k = 0; k < n; ++k)
        pick.push_back(half * n / 2 + k / 2 + k % 2 * n);
      result.push_back(vector::ShuffleOp::create(l.b, l.loc, x, y, pick));
    }
  return result;
}

void ColumnLines::storeBlock(Values at, ArrayRef<int64_t> planes, llvm::function_ref<Value(ValueRange)> finish) {
  Value firstColumn = l.mul(firstPlace, numClasses()), done = l.constant(0);
  int64_t column = shape.outputDims.back();
  if (isVectorDim(cast<MemRefType>(window.init.getType()), column) && llvm::isPowerOf2_64(numClasses())) {
    Value whole = arith::DivSIOp::create(b, l.loc, blockOutputs, l.constant(numClasses() * shape.lanes));
    whole = l.mul(whole, shape.lanes);
    storeVectors(at, planes, whole, finish);
    done = l.mul(whole, numClasses());
  }
  l.forLoop(done, blockOutputs, {}, [&](Value o, ValueRange) {
    Value remainder = arith::RemSIOp::create(b, l.loc, o, l.constant(numClasses()));
    Value place = arith::DivSIOp::create(b, l.loc, o, l.constant(numClasses()));
    Values numbers;
    for (int64_t plane : planes)
      numbers.push_back(memref::LoadOp::create(b, l.loc, sums, ValueRange{l.add(planeOf(plane, 0), remainder), place}));
    at[column] = l.add(firstColumn, o);
    memref::StoreOp::create(b, l.loc, l.convert(finish(numbers), shape.element), window.init, at);
    return Values();
  });
}

void ColumnLines::storeVectors(Values at, ArrayRef<int64_t> planes, Value places,
                               llvm::function_ref<Value(ValueRange)> finish) {
  auto stored = VectorType::get({shape.lanes}, shape.element);
  auto store = [&](Value place, ValueRange) {
    Values outputs;
    for (const OutputClass &c : classes) {
      Values vectors;
      for (int64_t plane : planes)
        vectors.push_back(loadPlane(plane, c, place));
      Value v = finish(vectors);
      outputs.push_back(stored == vectorType ? v : arith::TruncFOp::create(b, l.loc, stored, v).getResult());
    }
    Value first = l.mul(l.add(firstPlace, place), numClasses());
    for (auto [i, v] : llvm::enumerate(interleave(l, outputs))) {
      at[shape.outputDims.back()] = l.add(first, i * shape.lanes);
      vector::StoreOp::create(b, l.loc, v, window.init, at);
    }
    return Values();
  };
  l.forLoop(l.constant(0), places, {}, store, shape.lanes);
}
