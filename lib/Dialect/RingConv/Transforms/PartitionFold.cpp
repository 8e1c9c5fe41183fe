// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Partitioner, ringconv.fold_border: an exchange in the reverse direction, and
// sums of slices. The arithmetic is in lib/Halo.
#include "Partitioner.h"
#include "ringconv/Halo/Fold.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace ringconv;

namespace {
/// A range of one dimension of a tensor, whole in the others.
struct Slab {
  SmallVector<OpFoldResult> offsets, sizes, strides;

  Slab(OpBuilder &b, Location loc, Value tensor, int64_t dim, OpFoldResult at, OpFoldResult size)
      : sizes(tensor::getMixedSizes(b, loc, tensor)) {
    offsets.assign(sizes.size(), b.getIndexAttr(0));
    strides.assign(sizes.size(), b.getIndexAttr(1));
    offsets[dim] = at;
    sizes[dim] = size;
  }
  Value of(OpBuilder &b, Location loc, Value tensor) {
    return tensor::ExtractSliceOp::create(b, loc, tensor, offsets, sizes, strides);
  }
};
} // namespace

/// to[..., t, ...] += from[..., t, ...], or of all from[..., e, ...] where the
/// part repeats: one loop more.
static Value addSlices(OpBuilder &b, Location loc, Value to, Value from, int64_t dim, bool repeat) {
  MLIRContext *ctx = b.getContext();
  int64_t rank = cast<RankedTensorType>(to.getType()).getRank();
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  AffineMap out = AffineMap::getMultiDimIdentityMap(rank + repeat, ctx).getMajorSubMap(rank), in = out;
  if (repeat) {
    iterators.push_back(utils::IteratorType::reduction);
    SmallVector<AffineExpr> exprs(out.getResults());
    exprs[dim] = getAffineDimExpr(rank, ctx);
    in = AffineMap::get(rank + 1, 0, exprs, ctx);
  }
  auto body = [](OpBuilder &b, Location loc, ValueRange args) {
    linalg::YieldOp::create(b, loc, arith::AddFOp::create(b, loc, args[1], args[0]).getResult());
  };
  return linalg::GenericOp::create(b, loc, to.getType(), from, to, ArrayRef<AffineMap>{in, out}, iterators, body)
      .getResult(0);
}

/// The own positions are the result as they are where they fill it; else the
/// rest of it, what padding cropped, is 0.
Value Partitioner::foldBorder(FoldBorderOp op, const Decision &decision, LocalBuilder &local) {
  Location loc = op.getLoc();
  int64_t dim = op.getDim();
  const WindowCut &cut = decision.windows[0];
  halo::FoldPlan plan = halo::planFold(op.getExtension(), cut.output);
  Value input = local.operands[0];
  SmallVector<Value> sides(3, input);
  if (plan.needsExchange()) {
    SmallVector<PieceAttr> pieces;
    for (const halo::Piece &piece : plan.pieces)
      pieces.push_back(makePiece(builder.getContext(), piece));
    auto dims = HaloDimAttr::get(builder.getContext(), dim, cut.axes, plan.low, plan.high, {}, pieces, {});
    SmallVector<Value> slabs = exchange(loc, input, dims, {});
    sides[size_t(halo::Side::Low)] = slabs[0];
    sides[size_t(halo::Side::High)] = slabs[1];
    emitRemark(loc) << "dim " << dim << ": " << plan.low << " low and " << plan.high
                    << " high elements from outside go to the elements they were read from";
  }
  auto number = [&](const halo::Table &table) { return lookup(cut.axes, table); };
  auto partOf = [&](const halo::FoldPart &part) {
    Value side = sides[size_t(part.side)];
    return Slab(builder, loc, side, dim, number(part.at), number(part.size)).of(builder, loc, side);
  };
  const halo::FoldPart &own = plan.parts.front();
  Value sum = partOf(own);
  bool cropped = op.getPad()[0] < 0 || op.getPad()[1] < 0;
  if (cropped) {
    Value zero = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(op.getType().getElementType()));
    Value zeros = linalg::FillOp::create(builder, loc, zero, local.empty()).getResult(0);
    Slab to(builder, loc, zeros, dim, number(own.to), number(own.size));
    sum = tensor::InsertSliceOp::create(builder, loc, sum, zeros, to.offsets, to.sizes, to.strides);
  }
  for (const halo::FoldPart &part : ArrayRef(plan.parts).drop_front()) {
    Slab to(builder, loc, sum, dim, number(part.to), number(part.targets));
    Value added = addSlices(builder, loc, to.of(builder, loc, sum), partOf(part), dim, part.repeat);
    sum = tensor::InsertSliceOp::create(builder, loc, added, sum, to.offsets, to.sizes, to.strides);
  }
  if (sum.getType() != local.results[0])
    sum = tensor::CastOp::create(builder, loc, local.results[0], sum);
  return sum;
}
