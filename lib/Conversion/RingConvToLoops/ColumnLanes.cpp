// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vectorised form for few output features per group, depthwise above all:
// lanes are neighbouring outputs along the last spatial dimension.
//
//   for batch, group, output row, block of columns:
//     sums of the row = bias
//     for input feature:
//       for the tap rows that read an element: line = the columns of its row
//       for the vectors of columns:
//         sums += line(column + tap) * broadcast of the filter, over all taps
//     store the row
//
// Per output this is the order of the plain loops, so that results agree bit for
// bit. A line is the columns that a block of outputs reads, one after the other,
// whether they lie in a slab or in the shard, split by the stride into phases so
// that each tap reads neighbours. It stays in the first cache; vectors that touch
// padding take each tap under a mask.
#include "ConvAccess.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ringconv;

/// Multiply-adds in one loop body, tap rows per line buffer, output columns per
/// block: lines and sums stay small however long rows are.
static constexpr int64_t kMaxBody = 128, kMaxRows = 128, kBlock = 2048;

namespace {
class ColumnLanes : ConvAccess {
public:
  ColumnLanes(LocalConvOp op, const VectorShape &shape, const LoopOptions &options)
      : ConvAccess(op, shape), options(options), stride(op.getStride().back()), dilation(op.getRhsDilate().back()),
        taps(shape.taps.back()) {}
  void emit();

private:
  struct TapColumn {
    int64_t phase, shift;
  };
  TapColumn columnOf(int64_t tap) { return {tap * dilation % stride, tap * dilation / stride}; }

  void allocate();
  Value countColumns();
  void rowLoops(Values outputs);
  void blockLoop(ArrayRef<Value> outputs);
  void computeBlock(ArrayRef<Value> outputs);
  void startSums();
  void addFeature(Value f);
  Value lineOf(ArrayRef<Value> rowTaps);

  void fillLine(Value line, ArrayRef<Value> coords, Value inputFeature);
  void copyColumns(Value line, const Source &source, Value begin, Value end, Value base);
  void copyElements(Value line, const Source &source, Value begin, Value end, Value base);
  Value copyVectors(Value line, const Source &source, Value begin, Value end, Value base);
  Value loadColumns(const Source &source, Value column);

  void addTile(Value f, Value column);
  Values maskColumns(Value column);
  void multiply(Value f, Value column, ArrayRef<Value> masks);
  Value weight(int64_t o, Value f, ArrayRef<Value> rowTaps, int64_t tap);

  void storeBlock(ArrayRef<Value> outputs);

  const LoopOptions &options;
  int64_t stride, dilation, taps;
  /// lines[tap row][phase][column], sums[output feature][column].
  Value lines, sums;
  // Of the group, the output row, and the block, whose offset and outputs stand
  // in dims too.
  Value firstOutput;
  SmallVector<TapBounds> rows;
  Value firstColumn, vectors, countedColumns;
};
} // namespace

void ColumnLanes::emit() {
  prepare();
  allocate();
  forEach(l.size(op.getInit(), dimOf(op.getOutputDims(), kBatch)), [&](Value n) {
    forEach(shape.groups, [&](Value group) {
      enterGroup(n, group);
      firstOutput = l.mul(group, shape.perGroup);
      rowLoops({});
    });
  });
  memref::DeallocOp::create(b, l.loc, lines);
  memref::DeallocOp::create(b, l.loc, sums);
  op.erase();
}

void ColumnLanes::allocate() {
  Value columns = arith::MinSIOp::create(b, l.loc, dims[last()].outputs, l.constant(kBlock));
  vectors = arith::CeilDivSIOp::create(b, l.loc, columns, l.constant(shape.lanes));
  Value width = l.mul(vectors, shape.lanes), length = l.add(width, (taps - 1) * dilation / stride);
  int64_t tapRows = 1;
  for (int64_t n = 0; n < last(); ++n)
    tapRows *= shape.taps[n];
  auto make = [&](ArrayRef<int64_t> sizes, Value columns) -> Value {
    SmallVector<int64_t> type(sizes);
    type.push_back(ShapedType::kDynamic);
    return memref::AllocOp::create(b, l.loc, MemRefType::get(type, shape.accumulator), columns,
                                   b.getI64IntegerAttr(64));
  };
  lines = make({tapRows, stride}, length);
  sums = make({shape.perGroup}, width);
  // Lanes beyond the last output compute with what stands there.
  Value zero = l.zero(shape.accumulator);
  forEach(tapRows, [&](Value r) {
    forEach(stride, [&](Value phase) {
      forEach(length, [&](Value q) { memref::StoreOp::create(b, l.loc, zero, lines, ValueRange{r, phase, q}); });
    });
  });
}

