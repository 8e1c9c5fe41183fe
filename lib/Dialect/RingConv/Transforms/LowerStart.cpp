// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-lower-start: exchanges on memrefs become groups of sends and
// receives.
//
// The pieces of an exchange in several dimensions are the products of the
// pieces of its dimensions. A product belongs to the slab of its HIGHEST
// dimension whose piece is not the rank's own:
//
//     dims 2 and 3          +------+-----------+------+
//     (H, then W)           |      |  low H    |      |
//                           | low  +-----------+ high |    the W slabs hold
//                           |  W   |  shard    |  W   |    the corners
//                           |      +-----------+      |
//                           |      |  high H   |      |
//                           +------+-----------+------+
#include "ringconv/Dialect/RingConv/IR/RingConv.h"
#include "ringconv/Dialect/RingConv/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ringconv {
#define GEN_PASS_DEF_LOWERSTARTPASS
#include "ringconv/Dialect/RingConv/Transforms/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

namespace {

/// Index arithmetic on mixed values, and the numbers of ranks.
struct Indices {
  OpBuilder &b;
  Location loc;
  FlatSymbolRefAttr meshName;
  MeshAttr mesh;

  Value value(OpFoldResult v) { return getValueOrCreateConstantIndexOp(b, loc, v); }
  Value constant(int64_t c) { return arith::ConstantIndexOp::create(b, loc, c); }
  Value coord(ArrayRef<StringAttr> axes) {
    return CoordOp::create(b, loc, meshName, b.getArrayAttr(SmallVector<Attribute>(axes.begin(), axes.end())));
  }
  OpFoldResult lookup(Value part, TableAttr table) {
    if (auto c = table.constant())
      return b.getIndexAttr(*c);
    return LookupOp::create(b, loc, part, table).getResult();
  }
  /// Rank number of part c along `axes`, all other coordinates 0.
  TableAttr rankTable(ArrayRef<StringAttr> axes) {
    SmallVector<int64_t> strides(mesh.getExtents().size(), 1);
    for (int64_t a = int64_t(strides.size()) - 2; a >= 0; --a)
      strides[a] = strides[a + 1] * mesh.getExtents()[a + 1];
    std::vector<int64_t> ranks(mesh.parts(axes));
    for (int64_t c = 0; c < int64_t(ranks.size()); ++c) {
      int64_t rest = c;
      for (StringAttr name : llvm::reverse(axes)) {
        int64_t a = mesh.axisIndex(name.getValue());
        ranks[c] += rest % mesh.getExtents()[a] * strides[a];
        rest /= mesh.getExtents()[a];
      }
    }
    return makeTable(b.getContext(), halo::Table::of(ranks));
  }
  Value self() { return coord(mesh.getAxes()); }
};

/// One exchange: a shard, its slabs, its dimensions.
struct Exchange {
  Value shard;
  SmallVector<Value> slabs;
  SmallVector<HaloDimAttr> dims;
};

class ExchangeLowering {
public:
  ExchangeLowering(Indices &ix, Exchange &exchange) : ix(ix), exchange(exchange) {
    for (HaloDimAttr dim : exchange.dims) {
      parts.push_back(ix.coord(dim.getAxes()));
      rankOf.push_back(ix.rankTable(dim.getAxes()));
    }
    self = ix.self();
    some = hasElements();
  }

  void run() {
    SmallVector<PieceAttr> chosen;
    visit(chosen);
  }

private:
  void visit(SmallVectorImpl<PieceAttr> &chosen) {
    if (chosen.size() < exchange.dims.size()) {
      for (PieceAttr piece : exchange.dims[chosen.size()].getPieces()) {
        chosen.push_back(piece);
        visit(chosen);
        chosen.pop_back();
      }
      return;
    }
    int64_t top = chosen.size() - 1;
    while (top >= 0 && chosen[top].getSide() == int64_t(halo::Side::Own))
      --top;
    if (top < 0)
      return;
    recv(chosen, top);
    send(chosen);
  }

