// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "VectorMemory.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ringconv;

Value ringconv::firstOutput(Loops &l, const VectorPlan &plan, Value group, Value block) {
  Value inGroup = l.mul(block, plan.width());
  if (plan.perGroup <= plan.width())
    inGroup = l.constant(0);
  else if (plan.perGroup % plan.width())
    inGroup = arith::MinSIOp::create(l.b, l.loc, inGroup, l.constant(plan.perGroup - plan.width()));
  return plan.groups == 1 ? inGroup : l.add(l.mul(group, plan.perGroup), inGroup);
}

// ===--------------------------------------------------------------------=== //
// Vectors
// ===--------------------------------------------------------------------=== //

static Value maskOf(Loops &l, int64_t lanes, int64_t n) {
  return vector::ConstantMaskOp::create(l.b, l.loc, VectorType::get({lanes}, l.b.getI1Type()), ArrayRef<int64_t>{n});
}

Value ringconv::loadVector(Loops &l, VectorType type, Value memref, ValueRange index, int64_t n) {
  int64_t lanes = type.getNumElements();
  auto stored = VectorType::get({lanes}, cast<MemRefType>(memref.getType()).getElementType());
  Value v = n == lanes
                ? vector::LoadOp::create(l.b, l.loc, stored, memref, index).getResult()
                : vector::MaskedLoadOp::create(l.b, l.loc, stored, memref, index, maskOf(l, lanes, n), l.zero(stored))
                      .getResult();
  return stored == type ? v : arith::ExtFOp::create(l.b, l.loc, type, v).getResult();
}

/// Two vectors to two: `pick(k)` names the source of element k of 0 .. 2n-1.
static std::pair<Value, Value> shufflePair(Loops &l, Value a, Value b, llvm::function_ref<int64_t(int64_t)> pick) {
  int64_t n = cast<VectorType>(a.getType()).getNumElements();
  SmallVector<int64_t> first, second;
  for (int64_t k = 0; k < n; ++k) {
    first.push_back(pick(k));
    second.push_back(pick(n + k));
  }
  return {vector::ShuffleOp::create(l.b, l.loc, a, b, first), vector::ShuffleOp::create(l.b, l.loc, a, b, second)};
}

/// Transposes a square of vectors. x86 shuffles cheaply inside pieces of 128
/// bits (unpack), and then pieces as a whole, so it goes in these two phases;
/// each step is one instruction per vector. With four rows a, b, c, d per piece:
///
///   a0 a1 a2 a3         a0 b0 a1 b1         a0 b0 c0 d0
///   b0 b1 b2 b3   -->   a2 b2 a3 b3   -->   a1 b1 c1 d1  (columns 0 1 2 3 are
///   c0 ...              c0 d0 c1 d1         ...           then in bit-reversed
///   d0 ...              c2 d2 c3 d3                       rows)
static SmallVector<Value> transpose(Loops &l, SmallVector<Value> rows) {
  auto type = cast<VectorType>(rows[0].getType());
  int64_t n = type.getNumElements(), piece = std::min<int64_t>(n, 128 / type.getElementTypeBitWidth());
  SmallVector<int64_t> columnOf(n, 0); // the column that row r of the result holds
  for (int64_t h = 1; h < piece; h *= 2)
    for (int64_t r = 0; r < n; ++r) {
      if (r & h)
        continue;
      // Blocks of h elements alternate between the two rows; the lower half of
      // each piece goes to the first result.
      auto pick = [&](int64_t k) {
        int64_t half = k / n, j = k % n, base = j / piece * piece, within = j % piece;
        int64_t block = within / h, source = base + half * piece / 2 + block / 2 * h + within % h;
        return source + block % 2 * n;
      };
      std::tie(rows[r], rows[r + h]) = shufflePair(l, rows[r], rows[r + h], pick);
    }
  for (int64_t r = 0; r < n; ++r)
    for (int64_t h = 1, weight = piece / 2; h < piece; h *= 2, weight /= 2)
      if (r & h)
        columnOf[r] += weight;
  // Pieces: even ones of both vectors, odd ones of both; the parity of the k-th
  // step is bit k of the number of the piece.
  for (int64_t h = piece, weight = piece; h < n; h *= 2, weight *= 2)
    for (int64_t r = 0; r < n; ++r) {
      if (r & h)
        continue;
      auto pick = [&](int64_t k) { return (k % n / piece * 2 + k / n) * piece + k % piece; };
      std::tie(rows[r], rows[r + h]) = shufflePair(l, rows[r], rows[r + h], pick);
      columnOf[r + h] += weight;
    }
  SmallVector<Value> result(n);
  for (int64_t r = 0; r < n; ++r)
    result[columnOf[r]] = rows[r];
  return result;
}

