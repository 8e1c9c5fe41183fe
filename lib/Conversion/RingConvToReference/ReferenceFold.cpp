// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv.fold_border from its definition: what stands outside the dimension,
// one position after the other, is added to the element that it was read from.
#include "Reference.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace ringconv;

/// The element that a border mode maps position q to, both counted from the
/// first of `n` elements.
static int64_t mapped(halo::Border border, int64_t q, int64_t n) {
  switch (border) {
  case halo::Border::Circular:
    return ((q % n) + n) % n;
  case halo::Border::Reflect:
    return q < 0 ? -q : q >= n ? 2 * n - 2 - q : q;
  case halo::Border::Replicate:
    return q < 0 ? 0 : q >= n ? n - 1 : q;
  case halo::Border::Zero:
    break;
  }
  return q;
}

namespace {
/// One-element ranges of a dimension, or longer ones.
struct Stretch {
  SmallVector<OpFoldResult> offsets, sizes, strides;
  Stretch(OpBuilder &b, ArrayRef<int64_t> shape, int64_t dim, int64_t at, int64_t size) {
    for (int64_t extent : shape) {
      offsets.push_back(b.getIndexAttr(0));
      sizes.push_back(b.getIndexAttr(extent));
      strides.push_back(b.getIndexAttr(1));
    }
    offsets[dim] = b.getIndexAttr(at);
    sizes[dim] = b.getIndexAttr(size);
  }
};
} // namespace

/// Elementwise: `out` + `in`, or `in` converted to the type of `out`.
static Value combine(OpBuilder &builder, Location loc, Value in, Value out,
                     llvm::function_ref<Value(OpBuilder &, ValueRange)> f) {
  int64_t rank = cast<RankedTensorType>(out.getType()).getRank();
  SmallVector<AffineMap> maps(2, AffineMap::getMultiDimIdentityMap(rank, builder.getContext()));
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) { linalg::YieldOp::create(b, loc, f(b, args)); };
  return linalg::GenericOp::create(builder, loc, out.getType(), in, out, maps,
                                   SmallVector<utils::IteratorType>(rank, utils::IteratorType::parallel), body)
      .getResult(0);
}

Value reference::lowerFold(OpBuilder &b, FoldBorderOp op) {
  Location loc = op.getLoc();
  int64_t dim = op.getDim(), low = op.getPad()[0], high = op.getPad()[1];
  Type wide = Float64Type::get(b.getContext()), type = op.getType().getElementType();
  ArrayRef<int64_t> shape = op.getType().getShape(), extended = op.getInput().getType().getShape();
  int64_t first = std::max<int64_t>(0, -low), end = shape[dim] - std::max<int64_t>(0, -high);
  Value from = combine(b, loc, op.getInput(), tensor::EmptyOp::create(b, loc, extended, wide),
                       [&](OpBuilder &b, ValueRange args) { return widen(b, loc, args[0]); });
  Value sum = filled(b, loc, shape, b.getF64FloatAttr(0.0));
  auto add = [&](int64_t at, int64_t to, int64_t size) {
    Stretch in(b, extended, dim, at, size), out(b, shape, dim, to, size);
    Value source = tensor::ExtractSliceOp::create(b, loc, from, in.offsets, in.sizes, in.strides);
    Value target = tensor::ExtractSliceOp::create(b, loc, sum, out.offsets, out.sizes, out.strides);
    Value added = combine(b, loc, source, target, [&](OpBuilder &b, ValueRange args) {
      return arith::AddFOp::create(b, loc, args[1], args[0]).getResult();
    });
    sum = tensor::InsertSliceOp::create(b, loc, added, sum, out.offsets, out.sizes, out.strides);
  };
  if (end > first)
    add(first + low, first, end - first);
  for (int64_t position = -low; position < shape[dim] + high; ++position)
    if (position < first || position >= end)
      add(position + low, first + mapped(halo::Border(op.getBorder()), position - first, end - first), 1);
  return combine(b, loc, sum, tensor::EmptyOp::create(b, loc, shape, type),
                 [&](OpBuilder &b, ValueRange args) { return roundTo(b, loc, args[0], type); });
}
