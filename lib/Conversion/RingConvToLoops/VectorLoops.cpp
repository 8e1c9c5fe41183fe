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
#include "VectorConv.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace ringconv;

void VectorConv::emit() {
  prepare();
  filter = packFilter(l, op, plan);
  forEach(l.size(op.getInit(), yb()), [&](Value n) {
    forEach(plan.groups, [&](Value group) {
      forEach(plan.blocks(), [&](Value block) {
        enterBlock(n, group, block);
        rowLoops({});
      });
    });
  });
  releaseFilter(l, filter);
  op.erase();
}

void VectorConv::forEach(Value count, llvm::function_ref<void(Value)> body) {
  l.forLoop(l.constant(0), count, {}, [&](Value i, ValueRange) {
    body(i);
    return Values();
  });
}

void VectorConv::forEach(int64_t count, llvm::function_ref<void(Value)> body) {
  if (count == 1)
    return body(l.constant(0));
  forEach(l.constant(count), body);
}

// ===--------------------------------------------------------------------=== //
// Before the loops
// ===--------------------------------------------------------------------=== //

void VectorConv::prepare() {
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
  prepareBorders();
}

int64_t VectorConv::haloOf(int64_t n) {
  auto it = llvm::find(op.getHaloDims(), plan.inputDims[n]);
  return it == op.getHaloDims().end() ? -1 : it - op.getHaloDims().begin();
}

void VectorConv::castSources() {
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

// ===--------------------------------------------------------------------=== //
// A block of output features
// ===--------------------------------------------------------------------=== //

void VectorConv::enterBlock(Value n, Value group, Value block) {
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

Value VectorConv::loadBias(int64_t v) {
  int64_t n = std::min(plan.lanes, plan.perGroup);
  return loadVector(l, vectorType, op.getBias(), l.add(feature, v * plan.lanes), n);
}

// ===--------------------------------------------------------------------=== //
// Rows
// ===--------------------------------------------------------------------=== //

void VectorConv::rowLoops(Values outputs) {
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

VectorConv::TapBounds VectorConv::tapBounds(int64_t n, Value output) {
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

bool VectorConv::isAlwaysValid(int64_t n) {
  Bounds outputs = boundsOf(dims[n].outputs);
  if (outputs.min != outputs.max)
    return false;
  Bounds offset = boundsOf(dims[n].offset), begin = boundsOf(dims[n].begin), end = boundsOf(dims[n].end);
  int64_t reach = (outputs.max - 1) * op.getStride()[n] + (plan.taps[n] - 1) * op.getRhsDilate()[n];
  return offset.min >= begin.max && offset.max + reach < end.min;
}

Values VectorConv::forTapRows(ArrayRef<TapBounds> bounds, Values taps, Values coords, ValueRange state,
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

// ===--------------------------------------------------------------------=== //
// Places of elements
// ===--------------------------------------------------------------------=== //

Source VectorConv::sourceOf(ArrayRef<Value> coords, std::optional<Segment> segment, Value inputFeature) {
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

void VectorConv::chooseSlab(Source &s, size_t i, size_t n, ArrayRef<Value> coords) {
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

bool ringconv::lowerToVectorLoops(LocalConvOp op, const LoopOptions &options) {
  std::string reason;
  std::optional<VectorPlan> plan = planVectorLoops(op, options, reason);
  if (!plan) {
    emitRemark(op.getLoc()) << "plain loops: " << reason;
    return false;
  }
  LocalConvOp flat = flattenPointwise(op);
  if (flat != op)
    plan = planVectorLoops(flat, options, reason);
  if (plan)
    VectorConv(flat, *plan, options).emit();
  else
    lowerToPlainLoops(flat, options);
  return true;
}
