// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vectorised form of local convolutions.
//
//   for batch, group, block of output features, pass over the input features:
//     for the output rows:
//       for the tiles of output columns:
//         accumulators = bias, or the sums of the pass before
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
  prepareBorders();
  filter = packFilter(l, op, plan);
  if (plan.passes() > 1) {
    Values sizes;
    SmallVector<int64_t> shape;
    for (const DimValues &dim : dims) {
      sizes.push_back(dim.outputs);
      shape.push_back(ShapedType::kDynamic);
    }
    shape.push_back(plan.width());
    partial = memref::AllocOp::create(b, l.loc, MemRefType::get(shape, plan.accumulator), sizes,
                                      b.getI64IntegerAttr(64));
  }
  l.forLoop(
      l.constant(0), l.size(op.getInit(), yb()), {},
      [&](Value n, ValueRange) {
        forEach(plan.groups, [&](Value group) {
          enterGroup(n, group);
          computeGroup(group);
        });
        return Values();
      },
      plan.batch);
  if (partial)
    memref::DeallocOp::create(b, l.loc, partial);
  releaseFilter(l, filter);
  op.erase();
}

// ===--------------------------------------------------------------------=== //
// A block of output features
// ===--------------------------------------------------------------------=== //

void VectorConv::computeGroup(Value group) {
  if (plan.rows() == 0 && plan.columns.isStatic() && !partial)
    return stretches(group);
  forEach(plan.blocks(), [&](Value block) {
    enterBlock(group, block);
    forPasses([&] { rowLoops({}); });
  });
}

void VectorConv::enterBlock(Value group, Value block) {
  packedBlock = l.add(l.mul(group, plan.blocks()), block);
  feature = firstOutput(l, plan, group, block);
  if (plan.depthwise)
    firstFeature = feature;
  if (options.count) {
    Value left = l.sub(l.constant(plan.perGroup), l.mul(block, plan.width()));
    storedLanes = arith::MinSIOp::create(b, l.loc, left, l.constant(plan.width()));
  }
  start.clear();
  for (int64_t v = 0; v < plan.vectors; ++v)
    start.push_back(op.getBias() ? loadBias(v) : zeros());
}

void VectorConv::forPasses(llvm::function_ref<void()> body) {
  if (!partial)
    return body();
  l.forLoop(
      l.constant(0), l.constant(plan.features), {},
      [&](Value begin, ValueRange) {
        passBegin = begin;
        passEnd = arith::MinSIOp::create(b, l.loc, l.add(begin, plan.pass), l.constant(plan.features));
        isLastPass = l.equal(passEnd, l.constant(plan.features));
        body();
        return Values();
      },
      plan.pass);
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

bool ringconv::lowerToVectorLoops(LocalConvOp op, const LoopOptions &options) {
  std::string reason;
  swapOperands(op);
  std::optional<VectorPlan> plan = planVectorLoops(op, options, reason);
  if (!plan) {
    if (lowerToColumns(op, options, reason))
      return true;
    emitRemark(op.getLoc()) << "plain loops: " << reason;
    return false;
  }
  if (!plan->columns.isStatic())
    if (SmallVector<LocalConvOp> versions = specializeColumns(op); !versions.empty()) {
      for (LocalConvOp version : versions)
        if (!lowerToVectorLoops(version, options))
          lowerToPlainLoops(version, options);
      return true;
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
