// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vectorised form of local convolutions.
//
//   for batch, group, block of output features:
//     for the output rows:
//       for the tiles of output columns:
//         accumulators = bias
//         for input feature, for the tap rows that read an element:
//           for the input columns of the tile, ascending:
//             x = broadcast of the element
//             for the outputs that a tap leads to: accumulator += x * filter
//         store
//
// Per output this is the order of the plain loops, so that results agree bit
// for bit. Input columns ascend (and not the taps) because each broadcast then
// serves all its multiply-adds at once; with the taps outermost the backend
// keeps all broadcasts and spills.
//
// A tile at the border of the shard has its columns at compile time and reads
// each from the shard or from a slab; what is padding on some ranks only is
// guarded by a branch per column. In rows and in columns of unknown extent the
// place is chosen at run time, by a select between memrefs.
#include "LoopBuilder.h"
#include "Loops.h"
#include "VectorMemory.h"
#include "VectorPlan.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Diagnostics.h"
#include <map>

using namespace mlir;
using namespace ringconv;

namespace {

using Values = SmallVector<Value>;

/// Where elements lie: a memref, and its indices but that of the columns.
struct Source {
  Value memref;
  Values index;
};

enum class Segment { Low, Own, High };

/// The numbers of one dimension at run time.
struct DimValues {
  Value offset, begin, end, outputs;
  /// Slab and shard extents; null without halos.
  Value low, own;
};

class VectorConv {
public:
  VectorConv(LocalConvOp op, const VectorPlan &plan, const LoopOptions &options)
      : b(op), l{b, op.getLoc()}, op(op), plan(plan), options(options),
        vectorType(VectorType::get({plan.lanes}, plan.accumulator)) {}

  void emit() {
    prepare();
    Value packed = filter = packFilter(l, op, plan);
    forEach(l.size(op.getInit(), yb()), [&](Value n) {
      forEach(plan.groups, [&](Value group) {
        forEach(plan.blocks(), [&](Value block) {
          enterBlock(n, group, block);
          rowLoops({});
        });
      });
    });
    memref::DeallocOp::create(b, l.loc, packed);
    op.erase();
  }

private:
  int64_t yb() { return dimOf(op.getOutputDims(), kBatch); }
  int64_t last() { return plan.taps.size() - 1; }

  void forEach(Value count, llvm::function_ref<void(Value)> body) {
    l.forLoop(l.constant(0), count, {}, [&](Value i, ValueRange) {
      body(i);
      return Values();
    });
  }
  void forEach(int64_t count, llvm::function_ref<void(Value)> body) {
    if (count == 1)
      return body(l.constant(0));
    forEach(l.constant(count), body);
  }

  // --- before the loops ---------------------------------------------------

  void prepare() {
    auto next = op.getScalars().begin();
    auto fill = [&](ArrayRef<int64_t> list, Value DimValues::*member) {
      for (auto [n, v] : llvm::enumerate(list))
        dims[n].*member = ShapedType::isDynamic(v) ? Value(*next++) : l.constant(v);
    };
    dims.resize(plan.taps.size());
    fill(op.getOffset(), &DimValues::offset);
    fill(op.getValidBegin(), &DimValues::begin);
    fill(op.getValidEnd(), &DimValues::end);
    for (auto [n, dim] : llvm::enumerate(dims)) {
      dim.outputs = l.size(op.getInit(), plan.outputDims[n]);
      if (int64_t i = haloOf(n); i >= 0) {
        dim.low = l.size(op.getHalos()[2 * i], plan.inputDims[n]);
        dim.own = l.size(op.getInput(), plan.inputDims[n]);
      }
    }
    castSources();
  }

  /// Entry of halo_dims for a spatial number; -1: none.
  int64_t haloOf(int64_t n) {
    auto it = llvm::find(op.getHaloDims(), plan.inputDims[n]);
    return it == op.getHaloDims().end() ? -1 : it - op.getHaloDims().begin();
  }
  int64_t spatialOf(int64_t d) { return llvm::find(plan.inputDims, d) - plan.inputDims.begin(); }

