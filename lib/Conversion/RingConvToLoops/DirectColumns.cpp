// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The form for few output features per group where the columns' extent and
// borders are known: as in ConvColumns.cpp lanes are neighbouring outputs along
// the last spatial dimension, but nothing is copied into lines first.
//
//   for batch, group, output rows but the last dimension of them:
//     for blocks of R output rows:
//       for tiles of a vector of outputs:
//         R * features sums = bias
//         for input feature, for the tap rows of the other dimensions:
//           for the input rows of the block that are valid:
//             for the taps of a row: x = vector of the row
//               for the outputs' rows that the input row leads to: sum += x * filter
//         store
//
// A vector that touches a border has its columns at compile time: it is put
// together from shard and slabs, and taps that read padding keep the sum by a
// constant mask. The last block and the last tile are moved back so that they are
// full: what they compute again comes out alike. Per output this is the order of
// the plain loops, so that results agree bit for bit.
#include "VectorMemory.h"
#include "WindowAccess.h"

#include "ringconv/Halo/Halo.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <map>

using namespace mlir;
using namespace ringconv;

/// Sums per tile, multiply-adds in the body of one.
static constexpr int64_t kMaxSums = 16, kMaxBody = 224;
/// Tiles along a row that code is made for.
static constexpr size_t kMaxTiles = 16;

namespace {
class DirectColumns : WindowAccess {
public:
  DirectColumns(LocalConvOp op, const VectorShape &shape, const ColumnWindow &columns, const LoopOptions &options)
      : WindowAccess(LocalWindow(op), shape), op(op), columns(columns), options(options) {}
  /// The rows that blocks have; 0 where the form does not fit.
  static int64_t chooseRows(LocalConvOp op, const VectorShape &shape, int64_t columns);
  void emit(int64_t blockRows);
  /// Each tile at a border has code of its own.
  bool hasFewTiles() { return tiles().size() <= kMaxTiles; }

private:
  /// An input row of a block of output rows, and the pairs of output row and tap
  /// row that read it.
  struct InputRow {
    SmallVector<std::pair<int64_t, int64_t>> uses;
    /// `valid` is null where it always is.
    Value element, valid;
  };
  /// A tile at `begin`, `count` of them; more than one read the shard only.
  struct Tile {
    int64_t begin, count;
  };

  bool hasRows() const { return shape.taps.size() > 1; }
  int64_t rowDim() { return last() - 1; }
  void outerRows(Values outputs);
  void rowBlock(ArrayRef<Value> outputs, Value k);
  void prepareRows(Value firstRow);
  SmallVector<Tile> tiles();
  bool isInterior(int64_t begin);
  /// How many tiles from `begin` on read the shard only.
  int64_t interiorTiles(int64_t begin);
  void tile(ArrayRef<Value> outputs, int64_t begin, Value shift);
  Values multiplyRow(const InputRow &row, ArrayRef<Value> taps, ArrayRef<Value> coords, Value f, int64_t begin,
                     Value shift, ValueRange sums);
  Value load(ArrayRef<Value> coords, Value f, int64_t begin, Value shift);
  Value loadNeighbours(ArrayRef<Value> coords, Value f, int64_t element, Value shift);
  Value extend(Value x);
  Value loadPiece(Value into, Source source, int64_t segmentBegin, int64_t element, int64_t from, int64_t to);
  /// Lanes of a tap that read an element; null for all of them.
  Value laneMask(int64_t begin, int64_t tap);
  void store(ArrayRef<Value> outputs, int64_t begin, Value shift, ValueRange sums);
  int64_t elementOf(int64_t output, int64_t tap) const {
    return columns.offset + output * columns.stride + tap * columns.dilation;
  }
  int64_t storedLanes() { return std::min(shape.lanes, columns.outputs); }
  /// Multiply-adds of a row's outputs by one row of taps.
  int64_t rowWork();

