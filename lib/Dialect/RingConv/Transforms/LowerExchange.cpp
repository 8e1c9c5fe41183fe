// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One exchange on memrefs: its messages, and the copies after them.
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
//
// Pieces of one side are loops over constant tables, so that their number makes
// no code.
#include "LowerStart.h"
#include "ringconv/Halo/Mesh.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace ringconv;

namespace {

/// A dimension of an exchange: its slabs (null: none) and this rank's part.
struct Dim {
  HaloDimAttr attr;
  Value low, high, part;
  TableAttr rankOf; ///< rank number of a part, all other coordinates 0
};

/// Pieces or fills that are alike but for their tables; the counter of a loop
/// says which of them is meant (null: there is one).
template <typename Attr> struct Batch {
  ArrayRef<Attr> members;
  Value counter = {};
};

template <typename Attr> SmallVector<Batch<Attr>> batchesOf(ArrayRef<Attr> all) {
  SmallVector<Batch<Attr>> batches;
  while (!all.empty()) {
    ArrayRef<Attr> alike = all.take_while([&](Attr attr) { return attr.isLike(all.front()); });
    batches.push_back({alike});
    all = all.drop_front(alike.size());
  }
  return batches;
}

bool isOwn(PieceAttr piece) { return piece.getSide() == int64_t(halo::Side::Own); }

TableAttr rankTable(MeshAttr mesh, ArrayRef<StringAttr> axes) {
  std::vector<int64_t> ranks;
  for (int64_t part = 0; part < mesh.parts(axes); ++part)
    ranks.push_back(halo::rankAt(mesh.getExtents().vec(), axisNumbers(mesh, axes), 0, part));
  return makeTable(mesh.getContext(), halo::Table::of(ranks));
}

class ExchangeLowering {
public:
  ExchangeLowering(Indices &ix, Value shard, ArrayRef<HaloDimAttr> attrs, ArrayRef<Value> slabs)
      : ix(ix), shard(shard) {
    for (HaloDimAttr attr : attrs) {
      Dim dim{attr, {}, {}, {}, rankTable(ix.mesh, attr.getAxes())};
      if (attr.hasSlabs()) {
        dim.low = slabs[0];
        dim.high = slabs[1];
        slabs = slabs.drop_front(2);
      }
      dims.push_back(dim);
    }
  }

  void clearSlabs();
  void makeMessages();
  void makeFills();

private:
  // Messages.
  using Pieces = Batch<PieceAttr>;
  void visit(SmallVectorImpl<Pieces> &chosen);
  void forEachPiece(MutableArrayRef<Pieces> chosen, size_t i, llvm::function_ref<void()> body);
  Value hasElements();
  Value peer(ArrayRef<Pieces> chosen, TableAttr (PieceAttr::*table)() const, Value &exists);
  bool mayBeMissing(const Pieces &pieces, TableAttr (PieceAttr::*table)() const, HaloDimAttr dim);
  void recv(ArrayRef<Pieces> chosen, size_t top);
  void send(ArrayRef<Pieces> chosen);

  // Copies.
  struct Source {
    Value memref;
    OpFoldResult at;
  };
  void fill(size_t i, const Batch<FillAttr> &fills);
  void fillFromOwn(size_t i, Value slab, const Batch<FillAttr> &fills);
  void copy(size_t i, const Batch<FillAttr> &fills, Value to, SmallVector<OpFoldResult> offsets, OpFoldResult at,
            Source from);

  void findParts() {
    for (Dim &dim : dims)
      dim.part = ix.coord(dim.attr.getAxes());
  }
  template <typename Attr>
  OpFoldResult number(const Dim &dim, const Batch<Attr> &batch, TableAttr (Attr::*table)() const);
  Value box(Value memref, ArrayRef<OpFoldResult> offsets, ArrayRef<OpFoldResult> sizes,
            ArrayRef<OpFoldResult> strides) {
    return memref::SubViewOp::create(ix.b, ix.loc, memref, offsets, sizes, strides);
  }
  SmallVector<OpFoldResult> all(int64_t value) {
    return SmallVector<OpFoldResult>(cast<MemRefType>(shard.getType()).getRank(), ix.b.getIndexAttr(value));
  }
  SmallVector<OpFoldResult> sizesOf(Value memref) { return memref::getMixedSizes(ix.b, ix.loc, memref); }