  /// Shard and slabs under one type, so that a select can choose. Strides of 1
  /// stay static.
  void castSources() {
    shard = op.getInput();
    slabs.assign(op.getHalos().begin(), op.getHalos().end());
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

  // --- a block of output features -----------------------------------------

  void enterBlock(Value n, Value group, Value block) {
    outputBatch = inputBatch = n;
    firstFeature = l.constant(0);
    if (op.getFeatureGroupOutputs())
      firstFeature = l.mul(group, plan.features);
    else if (op.getBatchGroupOutputs())
      inputBatch = l.add(l.mul(group, l.size(op.getInit(), yb())), n);
    packedBlock = l.add(l.mul(group, plan.blocks()), block);
    feature = firstOutput(l, plan, group, block);
    if (options.count) {
      Value left = l.sub(l.constant(plan.perGroup), l.mul(block, plan.width()));
      storedLanes = arith::MinSIOp::create(b, l.loc, left, l.constant(plan.width()));
    }
    start.clear();
    for (int64_t v = 0; v < plan.vectors; ++v)
      start.push_back(op.getBias() ? loadBias(v) : zeros());
  }

  Value zeros() { return l.zero(vectorType); }

  Value loadBias(int64_t v) {
    int64_t n = std::min(plan.lanes, plan.perGroup);
    return loadVector(l, vectorType, op.getBias(), l.add(feature, v * plan.lanes), n);
  }

  // --- rows ---------------------------------------------------------------

  /// Loops over the output rows; `position` and the bounds of the taps of each
  /// are computed outside the loop over input features.
  void rowLoops(Values outputs) {
    int64_t n = outputs.size();
    if (n == plan.rows())
      return tiles(outputs);
    forEach(dims[n].outputs, [&](Value o) {
      rows.resize(n);
      rows.push_back(tapBounds(n, o));
      Values next(outputs);
      next.push_back(o);
      rowLoops(next);
    });
  }

  struct TapBounds {
    Value position, begin, end;
    bool single = false;
  };

  /// Taps whose element is valid, without base dilation: position + t * dilation
  /// in [begin, end).
  TapBounds tapBounds(int64_t n, Value output) {
    const DimValues &dim = dims[n];
    TapBounds t;
    t.position = l.add(l.mul(output, op.getStride()[n]), dim.offset);
    t.begin = l.constant(0);
    t.end = l.constant(plan.taps[n]);
    if (op.getLhsDilate()[n] != 1)
      return t;
    t.single = plan.taps[n] == 1 && isAlwaysValid(n);
    if (isAlwaysValid(n))
      return t;
    auto taps = [&](Value bound) {
      Value distance = l.sub(bound, t.position);
      if (op.getRhsDilate()[n] == 1)
        return distance;
      return arith::CeilDivSIOp::create(b, l.loc, distance, l.constant(op.getRhsDilate()[n])).getResult();
    };
    t.begin = arith::MaxSIOp::create(b, l.loc, taps(dim.begin), t.begin);
    t.end = arith::MinSIOp::create(b, l.loc, taps(dim.end), t.end);
    return t;
  }

  bool isAlwaysValid(int64_t n) {
    Bounds offset = boundsOf(dims[n].offset), begin = boundsOf(dims[n].begin), end = boundsOf(dims[n].end);
    Bounds outputs = boundsOf(dims[n].outputs);
    int64_t reach = (outputs.max - 1) * op.getStride()[n] + (plan.taps[n] - 1) * op.getRhsDilate()[n];
    return outputs.min == outputs.max && offset.min >= begin.max && offset.max + reach < end.min;
  }

  /// The body for each tap row that reads an element, with its taps and extended
  /// coordinates, in dimensions [n, bounds.size()).
  Values forTapRows(ArrayRef<TapBounds> bounds, Values taps, Values coords, ValueRange state,
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
      Value position = l.add(t.position, l.mul(tap, op.getRhsDilate()[n]));
      int64_t base = op.getLhsDilate()[n];
      if (base == 1)
        return inner(tap, position, s);
      Value element = l.floorDiv(position, base);
      Value reads = l.both(l.equal(l.mul(element, base), position), isValid(n, element));
      return l.ifElse(reads, s, [&] { return inner(tap, element, s); });
    });
  }

  Value isValid(int64_t n, Value element) {
    return l.both(l.lessEqual(dims[n].begin, element), l.less(element, dims[n].end));
  }

