// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The messages of a redistribution: box by box between any two cuts.
#include "LowerStart.h"
#include "ringconv/Halo/Mesh.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace ringconv;

namespace {

/// The box of a shard, as values: [begin, end) per dimension.
struct Box {
  SmallVector<Value> begin, end;
};

class RedistributeLowering {
public:
  RedistributeLowering(Indices &ix, RedistributeOp op) : ix(ix), op(op), type(cast<RankedTensorType>(op.getType())) {}

  /// Every rank q of the mesh in turn: what I own of what q wants goes to q,
  /// what q owns of what I want comes from q. Of the ranks that hold copies, a
  /// rank deals with the one that has its own coordinates on the axes that do
  /// not cut the source.
  void run() {
    Value self = ix.self();
    Box mine = boxOf(op.getFrom(), self), wanted = boxOf(op.getTo(), self);
    ix.repeat(ix.b.getIndexAttr(ix.mesh.size()), [&](Value q) {
      transfer(intersect(boxOf(op.getFrom(), q), wanted), wanted, op.getInit(), sameReplica(self, q),
               [&](Value box) { RecvOp::create(ix.b, ix.loc, box, q, ArrayRef<int64_t>()); });
      transfer(intersect(mine, boxOf(op.getTo(), q)), mine, op.getInput(), sameReplica(self, q),
               [&](Value box) { SendOp::create(ix.b, ix.loc, box, q); });
    });
  }

private:
  Value partOf(Value rank, ArrayRef<StringAttr> axes) {
    Value part = ix.constant(0);
    for (halo::Digit digit : halo::digitsOfPart(ix.mesh.getExtents().vec(), axisNumbers(ix.mesh, axes))) {
      Value q = arith::DivUIOp::create(ix.b, ix.loc, rank, ix.constant(digit.divisor));
      Value d = arith::RemUIOp::create(ix.b, ix.loc, q, ix.constant(digit.modulus));
      part = ix.add(part, ix.mul(d, ix.constant(digit.factor)));
    }
    return part;
  }

  Box boxOf(ShardingAttr sharding, Value rank) {
    Box box;
    for (auto [dim, size] : llvm::zip(sharding.getDims(), type.getShape())) {
      if (!dim.isCut()) {
        box.begin.push_back(ix.constant(0));
        box.end.push_back(ix.constant(size));
        continue;
      }
      halo::Cuts cuts = cutsOf(dim, size, ix.mesh);
      Value part = partOf(rank, dim.getAxes());
      auto bound = [&](auto first, auto last) {
        return ix.value(ix.lookup(part, makeTable(ix.b.getContext(), halo::Table::of({first, last}))));
      };
      box.begin.push_back(bound(cuts.bounds.begin(), cuts.bounds.end() - 1));
      box.end.push_back(bound(cuts.bounds.begin() + 1, cuts.bounds.end()));
    }
    return box;
  }

  Box intersect(const Box &a, const Box &b) {
    Box box;
    for (size_t d = 0; d < a.begin.size(); ++d) {
      box.begin.push_back(arith::MaxSIOp::create(ix.b, ix.loc, a.begin[d], b.begin[d]));
      box.end.push_back(arith::MinSIOp::create(ix.b, ix.loc, a.end[d], b.end[d]));
    }
    return box;
  }

  Value sameReplica(Value self, Value q) {
    SmallVector<StringAttr> others;
    for (StringAttr name : ix.mesh.getAxes())
      if (llvm::none_of(op.getFrom().getDims(),
                        [&](DimShardingAttr dim) { return llvm::is_contained(dim.getAxes(), name); }))
        others.push_back(name);
    if (others.empty())
      return {};
    return ix.compare(arith::CmpIPredicate::eq, partOf(self, others), partOf(q, others));
  }

  /// Makes the piece `box` of the shard `frame` in `memref`, if it is not empty.
  void transfer(const Box &box, const Box &frame, Value memref, Value condition, llvm::function_ref<void(Value)> make) {
    for (size_t d = 0; d < box.begin.size(); ++d)
      condition = ix.both(condition, ix.compare(arith::CmpIPredicate::slt, box.begin[d], box.end[d]));
    ix.when(condition, [&] {
      SmallVector<OpFoldResult> offsets, sizes, strides(box.begin.size(), ix.b.getIndexAttr(1));
      for (size_t d = 0; d < box.begin.size(); ++d) {
        offsets.push_back(ix.sub(box.begin[d], frame.begin[d]));
        sizes.push_back(ix.sub(box.end[d], box.begin[d]));
      }
      make(memref::SubViewOp::create(ix.b, ix.loc, memref, offsets, sizes, strides));
    });
  }

  Indices &ix;
  RedistributeOp op;
  RankedTensorType type;
};

} // namespace

void ringconv::lowerBoxes(Indices &ix, RedistributeOp op) { RedistributeLowering(ix, op).run(); }