  LocalConvOp op;
  const ColumnWindow &columns;
  const LoopOptions &options;
  int64_t blockRows = 1;
  Value firstOutput, firstRow, freshRow;
  SmallVector<Value> start;
  SmallVector<TapBounds> bounds;
  std::map<int64_t, InputRow> inputRows;
};
} // namespace

// ===--------------------------------------------------------------------=== //
// Shape
// ===--------------------------------------------------------------------=== //

int64_t DirectColumns::chooseRows(LocalConvOp op, const VectorShape &shape, int64_t columns) {
  int64_t taps = shape.taps.back(), rows = 1;
  if (shape.taps.size() == 1)
    return shape.perGroup * taps <= kMaxBody && shape.perGroup <= kMaxSums;
  rows = cast<MemRefType>(op.getInit().getType()).getDimSize(shape.outputDims[shape.taps.size() - 2]);
  if (ShapedType::isDynamic(rows))
    rows = 1;
  taps *= shape.taps[shape.taps.size() - 2];
  int64_t most = std::min({rows, kMaxSums / shape.perGroup, kMaxBody / (shape.perGroup * taps), int64_t(8)});
  // The blocks that compute the fewest rows twice; of those the largest.
  int64_t best = most > 0 ? 1 : 0;
  for (int64_t r = std::max<int64_t>(1, (most + 1) / 2); r <= most; ++r)
    if (llvm::divideCeil(rows, r) * r <= llvm::divideCeil(rows, best) * best + rows / 16)
      best = r;
  return best;
}

void DirectColumns::emit(int64_t rows) {
  blockRows = rows;
  prepare();
  forEach(l.size(op.getInit(), dimOf(op.getOutputDims(), kBatch)), [&](Value n) {
    forEach(shape.groups, [&](Value group) {
      enterGroup(n, group);
      firstOutput = l.mul(group, shape.perGroup);
      start.clear();
      for (int64_t o = 0; o < shape.perGroup; ++o) {
        Value bias = l.zero(shape.accumulator);
        if (op.getBias())
          bias = l.convert(memref::LoadOp::create(b, l.loc, op.getBias(), l.add(firstOutput, o)), shape.accumulator);
        start.push_back(vector::BroadcastOp::create(b, l.loc, vectorType, bias));
      }
      outerRows({});
    });
  });
  op.erase();
}

// ===--------------------------------------------------------------------=== //
// Rows
// ===--------------------------------------------------------------------=== //

void DirectColumns::outerRows(Values outputs) {
  int64_t n = outputs.size();
  if (n < last() - 1)
    return forEach(dims[n].outputs, [&](Value o) {
      bounds.resize(n);
      bounds.push_back(tapBounds(n, o));
      Values next(outputs);
      next.push_back(o);
      outerRows(next);
    });
  if (!hasRows())
    return rowBlock(outputs, {});
  Value blocks = arith::CeilDivSIOp::create(b, l.loc, dims[rowDim()].outputs, l.constant(blockRows));
  forEach(blocks, [&](Value k) { rowBlock(outputs, k); });
}

void DirectColumns::rowBlock(ArrayRef<Value> outputs, Value k) {
  if (hasRows()) {
    freshRow = l.mul(k, blockRows);
    firstRow = freshRow;
    if (blockRows > 1)
      firstRow = arith::MinSIOp::create(b, l.loc, freshRow, l.sub(dims[rowDim()].outputs, l.constant(blockRows)));
  }
  prepareRows(firstRow);
  for (const Tile &t : tiles())
    forEach(t.count, [&](Value i) { tile(outputs, t.begin, t.count == 1 ? Value() : l.mul(i, shape.lanes)); });
}