  // --- places of elements -------------------------------------------------

  /// Where elements with these extended coordinates lie. With a segment:
  /// coordinates are those of the rows, and the segment says where the column
  /// lies. Without: all dimensions are given and chosen at run time.
  Source sourceOf(ArrayRef<Value> coords, std::optional<Segment> segment, Value inputFeature) {
    Source s{shard, Values(op.getInputDims().size())};
    s.index[dimOf(op.getInputDims(), kBatch)] = inputBatch;
    s.index[dimOf(op.getInputDims(), kFeature)] = inputFeature;
    bool extended = segment && *segment != Segment::Own;
    for (auto [n, c] : llvm::enumerate(coords))
      s.index[plan.inputDims[n]] = extended || !dims[n].low ? c : l.sub(c, dims[n].low);
    if (extended) {
      s.memref = slabs[slabs.size() - (*segment == Segment::Low ? 2 : 1)];
      return s;
    }
    for (auto [i, d] : llvm::enumerate(op.getHaloDims()))
      if (size_t n = spatialOf(d); n < coords.size())
        chooseSlab(s, i, n, coords);
    return s;
  }

  /// Slabs of halo dimension i, where the coordinate of spatial number n is
  /// theirs: earlier halo dimensions are extended there, later ones are not.
  void chooseSlab(Source &s, size_t i, size_t n, ArrayRef<Value> coords) {
    auto slabType = [&](size_t k) { return cast<MemRefType>(op.getHalos()[k].getType()); };
    int64_t d = plan.inputDims[n];
    for (size_t side : {0, 1}) {
      if (slabType(2 * i + side).getDimSize(d) == 0)
        continue;
      Value inner = l.sub(coords[n], dims[n].low);
      Value here = side == 0 ? l.less(coords[n], dims[n].low) : l.lessEqual(dims[n].own, inner);
      auto choose = [&](Value yes, Value &no) { no = arith::SelectOp::create(b, l.loc, here, yes, no); };
      choose(slabs[2 * i + side], s.memref);
      choose(side == 0 ? coords[n] : l.sub(inner, dims[n].own), s.index[d]);
      for (int64_t earlier : op.getHaloDims().take_front(i))
        choose(coords[spatialOf(earlier)], s.index[earlier]);
    }
  }

  // --- tiles --------------------------------------------------------------

  Values initial(int64_t size) {
    Values accumulators;
    for (int64_t i = 0; i < size; ++i)
      accumulators.append(start.begin(), start.end());
    return accumulators;
  }

  void store(ArrayRef<Value> outputs, Value column, ValueRange accumulators) {
    Values at(op.getOutputDims().size());
    at[yb()] = outputBatch;
    at[dimOf(op.getOutputDims(), kFeature)] = feature;
    for (auto [n, o] : llvm::enumerate(outputs))
      at[plan.outputDims[n]] = o;
    at[plan.outputDims.back()] = column;
    storeTile(l, op, plan, accumulators, at);
  }

  void tiles(ArrayRef<Value> outputs) {
    if (!plan.columns.isStatic())
      return dynamicTiles(outputs);
    for (const TileRun &run : plan.tiles) {
      auto tile = [&](Value k) {
        Value shift = run.count == 1 ? Value() : l.mul(k, run.step);
        Values sums = reduce(run, shift);
        Value column = run.count == 1 ? l.constant(run.begin) : l.add(l.mul(k, run.size), run.begin);
        store(outputs, column, sums);
      };
      forEach(run.count, tile);
    }
  }

  /// The sums of a tile whose columns are static but for `shift` elements.
  Values reduce(const TileRun &run, Value shift) {
    SmallVector<TileColumn> columns = plan.columns.columns(run.begin, run.size);
    conditions.clear();
    for (const TileColumn &c : columns)
      if (!run.interior && !plan.columns.mustBeValid(c.element))
        conditions[c.element] = isValid(last(), l.constant(c.element));
    places.clear();
    for (const TileColumn &c : columns)
      places.push_back(placeOf(c.element, shift));
    return overFeatures(columns, initial(run.size));
  }