  using TableOf = TableAttr (PieceAttr::*)() const;

  /// Whether the shard has elements in the dimensions that are not exchanged
  /// (null: always). Ranks that exchange have the same part of those, so both
  /// ends of a message agree that it does not exist.
  Value hasElements() {
    Value condition;
    auto type = cast<MemRefType>(exchange.shard.getType());
    for (int64_t d = 0; d < type.getRank(); ++d) {
      bool exchanged = llvm::any_of(exchange.dims, [&](HaloDimAttr dim) { return dim.getDim() == d; });
      if (exchanged || (!type.isDynamicDim(d) && type.getDimSize(d) > 0))
        continue;
      Value size = ix.value(memref::getMixedSize(ix.b, ix.loc, exchange.shard, d));
      Value there = arith::CmpIOp::create(ix.b, ix.loc, arith::CmpIPredicate::sgt, size, ix.constant(0));
      condition = condition ? arith::AndIOp::create(ix.b, ix.loc, condition, there).getResult() : there;
    }
    return condition;
  }

  /// Rank of the peer; `exists` is the condition that there is one and
  /// something to exchange with it (null: always).
  Value peer(ArrayRef<PieceAttr> chosen, TableOf peerTable, Value &exists) {
    Value rank = self;
    exists = some;
    for (auto [i, piece] : llvm::enumerate(chosen)) {
      TableAttr table = (piece.*peerTable)();
      OpFoldResult part = ix.lookup(parts[i], table);
      bool isSelf = table.getRuns() == ArrayRef<int64_t>({0, 0, 1});
      if (mayBeMissing(table, exchange.dims[i])) {
        Value there = arith::CmpIOp::create(ix.b, ix.loc, arith::CmpIPredicate::sge, ix.value(part), ix.constant(0));
        exists = exists ? arith::AndIOp::create(ix.b, ix.loc, exists, there).getResult() : there;
      }
      if (isSelf || exchange.dims[i].getAxes().empty())
        continue;
      Value there = ix.value(ix.lookup(ix.value(part), rankOf[i])), here = ix.value(ix.lookup(parts[i], rankOf[i]));
      rank = arith::AddIOp::create(ix.b, ix.loc, rank, arith::SubIOp::create(ix.b, ix.loc, there, here));
    }
    return rank;
  }

  bool mayBeMissing(TableAttr table, HaloDimAttr dim) {
    int64_t n = ix.mesh.parts(dim.getAxes());
    ArrayRef<int64_t> runs = table.getRuns();
    for (size_t i = 0; i < runs.size(); i += 3) {
      int64_t last = (i + 3 < runs.size() ? runs[i + 3] : n) - 1;
      if (table.at(runs[i]) < 0 || table.at(last) < 0)
        return true;
    }
    return false;
  }

  /// `body` under the condition, if there is one.
  void when(Value exists, llvm::function_ref<void()> body) {
    if (!exists)
      return body();
    auto branch = scf::IfOp::create(ix.b, ix.loc, exists, false);
    OpBuilder::InsertionGuard guard(ix.b);
    ix.b.setInsertionPointToStart(branch.thenBlock());
    body();
  }

  Value box(Value memref, ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes) {
    SmallVector<OpFoldResult> strides(offsets.size(), ix.b.getIndexAttr(1));
    return memref::SubViewOp::create(ix.b, ix.loc, memref, offsets, sizes, strides);
  }

  void wholeBox(Value memref, SmallVectorImpl<OpFoldResult> &offsets, SmallVectorImpl<OpFoldResult> &sizes) {
    sizes = memref::getMixedSizes(ix.b, ix.loc, memref);
    offsets.assign(sizes.size(), ix.b.getIndexAttr(0));
  }