/// Outside of the loops over tiles, which they do not depend on.
void DirectColumns::prepareRows(Value firstRow) {
  inputRows.clear();
  if (!hasRows()) {
    inputRows[0].uses = {{0, 0}};
    return;
  }
  int64_t n = rowDim();
  for (int64_t r = 0; r < blockRows; ++r)
    for (int64_t t = 0; t < shape.taps[n]; ++t)
      inputRows[r * window.stride[n] + t * window.rhsDilate[n]].uses.push_back({r, t});
  bool always = tapBounds(n, firstRow).single;
  Value base = l.add(l.mul(firstRow, window.stride[n]), dims[n].offset);
  for (auto &[position, row] : inputRows) {
    row.element = l.add(base, position);
    row.valid = always ? Value() : isValid(n, row.element);
  }
}

// ===--------------------------------------------------------------------=== //
// Tiles
// ===--------------------------------------------------------------------=== //

bool DirectColumns::isInterior(int64_t begin) {
  int64_t first = elementOf(begin, 0);
  // Vectors of every second element load one more.
  int64_t end = elementOf(begin + shape.lanes - 1, columns.taps - 1) + columns.stride;
  return first >= std::max(columns.low, columns.validBegin.max) &&
         end <= std::min(columns.low + columns.own, columns.validEnd.min);
}

int64_t DirectColumns::interiorTiles(int64_t begin) {
  if (!isInterior(begin))
    return 0;
  int64_t limit = std::min(columns.low + columns.own, columns.validEnd.min);
  int64_t lastOutput = halo::floorDiv(limit - elementOf(1, columns.taps - 1), columns.stride);
  return (std::min(lastOutput, columns.outputs - 1) + 1 - begin) / shape.lanes;
}

SmallVector<DirectColumns::Tile> DirectColumns::tiles() {
  SmallVector<Tile> result;
  for (int64_t begin = 0; begin < columns.outputs && result.size() <= kMaxTiles;) {
    int64_t at = std::max<int64_t>(0, std::min(begin, columns.outputs - shape.lanes));
    int64_t count = std::max<int64_t>(1, at == begin ? interiorTiles(begin) : 0);
    result.push_back({at, count});
    begin = at + count * shape.lanes;
  }
  return result;
}

void DirectColumns::tile(ArrayRef<Value> outputs, int64_t begin, Value shift) {
  Values sums;
  for (int64_t r = 0; r < blockRows; ++r)
    sums.append(start);
  auto step = [&](Value f, ValueRange state) {
    return forTapRows(bounds, {}, {}, state, [&](ArrayRef<Value> taps, ArrayRef<Value> coords, ValueRange s) {
      Values next(s);
      for (auto &at : inputRows) {
        const InputRow &row = at.second;
        Values all(coords);
        if (hasRows())
          all.push_back(row.element);
        auto multiply = [&] { return multiplyRow(row, taps, all, f, begin, shift, next); };
        next = row.valid ? l.ifElse(row.valid, next, multiply) : multiply();
      }
      return next;
    });
  };
  if (shape.features == 1)
    sums = step(l.constant(0), sums);
  else
    sums = l.forLoop(l.constant(0), l.constant(shape.features), sums, step);
  store(outputs, begin, shift, sums);
}

Values DirectColumns::multiplyRow(const InputRow &row, ArrayRef<Value> taps, ArrayRef<Value> coords, Value f,
                                  int64_t begin, Value shift, ValueRange sums) {
  Values next(sums);
  for (int64_t t = 0; t < columns.taps; ++t) {
    Value mask = shift ? Value() : laneMask(begin, t);
    Value x = load(coords, f, elementOf(begin, t), shift);
    for (auto [r, tapRow] : row.uses) {
      Values all(taps);
      if (hasRows())
        all.push_back(l.constant(tapRow));
      for (int64_t o = 0; o < shape.perGroup; ++o) {
        Value &sum = next[r * shape.perGroup + o];
        Value w =
            vector::BroadcastOp::create(b, l.loc, vectorType, filterElement(op, l.add(firstOutput, o), f, all, t));
        Value added = math::FmaOp::create(b, l.loc, x, w, sum);
        sum = mask ? arith::SelectOp::create(b, l.loc, mask, added, sum).getResult() : added;
      }
    }
  }
  // Once per row: rows that are computed again are not counted again.
  if (options.count && begin == 0 && !shift)
    for (auto [r, tapRow] : row.uses) {
      Value work = l.constant(rowWork());
      if (hasRows())
        work = arith::SelectOp::create(b, l.loc, l.lessEqual(freshRow, l.add(firstRow, r)), work, l.constant(0));
      CountOp::create(b, l.loc, work);
    }
  return next;
}