  struct Place {
    Segment segment;
    Value index;
  };
  Place placeOf(int64_t element, Value shift) {
    const ColumnWindow &w = plan.columns;
    if (element < w.low)
      return {Segment::Low, l.constant(element)};
    if (element >= w.low + w.own)
      return {Segment::High, l.constant(element - w.low - w.own)};
    return {Segment::Own, shift ? l.add(shift, element - w.low) : l.constant(element - w.low)};
  }

  /// Windows of one tap have short bodies: several features per step.
  Values overFeatures(ArrayRef<TileColumn> columns, Values state) {
    bool noRowLoops = llvm::all_of(rows, [](const TapBounds &t) { return t.single; });
    int64_t uses = 0;
    for (const TileColumn &c : columns)
      uses += c.uses.size() * plan.vectors;
    int64_t unroll = noRowLoops && uses * 4 <= 128 ? 4 : 1, whole = plan.features / unroll * unroll;
    auto step = [&](Value f, ValueRange s) {
      return forTapRows(rows, {}, {}, s, [&](ArrayRef<Value> taps, ArrayRef<Value> coords, ValueRange inner) {
        return multiplyColumns(columns, f, taps, coords, inner);
      });
    };
    auto steps = [&](int64_t n) {
      return [&, n](Value f, ValueRange s) {
        Values next(s);
        for (int64_t u = 0; u < n; ++u)
          next = step(l.add(f, u), next);
        return next;
      };
    };
    if (whole)
      state = l.forLoop(l.constant(0), l.constant(whole), state, steps(unroll), unroll);
    if (whole < plan.features)
      state = l.forLoop(l.constant(whole), l.constant(plan.features), state, steps(1));
    return state;
  }

  /// All multiply-adds of a tile for one input feature and tap row.
  Values multiplyColumns(ArrayRef<TileColumn> columns, Value f, ArrayRef<Value> taps, ArrayRef<Value> coords,
                         ValueRange state) {
    std::map<Segment, Source> sources;
    std::map<int64_t, Values> weights;
    auto sourceAt = [&](Segment segment) -> Source & {
      auto it = sources.find(segment);
      if (it == sources.end())
        it = sources.emplace(segment, sourceOf(coords, segment, l.add(firstFeature, f))).first;
      return it->second;
    };
    // Outside of the branches, which see what stands before them.
    for (auto [c, place] : llvm::zip(columns, places)) {
      sourceAt(place.segment);
      if (conditions.count(c.element))
        for (const TileUse &use : c.uses)
          if (!weights.count(use.tap))
            weights[use.tap] = loadWeights(f, taps, l.constant(use.tap));
    }
    Values sums(state);
    for (auto [c, place] : llvm::zip(columns, places)) {
      for (const TileUse &use : c.uses)
        if (!weights.count(use.tap))
          weights[use.tap] = loadWeights(f, taps, l.constant(use.tap));
      Source &source = sourceAt(place.segment);
      source.index[plan.inputDims.back()] = place.index;
      multiplyColumn(c, source, weights, sums);
    }
    if (countedColumns)
      CountOp::create(b, l.loc, l.mul(l.mul(storedLanes, countedColumns), plan.columns.taps));
    return sums;
  }

  void multiplyColumn(const TileColumn &c, const Source &source, std::map<int64_t, Values> &weights, Values &sums) {
    SmallVector<int64_t> touched;
    for (const TileUse &use : c.uses)
      for (int64_t v = 0; v < plan.vectors; ++v)
        touched.push_back(use.output * plan.vectors + v);
    auto multiply = [&] {
      Value x = broadcast(source);
      Values results;
      for (const TileUse &use : c.uses)
        for (int64_t v = 0; v < plan.vectors; ++v) {
          Value sum = sums[use.output * plan.vectors + v];
          results.push_back(math::FmaOp::create(b, l.loc, x, weights[use.tap][v], sum));
        }
      count(c.uses.size());
      return results;
    };
    Values before, after;
    for (int64_t k : touched)
      before.push_back(sums[k]);
    auto condition = conditions.find(c.element);
    after = condition == conditions.end() ? multiply() : l.ifElse(condition->second, before, multiply);
    for (auto [k, v] : llvm::zip(touched, after))
      sums[k] = v;
  }

  Value broadcast(const Source &source) {
    Value x = memref::LoadOp::create(b, l.loc, source.memref, source.index);
    return vector::BroadcastOp::create(b, l.loc, vectorType, l.convert(x, plan.accumulator));
  }

