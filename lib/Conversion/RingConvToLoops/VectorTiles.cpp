// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tiles of output columns: the inner loops of the vectorised form.
#include "VectorConv.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ringconv;

// ===--------------------------------------------------------------------=== //
// Accumulators: accumulator (n * outputs + i) * vectors + v is vector v of the
// features of output i of entry n of the batch.
// ===--------------------------------------------------------------------=== //

Values VectorConv::initial(ArrayRef<Value> outputs, Value column, int64_t size) {
  Values fresh;
  for (int64_t i = 0; i < plan.batch * size; ++i)
    fresh.append(start.begin(), start.end());
  if (!partial)
    return fresh;
  auto isLater = l.compare(arith::CmpIPredicate::ne, passBegin, l.constant(0));
  return l.ifElse(isLater, fresh, [&] {
    Values left;
    for (size_t i = 0; i < fresh.size(); ++i)
      left.push_back(vector::LoadOp::create(b, l.loc, vectorType, partial, partialIndex(outputs, column, i)));
    return left;
  });
}

Values VectorConv::partialIndex(ArrayRef<Value> outputs, Value column, int64_t i) {
  Values index(outputs);
  index.push_back(l.add(column, i / plan.vectors));
  index.push_back(l.constant(i % plan.vectors * plan.lanes));
  return index;
}