/// Outputs of the block times the taps that read an element of a valid row.
Value ColumnLanes::countColumns() {
  const DimValues &dim = dims[last()];
  auto below = [&](Value bound, int64_t tap) {
    Value distance = l.sub(l.sub(bound, dim.offset), l.constant(tap * dilation));
    Value count = arith::CeilDivSIOp::create(b, l.loc, distance, l.constant(stride));
    count = arith::MinSIOp::create(b, l.loc, count, dim.outputs);
    return arith::MaxSIOp::create(b, l.loc, count, l.constant(0)).getResult();
  };
  Value total = l.constant(0);
  for (int64_t t = 0; t < taps; ++t)
    total = l.add(total, l.sub(below(dim.end, t), below(dim.begin, t)));
  return l.mul(total, shape.perGroup);
}

// ===--------------------------------------------------------------------=== //
// Rows
// ===--------------------------------------------------------------------=== //

void ColumnLanes::rowLoops(Values outputs) {
  int64_t n = outputs.size();
  if (n == last())
    return blockLoop(outputs);
  forEach(dims[n].outputs, [&](Value o) {
    rows.resize(n);
    rows.push_back(tapBounds(n, o));
    Values next(outputs);
    next.push_back(o);
    rowLoops(next);
  });
}

void ColumnLanes::blockLoop(ArrayRef<Value> outputs) {
  DimValues whole = dims[last()];
  Bounds bounds = boundsOf(whole.outputs);
  auto block = [&](Value k) {
    DimValues &dim = dims[last()];
    firstColumn = l.mul(k, kBlock);
    dim.offset = l.add(l.mul(firstColumn, stride), whole.offset);
    dim.outputs = arith::MinSIOp::create(b, l.loc, l.sub(whole.outputs, firstColumn), l.constant(kBlock));
    vectors = arith::CeilDivSIOp::create(b, l.loc, dim.outputs, l.constant(shape.lanes));
    if (options.count)
      countedColumns = countColumns();
    computeBlock(outputs);
  };
  if (bounds.max <= kBlock)
    block(l.constant(0));
  else
    forEach(arith::CeilDivSIOp::create(b, l.loc, whole.outputs, l.constant(kBlock)), block);
  dims[last()] = whole;
}

void ColumnLanes::computeBlock(ArrayRef<Value> outputs) {
  startSums();
  forEach(shape.features, [&](Value f) { addFeature(f); });
  storeBlock(outputs);
}

void ColumnLanes::startSums() {
  for (int64_t o = 0; o < shape.perGroup; ++o) {
    Value start = l.zero(shape.accumulator);
    if (op.getBias())
      start = l.convert(memref::LoadOp::create(b, l.loc, op.getBias(), l.add(firstOutput, o)), shape.accumulator);
    Value spread = vector::BroadcastOp::create(b, l.loc, vectorType, start);
    forEach(vectors, [&](Value k) {
      vector::StoreOp::create(b, l.loc, spread, sums, ValueRange{l.constant(o), l.mul(k, shape.lanes)});
    });
  }
}

void ColumnLanes::addFeature(Value f) {
  forTapRows(rows, {}, {}, {}, [&](ArrayRef<Value> rowTaps, ArrayRef<Value> coords, ValueRange) {
    fillLine(lineOf(rowTaps), coords, l.add(firstFeature, f));
    if (countedColumns)
      CountOp::create(b, l.loc, countedColumns);
    return Values();
  });
  forEach(vectors, [&](Value k) { addTile(f, l.mul(k, shape.lanes)); });
}