int64_t DirectColumns::rowWork() {
  int64_t work = 0;
  for (int64_t t = 0; t < columns.taps; ++t) {
    int64_t first = halo::ceilDiv(columns.validBegin.max - elementOf(0, t), columns.stride);
    int64_t end = halo::ceilDiv(columns.validEnd.min - elementOf(0, t), columns.stride);
    work += std::max<int64_t>(0, std::min(end, columns.outputs) - std::max<int64_t>(first, 0));
  }
  return work * shape.perGroup;
}

Value DirectColumns::laneMask(int64_t begin, int64_t tap) {
  SmallVector<bool> lanes;
  for (int64_t k = 0; k < shape.lanes; ++k)
    lanes.push_back(k >= storedLanes() || columns.mustBeValid(elementOf(begin + k, tap)));
  if (llvm::all_of(lanes, [](bool lane) { return lane; }))
    return {};
  auto type = VectorType::get({shape.lanes}, b.getI1Type());
  return arith::ConstantOp::create(b, l.loc, DenseElementsAttr::get(type, ArrayRef<bool>(lanes)));
}

// ===--------------------------------------------------------------------=== //
// Memory
// ===--------------------------------------------------------------------=== //

/// Elements element, element + stride, ...; anything where they are not valid.
Value DirectColumns::load(ArrayRef<Value> coords, Value f, int64_t element, Value shift) {
  Value x = loadNeighbours(coords, f, element, shift);
  if (columns.stride == 2) {
    Value y = loadNeighbours(coords, f, element + shape.lanes, shift);
    SmallVector<int64_t> even;
    for (int64_t k = 0; k < shape.lanes; ++k)
      even.push_back(2 * k);
    x = vector::ShuffleOp::create(b, l.loc, x, y, even);
  }
  return x;
}

/// To the accumulator's type, before anything is shuffled: LLVM 22 cannot select
/// all shuffles of bf16.
Value DirectColumns::extend(Value x) {
  return x.getType() == vectorType ? x : arith::ExtFOp::create(b, l.loc, vectorType, x).getResult();
}

Value DirectColumns::loadNeighbours(ArrayRef<Value> coords, Value f, int64_t element, Value shift) {
  auto stored = VectorType::get({shape.lanes}, cast<MemRefType>(window.input.getType()).getElementType());
  auto sourceIn = [&](Segment segment) { return sourceOf(coords, segment, l.add(firstFeature, f)); };
  if (shift) {
    Source source = sourceIn(Segment::Own);
    source.index[shape.inputDims.back()] = l.add(l.mul(shift, columns.stride), element - columns.low);
    return extend(vector::LoadOp::create(b, l.loc, stored, source.memref, source.index));
  }
  Value x = l.zero(vectorType);
  int64_t ends[] = {0, columns.low, columns.low + columns.own, columns.low + columns.own + columns.high};
  for (int s = 0; s < 3; ++s) {
    int64_t from = std::max({element, ends[s], columns.validBegin.max});
    int64_t to = std::min({element + shape.lanes, ends[s + 1], columns.validEnd.min});
    if (from < to)
      x = loadPiece(x, sourceIn(Segment(s)), ends[s], element, from, to);
  }
  return x;
}