void VectorConv::store(ArrayRef<Value> outputs, Value column, ValueRange accumulators) {
  if (!partial)
    return storeResult(outputs, column, accumulators);
  auto branch = scf::IfOp::create(b, l.loc, TypeRange(), isLastPass, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(branch.thenBlock()->getTerminator());
  storeResult(outputs, column, accumulators);
  b.setInsertionPoint(branch.elseBlock()->getTerminator());
  for (auto [i, sum] : llvm::enumerate(accumulators))
    vector::StoreOp::create(b, l.loc, sum, partial, partialIndex(outputs, column, i));
}

void VectorConv::storeResult(ArrayRef<Value> outputs, Value column, ValueRange accumulators) {
  Values at(op.getOutputDims().size());
  at[dimOf(op.getOutputDims(), kFeature)] = feature;
  for (auto [n, o] : llvm::enumerate(outputs))
    at[plan.outputDims[n]] = o;
  at[plan.outputDims.back()] = column;
  size_t each = accumulators.size() / plan.batch;
  at[yb()] = outputBatch;
  // Single outputs whose entries of the batch are neighbours go as rows of them.
  if (int64_t(each) == plan.vectors && plan.batch > 1)
    return storeTile(l, op, plan, accumulators, at, yb());
  for (int64_t n = 0; n < plan.batch; ++n) {
    at[yb()] = l.add(outputBatch, n);
    storeTile(l, op, plan, accumulators.slice(n * each, each), at, plan.outputDims.back());
  }
}

// ===--------------------------------------------------------------------=== //
// Tiles
// ===--------------------------------------------------------------------=== //

void VectorConv::tiles(ArrayRef<Value> outputs) {
  if (!plan.columns.isStatic())
    return dynamicTiles(outputs);
  for (const TileRun &run : plan.tiles)
    forEach(run.count, [&](Value k) { tile(outputs, run, k); });
}

void VectorConv::stretches(Value group) {
  for (const TileRun &run : plan.tiles)
    forEach(llvm::divideCeil(run.count, plan.stretch), [&](Value s) {
      Value begin = l.mul(s, plan.stretch);
      Value end = arith::MinSIOp::create(b, l.loc, l.add(begin, plan.stretch), l.constant(run.count));
      forEach(plan.blocks(), [&](Value block) {
        enterBlock(group, block);
        l.forLoop(begin, end, {}, [&](Value k, ValueRange) {
          tile({}, run, k);
          return Values();
        });
      });
    });
}

void VectorConv::tile(ArrayRef<Value> outputs, const TileRun &run, Value k) {
  bool single = run.count == 1;
  Value shift = single ? Value() : l.mul(k, run.step);
  Value column = single ? l.constant(run.begin) : l.add(l.mul(k, run.size), run.begin);
  SmallVector<TileColumn> columns = plan.columns.columns(run.begin, run.size);
  conditions.clear();
  for (const TileColumn &c : columns)
    if (!run.interior && !plan.columns.mustBeValid(c.element))
      conditions[c.element] = isValid(last(), l.constant(c.element));
  places.clear();
  for (const TileColumn &c : columns)
    places.push_back(placeOf(c.element, shift));
  store(outputs, column, overFeatures(columns, initial(outputs, column, run.size)));
}

VectorConv::Place VectorConv::placeOf(int64_t element, Value shift) {
  const ColumnWindow &w = plan.columns;
  if (element < w.low)
    return {Segment::Low, l.constant(element)};
  if (element >= w.low + w.own)
    return {Segment::High, l.constant(element - w.low - w.own)};
  return {Segment::Own, shift ? l.add(shift, element - w.low) : l.constant(element - w.low)};
}

Values VectorConv::overFeatures(ArrayRef<TileColumn> columns, Values state) {
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
  if (partial) // passes are multiples of the unrolling but for the last
    return l.forLoop(passBegin, passEnd, state, steps(plan.features % unroll ? 1 : unroll),
                     plan.features % unroll ? 1 : unroll);
  if (whole)
    state = l.forLoop(l.constant(0), l.constant(whole), state, steps(unroll), unroll);
  if (whole < plan.features)
    state = l.forLoop(l.constant(whole), l.constant(plan.features), state, steps(1));
  return state;
}

Values VectorConv::multiplyColumns(ArrayRef<TileColumn> columns, Value f, ArrayRef<Value> taps, ArrayRef<Value> coords,
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

void VectorConv::multiplyColumn(const TileColumn &c, const Source &source, std::map<int64_t, Values> &weights,
                                Values &sums) {
  // Accumulators of one entry of the batch; all entries are touched alike.
  int64_t each = sums.size() / plan.batch;
  SmallVector<int64_t> touched;
  for (int64_t n = 0; n < plan.batch; ++n)
    for (const TileUse &use : c.uses)
      for (int64_t v = 0; v < plan.vectors; ++v)
        touched.push_back(n * each + use.output * plan.vectors + v);
  auto multiply = [&] {
    Values results;
    for (int64_t n = 0; n < plan.batch; ++n) {
      Values x = inputVectors(source, n);
      for (const TileUse &use : c.uses)
        for (int64_t v = 0; v < plan.vectors; ++v) {
          Value sum = sums[n * each + use.output * plan.vectors + v];
          results.push_back(math::FmaOp::create(b, l.loc, x[v], weights[use.tap][v], sum));
        }
    }
    count(c.uses.size() * plan.batch);
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

Values VectorConv::inputVectors(Source source, int64_t n) {
  Value &batch = source.index[dimOf(op.getInputDims(), kBatch)];
  batch = l.add(batch, n);
  if (!plan.depthwise) {
    Value x = memref::LoadOp::create(b, l.loc, source.memref, source.index);
    return Values(plan.vectors, vector::BroadcastOp::create(b, l.loc, vectorType, l.convert(x, plan.accumulator)));
  }
  Value &first = source.index[dimOf(op.getInputDims(), kFeature)];
  Value block = first;
  Values vectors;
  for (int64_t v = 0; v < plan.vectors; ++v) {
    first = l.add(block, v * plan.lanes);
    vectors.push_back(loadVector(l, vectorType, source.memref, source.index, std::min(plan.lanes, plan.perGroup)));
  }
  return vectors;
}

Values VectorConv::loadWeights(Value f, ArrayRef<Value> taps, Value tap) {
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

void VectorConv::count(int64_t uses) {
  if (options.count && !countedColumns)
    CountOp::create(b, l.loc, l.mul(storedLanes, uses));
}