// ===--------------------------------------------------------------------=== //
// Filter
// ===--------------------------------------------------------------------=== //

/// Loops over all combinations of indices below `extents`.
static void forAll(Loops &l, ArrayRef<int64_t> extents, SmallVector<Value> index,
                   llvm::function_ref<void(ArrayRef<Value>)> body) {
  if (index.size() == extents.size())
    return body(index);
  l.forLoop(l.constant(0), l.constant(extents[index.size()]), {}, [&](Value i, ValueRange) {
    SmallVector<Value> next(index);
    next.push_back(i);
    forAll(l, extents, next, body);
    return SmallVector<Value>();
  });
}

namespace {
class FilterPacking {
public:
  FilterPacking(Loops &l, LocalConvOp op, const VectorPlan &plan)
      : l(l), op(op), plan(plan), filter(op.getFilter()), outputDim(dimOf(op.getFilterDims(), kOutput)),
        inputDim(dimOf(op.getFilterDims(), kInput)), lanes(std::min(plan.perGroup, plan.width())),
        vectorType(VectorType::get({plan.lanes}, plan.accumulator)) {}

  MemRefType packedType() {
    SmallVector<int64_t> shape{plan.groups * plan.blocks(), plan.features};
    shape.append(plan.taps);
    shape.push_back(plan.width());
    return MemRefType::get(shape, plan.accumulator);
  }

  void packInto(Value target) {
    packed = target;
    forAll(l, {plan.groups, plan.blocks()}, {}, [&](ArrayRef<Value> index) {
      first = firstOutput(l, plan, index[0], index[1]);
      block = l.add(l.mul(index[0], plan.blocks()), index[1]);
      if (isRowMajor())
        return transposeRows();
      bool byVectors = isVectorDim(cast<MemRefType>(filter.getType()), outputDim);
      SmallVector<int64_t> rest{plan.features};
      rest.append(plan.taps);
      forAll(l, rest, {}, [&](ArrayRef<Value> at) { byVectors ? copyVectors(at) : copyElements(at); });
    });
  }

private:
  /// The index in the filter of tap `at` = [input feature, taps...].
  SmallVector<Value> place(ArrayRef<Value> at, Value output) {
    SmallVector<Value> from(op.getFilterDims().size());
    from[outputDim] = output;
    from[inputDim] = at[0];
    for (auto [n, d] : llvm::enumerate(plan.filterDims))
      from[d] = op.getReverse()[n] ? l.sub(l.constant(plan.taps[n] - 1), at[1 + n]) : at[1 + n];
    return from;
  }
  SmallVector<Value> target(ArrayRef<Value> at, Value lane) {
    SmallVector<Value> to{block};
    to.append(at.begin(), at.end());
    to.push_back(lane);
    return to;
  }
  /// Lanes of vector v that are output features.
  int64_t used(int64_t v) { return std::min(plan.lanes, lanes - v * plan.lanes); }

  void copyElements(ArrayRef<Value> at) {
    auto lane = [&](Value i, bool exists) {
      Value v =
          exists ? l.convert(memref::LoadOp::create(l.b, l.loc, filter, place(at, l.add(first, i))), plan.accumulator)
                 : l.zero(plan.accumulator);
      memref::StoreOp::create(l.b, l.loc, v, packed, target(at, i));
      return SmallVector<Value>();
    };
    l.forLoop(l.constant(0), l.constant(lanes), {}, [&](Value i, ValueRange) { return lane(i, true); });
    if (lanes < plan.width())
      l.forLoop(l.constant(lanes), l.constant(plan.width()), {}, [&](Value i, ValueRange) { return lane(i, false); });
  }

