// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-merge-halos.
#include "ringconv/Dialect/RingConv/IR/RingConv.h"
#include "ringconv/Dialect/RingConv/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Dominance.h"

namespace ringconv {
#define GEN_PASS_DEF_MERGEHALOSPASS
#include "ringconv/Dialect/RingConv/Transforms/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

static WaitOp waitOf(StartOp start) {
  if (!start.getToken().hasOneUse())
    return {};
  return dyn_cast<WaitOp>(*start.getToken().user_begin());
}

/// The same slabs from the same messages; which outputs read them is another
/// matter.
static bool sameExchange(Attribute a, Attribute b) {
  auto withoutEdges = [](Attribute attr) {
    auto dim = cast<HaloDimAttr>(attr);
    return HaloDimAttr::get(dim.getContext(), dim.getDim(), dim.getAxes(), dim.getLow(), dim.getHigh(), {},
                            dim.getPieces(), dim.getFills());
  };
  return llvm::equal(cast<ArrayAttr>(a), cast<ArrayAttr>(b),
                     [&](Attribute x, Attribute y) { return withoutEdges(x) == withoutEdges(y); });
}

/// Where the slabs of `earlier` begin that hold all that `later` exchanges, of
/// one value; nothing if there are none.
static std::optional<size_t> findServed(StartOp earlier, StartOp later) {
  if (earlier.getMesh() != later.getMesh() || later.getInputs().size() != 1)
    return std::nullopt;
  size_t slab = 0;
  for (auto [input, dims] : llvm::zip(earlier.getInputs(), earlier.getDims())) {
    if (input == later.getInputs()[0] && sameExchange(dims, later.getDims()[0]))
      return slab;
    slab += countSlabs(cast<ArrayAttr>(dims));
  }
  return std::nullopt;
}

/// The slabs of `start` with all they need, if they can be made at `point`.
static bool hoistSlabs(StartOp start, Operation *point, DominanceInfo &dominance) {
  for (Value slab : start.getInits()) {
    auto empty = slab.getDefiningOp<tensor::EmptyOp>();
    if (!empty)
      return false;
    for (Value size : empty.getDynamicSizes())
      if (!dominance.properlyDominates(size, point))
        return false;
  }
  for (Value slab : start.getInits())
    if (!dominance.properlyDominates(slab, point))
      slab.getDefiningOp()->moveBefore(point);
  return true;
}

static DenseI64ArrayAttr joinReports(StartOp a, StartOp b) {
  SmallVector<int64_t> entries;
  for (StartOp start : {a, b})
    if (auto report = start.getReport())
      llvm::append_range(entries, *report);
  return DenseI64ArrayAttr::get(a.getContext(), entries);
}

template <typename Range> static SmallVector<Value> joinValues(Range a, Range b) {
  SmallVector<Value> values(a.begin(), a.end());
  values.append(b.begin(), b.end());
  return values;
}

/// One exchange of the inputs of both, at the place of `first`.
static StartOp merge(StartOp first, StartOp second) {
  WaitOp firstWait = waitOf(first), secondWait = waitOf(second);
  OpBuilder b(first);
  SmallVector<Value> inputs = joinValues(first.getInputs(), second.getInputs());
  SmallVector<Value> slabs = joinValues(first.getInits(), second.getInits());
  SmallVector<Attribute> dims(first.getDims().begin(), first.getDims().end());
  llvm::append_range(dims, second.getDims());
  SmallVector<Type> types(ValueRange(slabs).getTypes());
  auto start = StartOp::create(b, first.getLoc(), types, first.getToken().getType(), inputs, slabs,
                               first.getMeshAttr(), b.getArrayAttr(dims), joinReports(first, second));
  b.setInsertionPoint(firstWait);
  auto wait = WaitOp::create(b, firstWait.getLoc(), types, start.getToken(), inputs, start.getSlabs());
  size_t split = firstWait.getNumResults();
  firstWait.replaceAllUsesWith(wait.getResults().take_front(split));
  secondWait.replaceAllUsesWith(wait.getResults().drop_front(split));
  for (Operation *op : {firstWait.getOperation(), secondWait.getOperation(), first.getOperation(),
                        second.getOperation()})
    op->erase();
  return start;
}

namespace {
struct MergeHalosPass : ringconv::impl::MergeHalosPassBase<MergeHalosPass> {
  void runOnOperation() override {
    getOperation().walk([&](Block *block) { mergeIn(*block); });
  }

private:
  void mergeIn(Block &block) {
    SmallVector<StartOp> kept, starts(block.getOps<StartOp>());
    for (StartOp start : starts) {
      WaitOp wait = waitOf(start);
      if (!wait || wait->getBlock() != &block)
        continue;
      if (!join(start, wait, kept))
        kept.push_back(start);
    }
  }

  bool join(StartOp start, WaitOp wait, SmallVectorImpl<StartOp> &kept) {
    DominanceInfo dominance(getOperation());
    for (StartOp earlier : kept) {
      WaitOp earlierWait = waitOf(earlier);
      std::optional<size_t> slab = findServed(earlier, start);
      if (!slab || !dominance.properlyDominates(earlierWait, wait))
        continue;
      wait.replaceAllUsesWith(earlierWait.getResults().slice(*slab, wait.getNumResults()));
      wait.erase();
      start.erase();
      ++numShared;
      return true;
    }
    for (StartOp &earlier : kept) {
      bool ready = earlier.getMesh() == start.getMesh() && llvm::all_of(start.getInputs(), [&](Value input) {
                     return dominance.properlyDominates(input, earlier);
                   });
      if (!ready || !hoistSlabs(start, earlier, dominance))
        continue;
      earlier = merge(earlier, start);
      ++numMerged;
      return true;
    }
    return false;
  }
};
} // namespace
