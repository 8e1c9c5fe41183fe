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
  prepareBorders();
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

// ===--------------------------------------------------------------------=== //
// A block of output features
// ===--------------------------------------------------------------------=== //

void VectorConv::enterBlock(Value n, Value group, Value block) {
  enterGroup(n, group);
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

bool ringconv::lowerToVectorLoops(LocalConvOp op, const LoopOptions &options) {
  std::string reason;
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