  void recv(ArrayRef<PieceAttr> chosen, int64_t top) {
    Value exists, rank = peer(chosen, &PieceAttr::getRecvPeer, exists);
    when(exists, [&] {
      Value slab = exchange.slabs[2 * top + (chosen[top].getSide() == int64_t(halo::Side::High))];
      SmallVector<OpFoldResult> offsets, sizes;
      wholeBox(slab, offsets, sizes);
      SmallVector<int64_t> reverse, repeat;
      for (auto [i, piece] : llvm::enumerate(chosen)) {
        int64_t d = exchange.dims[i].getDim();
        offsets[d] = ix.lookup(parts[i], int64_t(i) < top ? piece.getRecvExtended() : piece.getRecvAt());
        sizes[d] = ix.lookup(parts[i], piece.getRecvSize());
        if (piece.getFill() == int64_t(halo::Fill::Reverse))
          reverse.push_back(d);
        if (piece.getFill() == int64_t(halo::Fill::Repeat))
          repeat.push_back(d);
      }
      RecvOp::create(ix.b, ix.loc, box(slab, offsets, sizes), rank, reverse, repeat);
    });
  }

  void send(ArrayRef<PieceAttr> chosen) {
    Value exists, rank = peer(chosen, &PieceAttr::getSendPeer, exists);
    when(exists, [&] {
      SmallVector<OpFoldResult> offsets, sizes;
      wholeBox(exchange.shard, offsets, sizes);
      for (auto [i, piece] : llvm::enumerate(chosen)) {
        int64_t d = exchange.dims[i].getDim();
        offsets[d] = ix.lookup(parts[i], piece.getSendAt());
        sizes[d] = ix.lookup(parts[i], piece.getSendSize());
      }
      SendOp::create(ix.b, ix.loc, box(exchange.shard, offsets, sizes), rank);
    });
  }

  Indices &ix;
  Exchange &exchange;
  SmallVector<Value> parts;
  SmallVector<TableAttr> rankOf;
  Value self, some;
};

void lowerStart(StartOp op) {
  OpBuilder b(op);
  auto group = GroupOp::create(b, op.getLoc(), TokenType::get(op.getContext()), op.getReportAttr());
  b.setInsertionPointToStart(&group.getBody().emplaceBlock());
  Indices ix{b, op.getLoc(), op.getMeshAttr(), lookupMesh(op, op.getMeshAttr()).getMesh()};
  auto slab = op.getInits().begin();
  for (auto [input, dims] : llvm::zip(op.getInputs(), op.getDims())) {
    Exchange exchange{input, {}, {}};
    for (auto dim : cast<ArrayAttr>(dims).getAsRange<HaloDimAttr>()) {
      exchange.dims.push_back(dim);
      exchange.slabs.push_back(*slab++);
      exchange.slabs.push_back(*slab++);
    }
    ExchangeLowering(ix, exchange).run();
  }
  op.getToken().replaceAllUsesWith(group.getToken());
  op.erase();
}

// ===--------------------------------------------------------------------=== //
// redistribute
// ===--------------------------------------------------------------------=== //

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
    auto loop = scf::ForOp::create(ix.b, ix.loc, ix.constant(0), ix.constant(ix.mesh.size()), ix.constant(1));
    OpBuilder::InsertionGuard guard(ix.b);
    ix.b.setInsertionPointToStart(loop.getBody());
    Value q = loop.getInductionVar();
    transfer(intersect(boxOf(op.getFrom(), q), wanted), wanted, op.getInit(), sameReplica(self, q), [&](Value box) {
      RecvOp::create(ix.b, ix.loc, box, q, ArrayRef<int64_t>(), ArrayRef<int64_t>());
    });
    transfer(intersect(mine, boxOf(op.getTo(), q)), mine, op.getInput(), sameReplica(self, q),
             [&](Value box) { SendOp::create(ix.b, ix.loc, box, q); });
  }

