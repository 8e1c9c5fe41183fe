// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What several rules of ringconv-differentiate write.
#include "Differentiate.h"
#include "ringconv/Halo/Gradient.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace ringconv;
using utils::IteratorType;

SmallVector<int64_t> ringconv::swapLetters(ArrayRef<int64_t> numbers) {
  SmallVector<int64_t> swapped;
  for (int64_t n : numbers)
    swapped.push_back(n >= 0 ? n : kBatch + kFeature - n);
  return swapped;
}

Value ringconv::makeConstant(OpBuilder &b, Location loc, Type type, double value) {
  FloatAttr scalar = b.getFloatAttr(getElementTypeOrSelf(type), value);
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return arith::ConstantOp::create(b, loc, DenseElementsAttr::get(tensor, scalar));
  return arith::ConstantOp::create(b, loc, scalar);
}

Value ringconv::convertTo(OpBuilder &b, Location loc, Value value, Type element) {
  Type from = value.getType(), type = element;
  if (auto tensor = dyn_cast<RankedTensorType>(from))
    type = tensor.clone(element);
  unsigned width = getElementTypeOrSelf(from).getIntOrFloatBitWidth(), wanted = element.getIntOrFloatBitWidth();
  if (from == type)
    return value;
  if (width == wanted) // f16 and bf16
    return convertTo(b, loc, convertTo(b, loc, value, b.getF32Type()), element);
  if (width < wanted)
    return arith::ExtFOp::create(b, loc, type, value);
  return arith::TruncFOp::create(b, loc, type, value);
}

/// result[..., i, ...] = value[..., n - 1 - i, ...]
Value ringconv::reverseAlong(OpBuilder &builder, Location loc, Value value, ArrayRef<int64_t> dims) {
  if (dims.empty())
    return value;
  auto type = cast<RankedTensorType>(value.getType());
  MLIRContext *ctx = builder.getContext();
  AffineMap out = AffineMap::getMultiDimIdentityMap(type.getRank(), ctx);
  SmallVector<AffineExpr> exprs(out.getResults());
  for (int64_t d : dims)
    exprs[d] = type.getDimSize(d) - 1 - exprs[d];
  AffineMap in = AffineMap::get(type.getRank(), 0, exprs, ctx);
  Value empty = tensor::EmptyOp::create(builder, loc, type.getShape(), type.getElementType());
  auto body = [](OpBuilder &b, Location loc, ValueRange args) { linalg::YieldOp::create(b, loc, args[0]); };
  return linalg::GenericOp::create(builder, loc, type, value, empty, ArrayRef<AffineMap>{in, out},
                                   SmallVector<IteratorType>(type.getRank(), IteratorType::parallel), body)
      .getResult(0);
}

Value ringconv::sumAllBut(OpBuilder &builder, Location loc, Value value, int64_t kept) {
  auto type = cast<RankedTensorType>(value.getType());
  MLIRContext *ctx = builder.getContext();
  Type wide = accumulationType(type.getElementType());
  Value zeros = makeConstant(builder, loc, RankedTensorType::get({type.getDimSize(kept)}, wide), 0);
  SmallVector<IteratorType> iterators(type.getRank(), IteratorType::reduction);
  iterators[kept] = IteratorType::parallel;
  SmallVector<AffineMap> maps{AffineMap::getMultiDimIdentityMap(type.getRank(), ctx),
                              AffineMap::get(type.getRank(), 0, getAffineDimExpr(kept, ctx))};
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value sum = arith::AddFOp::create(b, loc, args[1], convertTo(b, loc, args[0], wide));
    linalg::YieldOp::create(b, loc, sum);
  };
  Value sum =
      linalg::GenericOp::create(builder, loc, zeros.getType(), value, zeros, maps, iterators, body).getResult(0);
  return convertTo(builder, loc, sum, type.getElementType());
}

/// Split `from` into (groups, rest), put the groups before `to`, merge both.
Value ringconv::moveGroups(OpBuilder &b, Location loc, Value value, int64_t from, int64_t to, int64_t groups) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t rank = type.getRank();
  SmallVector<int64_t> split, order, moved, merged(type.getShape());
  SmallVector<ReassociationIndices> splitting(rank), merging(rank);
  for (int64_t d = 0; d < rank; ++d) {
    if (d == from) {
      splitting[d].push_back(split.size());
      split.push_back(groups);
    }
    splitting[d].push_back(split.size());
    split.push_back(d == from ? type.getDimSize(d) / groups : type.getDimSize(d));
    if (d == to) {
      merging[d].push_back(order.size());
      order.push_back(from);
    }
    merging[d].push_back(order.size());
    order.push_back(d < from ? d : d + 1);
  }
  merged[from] /= groups;
  merged[to] *= groups;
  // Groups before the others of `to`: where `from` follows, its rest moved on.
  for (int64_t d : order)
    moved.push_back(split[d]);
  Type element = type.getElementType();
  Value parts = tensor::ExpandShapeOp::create(b, loc, RankedTensorType::get(split, element), value, splitting);
  Value empty = tensor::EmptyOp::create(b, loc, moved, element);
  Value permuted = linalg::TransposeOp::create(b, loc, parts, empty, order).getResult()[0];
  return tensor::CollapseShapeOp::create(b, loc, RankedTensorType::get(merged, element), permuted, merging);
}

Value ringconv::foldBorders(OpBuilder &b, Location loc, Value value, ArrayRef<halo::Window> windows,
                            ArrayRef<int64_t> dims) {
  for (auto [w, dim] : llvm::zip(windows, dims)) {
    if (!halo::mapsBorder(w))
      continue;
    auto type = cast<RankedTensorType>(value.getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[dim] -= w.padLow + w.padHigh;
    value = FoldBorderOp::create(b, loc, RankedTensorType::get(shape, type.getElementType()), value, dim,
                                 ArrayRef<int64_t>{w.padLow, w.padHigh}, int64_t(w.border));
  }
  return value;
}