/// Elements [from, to) of a segment into the vector whose first lane is `element`.
Value DirectColumns::loadPiece(Value into, Source source, int64_t segmentBegin, int64_t element, int64_t from,
                               int64_t to) {
  source.index[shape.inputDims.back()] = l.constant(from - segmentBegin);
  auto stored = VectorType::get({shape.lanes}, cast<MemRefType>(source.memref.getType()).getElementType());
  int64_t size = to - from, first = from - element;
  if (size == shape.lanes)
    return extend(vector::LoadOp::create(b, l.loc, stored, source.memref, source.index));
  Value mask =
      vector::ConstantMaskOp::create(b, l.loc, VectorType::get({shape.lanes}, b.getI1Type()), ArrayRef<int64_t>{size});
  Value x = extend(vector::MaskedLoadOp::create(b, l.loc, stored, source.memref, source.index, mask, l.zero(stored)));
  if (first == 0) // pieces come in order: nothing is there yet
    return x;
  SmallVector<int64_t> pick;
  for (int64_t k = 0; k < shape.lanes; ++k)
    pick.push_back(k >= first && k < first + size ? shape.lanes + k - first : k);
  return vector::ShuffleOp::create(b, l.loc, into, x, pick);
}

void DirectColumns::store(ArrayRef<Value> outputs, int64_t begin, Value shift, ValueRange sums) {
  Values at(op.getOutputDims().size());
  at[dimOf(op.getOutputDims(), kBatch)] = outputBatch;
  for (auto [n, o] : llvm::enumerate(outputs))
    at[shape.outputDims[n]] = o;
  at[shape.outputDims.back()] = shift ? l.add(shift, begin) : l.constant(begin);
  auto stored = VectorType::get({shape.lanes}, shape.element);
  for (int64_t r = 0; r < blockRows; ++r)
    for (int64_t o = 0; o < shape.perGroup; ++o) {
      if (hasRows())
        at[shape.outputDims[rowDim()]] = l.add(firstRow, r);
      at[dimOf(op.getOutputDims(), kFeature)] = l.add(firstOutput, o);
      Value v = sums[r * shape.perGroup + o];
      if (stored != vectorType)
        v = arith::TruncFOp::create(b, l.loc, stored, v);
      if (storedLanes() == shape.lanes) {
        vector::StoreOp::create(b, l.loc, v, op.getInit(), at);
        continue;
      }
      Value mask = vector::ConstantMaskOp::create(b, l.loc, VectorType::get({shape.lanes}, b.getI1Type()),
                                                  ArrayRef<int64_t>{storedLanes()});
      vector::MaskedStoreOp::create(b, l.loc, op.getInit(), at, mask, v);
    }
}

bool ringconv::lowerToDirectColumns(LocalConvOp op, const VectorShape &shape, const LoopOptions &options) {
  ColumnWindow columns = readColumns(op, shape);
  auto isDense = [&](Value v, int64_t d) { return isVectorDim(cast<MemRefType>(v.getType()), d); };
  bool known = columns.isStatic() && columns.validBegin.min == columns.validBegin.max &&
               columns.validEnd.min == columns.validEnd.max;
  if (!known || columns.outputs == 0 || columns.stride > 2 || !llvm::all_equal(op.getLhsDilate()) ||
      op.getLhsDilate()[0] != 1 || !isDense(op.getInput(), shape.inputDims.back()) ||
      !isDense(op.getInit(), shape.outputDims.back()) ||
      !llvm::all_of(op.getHalos(), [&](Value halo) { return isDense(halo, shape.inputDims.back()); }))
    return false;
  int64_t rows = DirectColumns::chooseRows(op, shape, columns.outputs);
  if (!rows)
    return false;
  // Short rows in shorter vectors, of which the processor starts more.
  VectorShape fitted = shape;
  while (fitted.lanes > 4 && fitted.lanes / 2 >= columns.outputs)
    fitted.lanes /= 2;
  DirectColumns kernel(op, fitted, columns, options);
  if (!kernel.hasFewTiles())
    return false;
  kernel.emit(rows);
  return true;
}