Value ColumnLanes::lineOf(ArrayRef<Value> rowTaps) {
  Value line = l.constant(0);
  for (auto [n, tap] : llvm::enumerate(rowTaps))
    line = l.add(l.mul(line, shape.taps[n]), tap);
  return line;
}

// ===--------------------------------------------------------------------=== //
// Lines
// ===--------------------------------------------------------------------=== //

/// Column p of a line is the element with extended coordinate offset + p. What
/// is not valid is left as it was.
void ColumnLanes::fillLine(Value line, ArrayRef<Value> coords, Value inputFeature) {
  const DimValues &dim = dims[last()];
  int64_t d = shape.inputDims.back();
  Value reach = l.add(l.mul(l.sub(dim.outputs, l.constant(1)), stride), (taps - 1) * dilation + 1);
  auto clamp = [&](Value p) {
    p = arith::MinSIOp::create(b, l.loc, l.sub(p, dim.offset), reach);
    return arith::MaxSIOp::create(b, l.loc, p, l.constant(0)).getResult();
  };
  auto copy = [&](Segment segment, Value begin, Value size) {
    Value first = arith::MaxSIOp::create(b, l.loc, begin, dim.begin);
    Value stop = arith::MinSIOp::create(b, l.loc, l.add(begin, size), dim.end);
    copyColumns(line, sourceOf(coords, segment, inputFeature), clamp(first), clamp(stop), l.sub(dim.offset, begin));
  };
  Value own = l.size(op.getInput(), d), start = dim.low ? dim.low : l.constant(0);
  copy(Segment::Own, start, own);
  if (!dim.low)
    return;
  size_t slab = op.getHalos().size() - 2;
  auto isEmpty = [&](size_t k) { return cast<MemRefType>(op.getHalos()[k].getType()).getDimSize(d) == 0; };
  if (!isEmpty(slab))
    copy(Segment::Low, l.constant(0), dim.low);
  if (!isEmpty(slab + 1))
    copy(Segment::High, l.add(start, own), l.size(op.getHalos()[slab + 1], d));
}

/// Columns [begin, end) of the line, from the source's columns base + p.
void ColumnLanes::copyColumns(Value line, const Source &source, Value begin, Value end, Value base) {
  bool byVectors = stride <= 2 && isVectorDim(cast<MemRefType>(source.memref.getType()), shape.inputDims.back());
  if (byVectors)
    begin = copyVectors(line, source, begin, end, base);
  copyElements(line, source, begin, end, base);
}

void ColumnLanes::copyElements(Value line, const Source &source, Value begin, Value end, Value base) {
  Source s = source;
  l.forLoop(begin, end, {}, [&](Value p, ValueRange) {
    s.index[shape.inputDims.back()] = l.add(base, p);
    Value x = l.convert(memref::LoadOp::create(b, l.loc, s.memref, s.index), shape.accumulator);
    Value phase = l.constant(0), q = p;
    if (stride > 1) {
      phase = arith::RemSIOp::create(b, l.loc, p, l.constant(stride));
      q = arith::DivSIOp::create(b, l.loc, p, l.constant(stride));
    }
    memref::StoreOp::create(b, l.loc, x, lines, ValueRange{line, phase, q});
    return Values();
  });
}