  void copyVectors(ArrayRef<Value> at) {
    for (int64_t v = 0; v < plan.vectors; ++v) {
      Value x = loadVector(l, vectorType, filter, place(at, l.add(first, v * plan.lanes)), used(v));
      vector::StoreOp::create(l.b, l.loc, x, packed, target(at, l.constant(v * plan.lanes)));
    }
  }

  /// True for [output][input][taps...] where all after the output lies without
  /// gaps in the order of the packed filter.
  bool isRowMajor() {
    SmallVector<int64_t> order{outputDim, inputDim};
    order.append(plan.filterDims);
    if (!llvm::is_sorted(order) || llvm::is_contained(op.getReverse(), true))
      return false;
    return memref::CollapseShapeOp::isGuaranteedCollapsible(cast<MemRefType>(filter.getType()), rows());
  }
  SmallVector<ReassociationIndices> rows() {
    ReassociationIndices rest;
    for (size_t d = 1; d < op.getFilterDims().size(); ++d)
      rest.push_back(d);
    return {{0}, rest};
  }

  /// Squares of output features and taps, as vectors along the taps.
  void transposeRows() {
    SmallVector<ReassociationIndices> target = rows();
    target.push_back({int64_t(op.getFilterDims().size())});
    Value from = memref::CollapseShapeOp::create(l.b, l.loc, filter, rows());
    Value to = memref::CollapseShapeOp::create(l.b, l.loc, packed, target);
    int64_t length = cast<MemRefType>(to.getType()).getDimSize(1);
    auto squares = [&](Value at, int64_t n) {
      for (int64_t v = 0; v < plan.vectors; ++v)
        transposeSquare(from, to, at, v, n);
    };
    if (length < plan.lanes)
      return squares(l.constant(0), length);
    // The last square is moved back so that it is full.
    l.forLoop(
        l.constant(0), l.constant(length), {},
        [&](Value at, ValueRange) {
          if (length % plan.lanes)
            at = arith::MinSIOp::create(l.b, l.loc, at, l.constant(length - plan.lanes));
          squares(at, plan.lanes);
          return SmallVector<Value>();
        },
        plan.lanes);
  }
  void transposeSquare(Value from, Value to, Value at, int64_t v, int64_t n) {
    SmallVector<Value> rows(plan.lanes, l.zero(vectorType));
    for (int64_t i = 0; i < used(v); ++i) {
      Value output = l.add(first, v * plan.lanes + i);
      rows[i] = loadVector(l, vectorType, from, {output, at}, n);
    }
    SmallVector<Value> columns = transpose(l, rows);
    for (int64_t j = 0; j < n; ++j)
      vector::StoreOp::create(l.b, l.loc, columns[j], to, ValueRange{block, l.add(at, j), l.constant(v * plan.lanes)});
  }

  Loops &l;
  LocalConvOp op;
  const VectorPlan &plan;
  Value filter, packed, first, block;
  int64_t outputDim, inputDim, lanes;
  VectorType vectorType;
};
} // namespace

/// True for what is the same in each run: parameters, constants, and views of
/// them at places that only the rank decides.
static bool isFixed(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    return func && func.isPublic() && func.getArgAttr(argument.getArgNumber(), kParameter);
  }
  Operation *op = value.getDefiningOp();
  return isa<memref::GetGlobalOp>(op) || (isMemoryEffectFree(op) && op->getNumRegions() == 0 &&
                                          llvm::all_of(op->getOperands(), isFixed));
}