  Indices &ix;
  Value shard;
  SmallVector<Dim> dims;
  Value self, some;
};

/// The number of this rank's part; of several members those of the one that
/// the counter says stand in one table, one after the other.
template <typename Attr>
OpFoldResult ExchangeLowering::number(const Dim &dim, const Batch<Attr> &batch, TableAttr (Attr::*table)() const) {
  if (!batch.counter)
    return ix.lookup(dim.part, (batch.members[0].*table)());
  int64_t parts = ix.mesh.parts(dim.attr.getAxes());
  std::vector<int64_t> values;
  for (Attr member : batch.members)
    for (int64_t c = 0; c < parts; ++c)
      values.push_back((member.*table)().at(c));
  Value row = ix.add(ix.mul(batch.counter, ix.constant(parts)), dim.part);
  return ix.lookup(row, makeTable(ix.b.getContext(), halo::Table::of(values)));
}

// ===--------------------------------------------------------------------=== //
// Messages
// ===--------------------------------------------------------------------=== //

void ExchangeLowering::makeMessages() {
  findParts();
  self = ix.self();
  some = hasElements();
  SmallVector<Pieces> chosen;
  visit(chosen);
}

/// Both ends of a message go through the products in this order.
void ExchangeLowering::visit(SmallVectorImpl<Pieces> &chosen) {
  if (chosen.size() < dims.size()) {
    for (const Pieces &pieces : batchesOf(dims[chosen.size()].attr.getPieces())) {
      chosen.push_back(pieces);
      visit(chosen);
      chosen.pop_back();
    }
    return;
  }
  int64_t top = chosen.size() - 1;
  while (top >= 0 && isOwn(chosen[top].members[0]))
    --top;
  if (top < 0)
    return;
  SmallVector<Pieces> pieces(chosen.begin(), chosen.end());
  forEachPiece(pieces, 0, [&] {
    recv(pieces, top);
    send(pieces);
  });
}

void ExchangeLowering::forEachPiece(MutableArrayRef<Pieces> chosen, size_t i, llvm::function_ref<void()> body) {
  if (i == chosen.size())
    return body();
  if (chosen[i].members.size() == 1)
    return forEachPiece(chosen, i + 1, body);
  ix.repeat(ix.b.getIndexAttr(chosen[i].members.size()), [&](Value counter) {
    chosen[i].counter = counter;
    forEachPiece(chosen, i + 1, body);
  });
}

/// Whether the shard has elements in the dimensions that are not exchanged
/// (null: always). Ranks that exchange have the same part of those, so both
/// ends of a message agree that it does not exist.
Value ExchangeLowering::hasElements() {
  Value condition;
  auto type = cast<MemRefType>(shard.getType());
  for (int64_t d = 0; d < type.getRank(); ++d) {
    bool exchanged = llvm::any_of(dims, [&](const Dim &dim) { return dim.attr.getDim() == d; });
    if (exchanged || (!type.isDynamicDim(d) && type.getDimSize(d) > 0))
      continue;
    Value size = ix.value(memref::getMixedSize(ix.b, ix.loc, shard, d));
    condition = ix.both(condition, ix.compare(arith::CmpIPredicate::sgt, size, ix.constant(0)));
  }
  return condition;
}

/// Rank of the peer; `exists` is the condition that there is one and something
/// to exchange with it (null: always).
Value ExchangeLowering::peer(ArrayRef<Pieces> chosen, TableAttr (PieceAttr::*table)() const, Value &exists) {
  Value rank = self;
  exists = some;
  for (auto [dim, pieces] : llvm::zip(dims, chosen)) {
    OpFoldResult part = number(dim, pieces, table);
    if (mayBeMissing(pieces, table, dim.attr))
      exists = ix.both(exists, ix.compare(arith::CmpIPredicate::sge, ix.value(part), ix.constant(0)));
    if (isOwn(pieces.members[0]) || dim.attr.getAxes().empty())
      continue;
    Value there = ix.value(ix.lookup(ix.value(part), dim.rankOf)), here = ix.value(ix.lookup(dim.part, dim.rankOf));
    rank = ix.add(rank, ix.sub(there, here));
  }
  return rank;
}

bool ExchangeLowering::mayBeMissing(const Pieces &pieces, TableAttr (PieceAttr::*table)() const, HaloDimAttr dim) {
  int64_t parts = ix.mesh.parts(dim.getAxes());
  return llvm::any_of(pieces.members, [&](PieceAttr piece) {
    ArrayRef<int64_t> runs = (piece.*table)().getRuns();
    for (size_t i = 0; i < runs.size(); i += 3) {
      int64_t last = (i + 3 < runs.size() ? runs[i + 3] : parts) - 1;
      if ((piece.*table)().at(runs[i]) < 0 || (piece.*table)().at(last) < 0)
        return true;
    }
    return false;
  });
}

void ExchangeLowering::recv(ArrayRef<Pieces> chosen, size_t top) {
  Value exists, rank = peer(chosen, &PieceAttr::getRecvPeer, exists);
  ix.when(exists, [&] {
    bool low = chosen[top].members[0].getSide() == int64_t(halo::Side::Low);
    Value slab = low ? dims[top].low : dims[top].high;
    SmallVector<OpFoldResult> offsets = all(0), sizes = sizesOf(slab), strides = all(1);
    SmallVector<int64_t> reverse;
    for (auto [i, pieces] : llvm::enumerate(chosen)) {
      int64_t d = dims[i].attr.getDim();
      // Slabs are extended in earlier dimensions.
      offsets[d] = number(dims[i], pieces, i < top ? &PieceAttr::getRecvExtended : &PieceAttr::getRecvAt);
      sizes[d] = number(dims[i], pieces, &PieceAttr::getRecvSize);
      strides[d] = ix.b.getIndexAttr(pieces.members[0].getStep());
      if (pieces.members[0].getReverse())
        reverse.push_back(d);
    }
    RecvOp::create(ix.b, ix.loc, box(slab, offsets, sizes, strides), rank, reverse);
  });
}

void ExchangeLowering::send(ArrayRef<Pieces> chosen) {
  Value exists, rank = peer(chosen, &PieceAttr::getSendPeer, exists);
  ix.when(exists, [&] {
    SmallVector<OpFoldResult> offsets = all(0), sizes = sizesOf(shard), strides = all(1);
    for (auto [dim, pieces] : llvm::zip(dims, chosen)) {
      int64_t d = dim.attr.getDim();
      offsets[d] = number(dim, pieces, &PieceAttr::getSendAt);
      sizes[d] = number(dim, pieces, &PieceAttr::getSendSize);
      strides[d] = ix.b.getIndexAttr(pieces.members[0].getStep());
    }
    SendOp::create(ix.b, ix.loc, box(shard, offsets, sizes, strides), rank);
  });
}

// ===--------------------------------------------------------------------=== //
// Copies
// ===--------------------------------------------------------------------=== //

/// Copies take along all that stands beside, also what no message fills because
/// no window reads it: that is 0.
void ExchangeLowering::clearSlabs() {
  bool anyFill = llvm::any_of(dims, [](const Dim &dim) { return !dim.attr.getFills().empty(); });
  if (!anyFill || dims.size() < 2)
    return;
  Value zero = arith::ConstantOp::create(
      ix.b, ix.loc, ix.b.getZeroAttr(cast<MemRefType>(shard.getType()).getElementType()));
  for (const Dim &dim : dims)
    for (auto [slab, size] : {std::pair(dim.low, dim.attr.getLow()), std::pair(dim.high, dim.attr.getHigh())})
      if (size > 0)
        linalg::FillOp::create(ix.b, ix.loc, zero, slab);
}

/// Dimension by dimension: what is copied along one has been completed along
/// the earlier ones, and is what later ones copy.
void ExchangeLowering::makeFills() {
  if (llvm::all_of(dims, [](const Dim &dim) { return dim.attr.getFills().empty(); }))
    return;
  findParts();
  for (size_t i = 0; i < dims.size(); ++i)
    for (Batch<FillAttr> fills : batchesOf(dims[i].attr.getFills())) {
      if (fills.members.size() == 1) {
        fill(i, fills);
        continue;
      }
      ix.repeat(ix.b.getIndexAttr(fills.members.size()), [&](Value counter) {
        fills.counter = counter;
        fill(i, fills);
      });
    }
}

/// Later slabs are extended in this dimension: the copy lies within them. The
/// slabs of the dimension itself have the own range in later ones.
void ExchangeLowering::fill(size_t i, const Batch<FillAttr> &fills) {
  const Dim &dim = dims[i];
  for (const Dim &later : ArrayRef(dims).drop_front(i + 1))
    for (auto [slab, size] : {std::pair(later.low, later.attr.getLow()), std::pair(later.high, later.attr.getHigh())})
      if (size > 0)
        copy(i, fills, slab, all(0), number(dim, fills, &FillAttr::getExtended),
             {slab, number(dim, fills, &FillAttr::getFromExtended)});
  auto slabOf = [&](int64_t side) { return side == int64_t(halo::Side::Low) ? dim.low : dim.high; };
  int64_t from = fills.members[0].getFrom();
  Value slab = slabOf(fills.members[0].getSide());
  if (from == int64_t(halo::Side::Own))
    return fillFromOwn(i, slab, fills);
  copy(i, fills, slab, all(0), number(dim, fills, &FillAttr::getAt),
       {slabOf(from), number(dim, fills, &FillAttr::getFromAt)});
}

/// What has the shard's range in this dimension: the shard, and the slabs of
/// earlier dimensions around it.
void ExchangeLowering::fillFromOwn(size_t i, Value slab, const Batch<FillAttr> &fills) {
  OpFoldResult at = number(dims[i], fills, &FillAttr::getAt), fromAt = number(dims[i], fills, &FillAttr::getFromAt);
  SmallVector<OpFoldResult> beside = all(0);
  for (size_t e = i; e-- > 0;) {
    const Dim &dim = dims[e];
    if (!dim.attr.hasSlabs())
      continue;
    int64_t d = dim.attr.getDim();
    SmallVector<OpFoldResult> above = beside;
    Value own = ix.value(memref::getMixedSize(ix.b, ix.loc, shard, d));
    above[d] = ix.add(own, ix.constant(dim.attr.getLow()));
    if (dim.attr.getLow() > 0)
      copy(i, fills, slab, beside, at, {dim.low, fromAt});
    if (dim.attr.getHigh() > 0)
      copy(i, fills, slab, above, at, {dim.high, fromAt});
    beside[d] = ix.b.getIndexAttr(dim.attr.getLow());
  }
  copy(i, fills, slab, beside, at, {shard, fromAt});
}

/// All of the source beside dimension i, to `offsets`.
void ExchangeLowering::copy(size_t i, const Batch<FillAttr> &fills, Value to, SmallVector<OpFoldResult> offsets,
                            OpFoldResult at, Source from) {
  FillAttr like = fills.members[0];
  int64_t d = dims[i].attr.getDim();
  OpFoldResult count = number(dims[i], fills, &FillAttr::getSize);
  SmallVector<OpFoldResult> sizes = sizesOf(from.memref), fromOffsets = all(0), strides = all(1);
  auto make = [&](OpFoldResult at, OpFoldResult fromAt, OpFoldResult size) {
    offsets[d] = at;
    fromOffsets[d] = fromAt;
    sizes[d] = size;
    Value source = box(from.memref, fromOffsets, sizes, strides), target = box(to, offsets, sizes, strides);
    memref::CopyOp::create(ix.b, ix.loc, source, target);
  };
  if (like.isBox()) {
    strides[d] = ix.b.getIndexAttr(like.getStep());
    return make(at, from.at, count);
  }
  ix.repeat(count, [&](Value j) {
    auto place = [&](OpFoldResult first, int64_t step) -> OpFoldResult {
      return ix.add(ix.value(first), ix.mul(j, ix.constant(step)));
    };
    make(place(at, like.getStep()), place(from.at, like.getFromStep()), ix.b.getIndexAttr(1));
  });
}

} // namespace

void ringconv::lowerExchange(Indices &ix, Value shard, ArrayRef<HaloDimAttr> dims, ArrayRef<Value> slabs,
                             Operation *wait) {
  ExchangeLowering lowering(ix, shard, dims, slabs);
  lowering.makeMessages();
  OpBuilder::InsertionGuard guard(ix.b);
  ix.b.setInsertionPoint(ix.b.getInsertionBlock()->getParentOp());
  lowering.clearSlabs();
  ix.b.setInsertionPointAfter(wait);
  lowering.makeFills();
}