/// As many columns as go by whole vectors; the first one that is left. With a
/// stride of 2 a pair of vectors is split into even and odd columns.
Value ColumnLanes::copyVectors(Value line, const Source &source, Value begin, Value end, Value base) {
  if (stride == 2) {
    Value even = l.mul(arith::CeilDivSIOp::create(b, l.loc, begin, l.constant(2)), 2);
    even = arith::MinSIOp::create(b, l.loc, even, end);
    copyElements(line, source, begin, even, base);
    begin = even;
  }
  int64_t step = stride * shape.lanes;
  Value length = arith::MaxSIOp::create(b, l.loc, l.sub(end, begin), l.constant(0));
  Value whole = l.mul(arith::DivSIOp::create(b, l.loc, length, l.constant(step)), step);
  l.forLoop(
      l.constant(0), whole, {},
      [&](Value i, ValueRange) {
        Value p = l.add(begin, i), x = loadColumns(source, l.add(base, p));
        if (stride == 1) {
          vector::StoreOp::create(b, l.loc, x, lines, ValueRange{line, l.constant(0), p});
          return Values();
        }
        Value y = loadColumns(source, l.add(l.add(base, p), shape.lanes));
        Value q = arith::DivSIOp::create(b, l.loc, p, l.constant(2));
        for (int64_t phase : {0, 1}) {
          SmallVector<int64_t> pick;
          for (int64_t k = 0; k < shape.lanes; ++k)
            pick.push_back(2 * k + phase);
          Value half = vector::ShuffleOp::create(b, l.loc, x, y, pick);
          vector::StoreOp::create(b, l.loc, half, lines, ValueRange{line, l.constant(phase), q});
        }
        return Values();
      },
      step);
  return l.add(begin, whole);
}

Value ColumnLanes::loadColumns(const Source &source, Value column) {
  Source s = source;
  s.index[shape.inputDims.back()] = column;
  auto stored = VectorType::get({shape.lanes}, cast<MemRefType>(s.memref.getType()).getElementType());
  Value x = vector::LoadOp::create(b, l.loc, stored, s.memref, s.index);
  return stored == vectorType ? x : arith::ExtFOp::create(b, l.loc, vectorType, x).getResult();
}

// ===--------------------------------------------------------------------=== //
// Tiles
// ===--------------------------------------------------------------------=== //