  Values loadWeights(Value f, ArrayRef<Value> taps, Value tap) {
    Values result, index{packedBlock, f};
    index.append(taps.begin(), taps.end());
    index.push_back(tap);
    index.push_back({});
    for (int64_t v = 0; v < plan.vectors; ++v) {
      index.back() = l.constant(v * plan.lanes);
      result.push_back(vector::LoadOp::create(b, l.loc, vectorType, filter, index));
    }
    return result;
  }

  /// Counts per element; tiles that overlap count whole rows of taps instead
  /// (see dynamicTiles).
  void count(int64_t uses) {
    if (options.count && !countedColumns)
      CountOp::create(b, l.loc, l.mul(storedLanes, uses));
  }

  // --- columns of unknown extent -------------------------------------------

  void dynamicTiles(ArrayRef<Value> outputs);
  std::pair<Value, Value> interiorColumns();
  void interiorTile(ArrayRef<Value> outputs, Value column);
  void singleColumn(ArrayRef<Value> outputs, Value column);

  OpBuilder b;
  Loops l;
  LocalConvOp op;
  const VectorPlan &plan;
  const LoopOptions &options;
  VectorType vectorType;

  SmallVector<DimValues> dims;
  Value shard, filter;
  Values slabs;
  // Of the block of features.
  Value outputBatch, inputBatch, firstFeature, packedBlock, feature, storedLanes;
  Values start;
  // Of the output row, and of the tile.
  SmallVector<TapBounds> rows;
  SmallVector<Place> places;
  std::map<int64_t, Value> conditions;
  Value countedColumns;
};

// ===--------------------------------------------------------------------=== //
// Columns of unknown extent
// ===--------------------------------------------------------------------=== //

/// Tiles inside the shard, the last one moved back so that it is full (it
/// computes some outputs again, alike), then the columns at the borders one by
/// one, with every place chosen at run time.
void VectorConv::dynamicTiles(ArrayRef<Value> outputs) {
  auto [begin, end] = interiorColumns();
  Value inner = l.sub(end, begin), zero = l.constant(0), first = begin, stop = end;
  Value fits = l.lessEqual(l.constant(plan.tile), inner);
  inner = arith::SelectOp::create(b, l.loc, fits, inner, zero);
  Value tileCount = arith::CeilDivSIOp::create(b, l.loc, inner, l.constant(plan.tile));
  forEach(tileCount, [&](Value k) {
    Value regular = l.add(first, l.mul(k, plan.tile));
    Value column = arith::MinSIOp::create(b, l.loc, regular, l.sub(stop, l.constant(plan.tile)));
    if (options.count)
      countedColumns = arith::MinSIOp::create(b, l.loc, l.sub(stop, regular), l.constant(plan.tile));
    interiorTile(outputs, column);
    countedColumns = {};
  });
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
  store(outputs, column, overFeatures(columns, initial(plan.tile)));
}

void VectorConv::singleColumn(ArrayRef<Value> outputs, Value column) {
  SmallVector<TapBounds> all(rows);
  all.push_back(tapBounds(last(), column));
  auto step = [&](Value f, ValueRange s) {
    return forTapRows(all, {}, {}, s, [&](ArrayRef<Value> taps, ArrayRef<Value> coords, ValueRange sums) {
      Value x = broadcast(sourceOf(coords, std::nullopt, l.add(firstFeature, f)));
      Values weights = loadWeights(f, taps.drop_back(), taps.back()), next;
      for (auto [w, sum] : llvm::zip(weights, sums))
        next.push_back(math::FmaOp::create(b, l.loc, x, w, sum));
      count(1);
      return next;
    });
  };
  store(outputs, column, l.forLoop(l.constant(0), l.constant(plan.features), initial(1), step));
}

} // namespace

bool ringconv::lowerToVectorLoops(LocalConvOp op, const LoopOptions &options) {
  std::string reason;
  std::optional<VectorPlan> plan = planVectorLoops(op, options, reason);
  if (!plan) {
    emitRemark(op.getLoc()) << "plain loops: " << reason;
    return false;
  }
  VectorConv(op, *plan, options).emit();
  return true;
}