private:
  Value coordOf(Value rank, int64_t axis) {
    int64_t stride = 1;
    for (size_t a = axis + 1; a < ix.mesh.getExtents().size(); ++a)
      stride *= ix.mesh.getExtents()[a];
    Value q = arith::DivUIOp::create(ix.b, ix.loc, rank, ix.constant(stride));
    return arith::RemUIOp::create(ix.b, ix.loc, q, ix.constant(ix.mesh.getExtents()[axis]));
  }

  Value partOf(Value rank, ArrayRef<StringAttr> axes) {
    Value part = ix.constant(0);
    for (StringAttr name : axes) {
      int64_t axis = ix.mesh.axisIndex(name.getValue());
      part = arith::MulIOp::create(ix.b, ix.loc, part, ix.constant(ix.mesh.getExtents()[axis]));
      part = arith::AddIOp::create(ix.b, ix.loc, part, coordOf(rank, axis));
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
    Value same;
    for (size_t axis = 0; axis < ix.mesh.getAxes().size(); ++axis) {
      StringAttr name = ix.mesh.getAxes()[axis];
      bool cuts = llvm::any_of(op.getFrom().getDims(),
                               [&](DimShardingAttr dim) { return llvm::is_contained(dim.getAxes(), name); });
      if (cuts)
        continue;
      Value equal = arith::CmpIOp::create(ix.b, ix.loc, arith::CmpIPredicate::eq, coordOf(self, axis),
                                          coordOf(q, axis));
      same = same ? arith::AndIOp::create(ix.b, ix.loc, same, equal).getResult() : equal;
    }
    return same;
  }

  /// Makes the piece `box` of the shard `frame` in `memref`, if it is not empty.
  void transfer(const Box &box, const Box &frame, Value memref, Value condition,
                llvm::function_ref<void(Value)> make) {
    for (size_t d = 0; d < box.begin.size(); ++d) {
      Value some = arith::CmpIOp::create(ix.b, ix.loc, arith::CmpIPredicate::slt, box.begin[d], box.end[d]);
      condition = condition ? arith::AndIOp::create(ix.b, ix.loc, condition, some).getResult() : some;
    }
    if (!condition)
      condition = arith::ConstantIntOp::create(ix.b, ix.loc, 1, 1);
    auto branch = scf::IfOp::create(ix.b, ix.loc, condition, false);
    OpBuilder::InsertionGuard guard(ix.b);
    ix.b.setInsertionPointToStart(branch.thenBlock());
    SmallVector<OpFoldResult> offsets, sizes, strides(box.begin.size(), ix.b.getIndexAttr(1));
    for (size_t d = 0; d < box.begin.size(); ++d) {
      offsets.push_back(arith::SubIOp::create(ix.b, ix.loc, box.begin[d], frame.begin[d]).getResult());
      sizes.push_back(arith::SubIOp::create(ix.b, ix.loc, box.end[d], box.begin[d]).getResult());
    }
    make(memref::SubViewOp::create(ix.b, ix.loc, memref, offsets, sizes, strides));
  }

  Indices &ix;
  RedistributeOp op;
  RankedTensorType type;
};

void lowerRedistribute(RedistributeOp op) {
  OpBuilder b(op);
  auto group = GroupOp::create(b, op.getLoc(), TokenType::get(op.getContext()), DenseI64ArrayAttr());
  WaitOp::create(b, op.getLoc(), TypeRange(), group.getToken(), op.getInput(), op.getInit());
  b.setInsertionPointToStart(&group.getBody().emplaceBlock());
  FlatSymbolRefAttr mesh = op.getFrom().getMesh();
  Indices ix{b, op.getLoc(), mesh, lookupMesh(op, mesh).getMesh()};
  RedistributeLowering(ix, op).run();
  op.erase();
}

struct LowerStartPass : ringconv::impl::LowerStartPassBase<LowerStartPass> {
  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (auto start = dyn_cast<StartOp>(op))
        lowerStart(start);
      else if (auto redistribute = dyn_cast<RedistributeOp>(op))
        lowerRedistribute(redistribute);
    });
  }
};

} // namespace