/// The vector of outputs from `column` on; without masks where all its taps are
/// valid.
void ColumnLanes::addTile(Value f, Value column) {
  const DimValues &dim = dims[last()];
  Value first = l.add(l.mul(column, stride), dim.offset);
  Value lastRead = l.add(first, (shape.lanes - 1) * stride + (taps - 1) * dilation);
  Value inside = l.both(l.lessEqual(dim.begin, first), l.less(lastRead, dim.end));
  auto branch = scf::IfOp::create(b, l.loc, TypeRange(), inside, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  multiply(f, column, {});
  b.setInsertionPoint(branch.elseBlock()->getTerminator());
  multiply(f, column, maskColumns(column));
}

/// Per tap: the lanes whose element is valid.
Values ColumnLanes::maskColumns(Value column) {
  auto numbers = VectorType::get({shape.lanes}, b.getI32Type());
  SmallVector<int32_t> steps;
  for (int64_t k = 0; k < shape.lanes; ++k)
    steps.push_back(k * stride);
  Value places = arith::ConstantOp::create(b, l.loc, DenseElementsAttr::get(numbers, ArrayRef<int32_t>(steps)));
  // Bounds beyond the lanes say the same wherever they lie.
  auto bound = [&](Value v, Value first) {
    v = arith::MaxSIOp::create(b, l.loc, l.sub(v, first), l.constant(0));
    v = arith::MinSIOp::create(b, l.loc, v, l.constant(shape.lanes * stride));
    v = arith::IndexCastOp::create(b, l.loc, b.getI32Type(), v);
    return vector::BroadcastOp::create(b, l.loc, numbers, v);
  };
  Values masks;
  for (int64_t t = 0; t < taps; ++t) {
    Value first = l.add(l.add(l.mul(column, stride), dims[last()].offset), t * dilation);
    masks.push_back(
        l.both(l.lessEqual(bound(dims[last()].begin, first), places), l.less(places, bound(dims[last()].end, first))));
  }
  return masks;
}

void ColumnLanes::multiply(Value f, Value column, ArrayRef<Value> masks) {
  Values state;
  for (int64_t o = 0; o < shape.perGroup; ++o)
    state.push_back(vector::LoadOp::create(b, l.loc, vectorType, sums, ValueRange{l.constant(o), column}));
  auto body = [&](ArrayRef<Value> rowTaps, ArrayRef<Value>, ValueRange s) {
    Values next(s);
    for (int64_t t = 0; t < taps; ++t) {
      TapColumn at = columnOf(t);
      Value x = vector::LoadOp::create(b, l.loc, vectorType, lines,
                                       ValueRange{lineOf(rowTaps), l.constant(at.phase), l.add(column, at.shift)});
      for (int64_t o = 0; o < shape.perGroup; ++o) {
        Value w = vector::BroadcastOp::create(b, l.loc, vectorType, weight(o, f, rowTaps, t));
        Value sum = math::FmaOp::create(b, l.loc, x, w, next[o]);
        next[o] = masks.empty() ? sum : arith::SelectOp::create(b, l.loc, masks[t], sum, next[o]).getResult();
      }
    }
    return next;
  };
  state = forTapRows(rows, {}, {}, state, body);
  for (int64_t o = 0; o < shape.perGroup; ++o)
    vector::StoreOp::create(b, l.loc, state[o], sums, ValueRange{l.constant(o), column});
}

Value ColumnLanes::weight(int64_t o, Value f, ArrayRef<Value> rowTaps, int64_t tap) {
  Values index(op.getFilterDims().size()), all(rowTaps);
  all.push_back(l.constant(tap));
  index[dimOf(op.getFilterDims(), kOutput)] = l.add(firstOutput, o);
  index[dimOf(op.getFilterDims(), kInput)] = f;
  for (auto [n, d] : llvm::enumerate(shape.filterDims))
    index[d] = op.getReverse()[n] ? l.sub(l.constant(shape.taps[n] - 1), all[n]) : all[n];
  return l.convert(memref::LoadOp::create(b, l.loc, op.getFilter(), index), shape.accumulator);
}

void ColumnLanes::storeBlock(ArrayRef<Value> outputs) {
  Values at(op.getOutputDims().size());
  at[dimOf(op.getOutputDims(), kBatch)] = outputBatch;
  for (auto [n, o] : llvm::enumerate(outputs))
    at[shape.outputDims[n]] = o;
  Value count = dims[last()].outputs, whole = l.constant(0);
  bool byVectors = isVectorDim(cast<MemRefType>(op.getInit().getType()), shape.outputDims.back());
  auto stored = VectorType::get({shape.lanes}, shape.element);
  for (int64_t o = 0; o < shape.perGroup; ++o) {
    at[dimOf(op.getOutputDims(), kFeature)] = l.add(firstOutput, o);
    if (byVectors) {
      whole = l.mul(arith::DivSIOp::create(b, l.loc, count, l.constant(shape.lanes)), shape.lanes);
      l.forLoop(
          l.constant(0), whole, {},
          [&](Value column, ValueRange) {
            at[shape.outputDims.back()] = l.add(firstColumn, column);
            Value v = vector::LoadOp::create(b, l.loc, vectorType, sums, ValueRange{l.constant(o), column});
            if (stored != vectorType)
              v = arith::TruncFOp::create(b, l.loc, stored, v);
            vector::StoreOp::create(b, l.loc, v, op.getInit(), at);
            return Values();
          },
          shape.lanes);
    }
    l.forLoop(whole, count, {}, [&](Value column, ValueRange) {
      at[shape.outputDims.back()] = l.add(firstColumn, column);
      Value v = memref::LoadOp::create(b, l.loc, sums, ValueRange{l.constant(o), column});
      memref::StoreOp::create(b, l.loc, l.convert(v, shape.element), op.getInit(), at);
      return Values();
    });
  }
}

bool ringconv::lowerToColumnLanes(LocalConvOp op, const LoopOptions &options, std::string &reason) {
  std::optional<VectorShape> shape = readVectorShape(op, options, reason);
  if (!shape)
    return false;
  int64_t tapRows = 1;
  for (int64_t t : ArrayRef<int64_t>(shape->taps).drop_back())
    tapRows *= t;
  // More features go faster as lanes; where they cannot, the reason stands.
  if (shape->perGroup >= 8)
    return false;
  if (llvm::any_of(op.getLhsDilate(), [](int64_t base) { return base != 1; }))
    reason = "fewer than 8 output features per group and holes in the input";
  else if (shape->perGroup * shape->taps.back() > kMaxBody || tapRows > kMaxRows)
    reason = "a window of too many taps";
  else
    return ColumnLanes(op, *shape, options).emit(), true;
  return false;
}