Value ringconv::packFilter(Loops &l, LocalConvOp op, const VectorPlan &plan) {
  FilterPacking packing(l, op, plan);
  if (!isFixed(op.getFilter())) {
    Value packed = memref::AllocOp::create(l.b, l.loc, packing.packedType(), l.b.getI64IntegerAttr(64));
    packing.packInto(packed);
    return packed;
  }
  auto kept = KeptOp::create(l.b, l.loc, packing.packedType(), l.b.getI1Type());
  auto branch = scf::IfOp::create(l.b, l.loc, kept.getFresh(), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(l.b);
  l.b.setInsertionPointToStart(branch.thenBlock());
  packing.packInto(kept.getBuffer());
  return kept.getBuffer();
}

void ringconv::releaseFilter(Loops &l, Value packed) {
  if (packed.getDefiningOp<memref::AllocOp>())
    memref::DeallocOp::create(l.b, l.loc, packed);
}

// ===--------------------------------------------------------------------=== //
// Result
// ===--------------------------------------------------------------------=== //

namespace {
class TileStore {
public:
  TileStore(Loops &l, LocalConvOp op, const VectorPlan &plan, ValueRange accumulators, ArrayRef<Value> at, int64_t dim)
      : l(l), init(op.getInit()), plan(plan), accumulators(accumulators), at(at), column(dim),
        feature(dimOf(op.getOutputDims(), kFeature)) {
    count = accumulators.size() / plan.vectors;
    features = std::min(plan.perGroup, plan.lanes);
  }

  void run() {
    auto type = cast<MemRefType>(init.getType());
    for (int64_t v = 0; v < plan.vectors; ++v) {
      if (isVectorDim(type, feature))
        storeFeatures(v);
      else if (isVectorDim(type, column) && count > 1)
        storeColumns(v);
      else
        storeElements(v);
    }
  }

private:
  SmallVector<Value> place(int64_t i, int64_t f) {
    SmallVector<Value> index(at);
    index[column] = l.add(index[column], i);
    index[feature] = l.add(index[feature], f);
    return index;
  }

  /// The first `n` elements of a vector.
  void store(Value v, ArrayRef<Value> index, int64_t n) {
    auto type = cast<VectorType>(v.getType());
    v = convert(v, type);
    if (n == type.getNumElements()) {
      vector::StoreOp::create(l.b, l.loc, v, init, index);
      return;
    }
    vector::MaskedStoreOp::create(l.b, l.loc, init, index, maskOf(l, type.getNumElements(), n), v);
  }
  Value convert(Value v, VectorType type) {
    if (plan.element == plan.accumulator)
      return v;
    return arith::TruncFOp::create(l.b, l.loc, VectorType::get(type.getShape(), plan.element), v);
  }

  void storeFeatures(int64_t v) {
    for (int64_t i = 0; i < count; ++i)
      store(accumulators[i * plan.vectors + v], place(i, v * plan.lanes), features);
  }

  /// Rows of features become rows of columns, in squares.
  void storeColumns(int64_t v) {
    for (int64_t begin = 0; begin < count; begin += plan.lanes) {
      int64_t size = std::min(plan.lanes, count - begin);
      SmallVector<Value> rows;
      for (int64_t i = 0; i < size; ++i)
        rows.push_back(accumulators[(begin + i) * plan.vectors + v]);
      if (size < plan.lanes)
        rows.resize(plan.lanes, ub::PoisonOp::create(l.b, l.loc, rows[0].getType()));
      SmallVector<Value> columns = transpose(l, rows);
      for (int64_t f = 0; f < features; ++f)
        store(columns[f], place(begin, v * plan.lanes + f), size);
    }
  }

  void storeElements(int64_t v) {
    for (int64_t i = 0; i < count; ++i)
      for (int64_t f = 0; f < features; ++f) {
        Value e = vector::ExtractOp::create(l.b, l.loc, accumulators[i * plan.vectors + v], f);
        memref::StoreOp::create(l.b, l.loc, l.convert(e, plan.element), init, place(i, v * plan.lanes + f));
      }
  }

  Loops &l;
  Value init;
  const VectorPlan &plan;
  ValueRange accumulators;
  ArrayRef<Value> at;
  int64_t column, feature, count, features;
};
} // namespace

void ringconv::storeTile(Loops &l, LocalConvOp op, const VectorPlan &plan, ValueRange accumulators,
                         ArrayRef<Value> at, int64_t dim) {
  TileStore(l, op, plan, accumulators, at, dim).run();
}
