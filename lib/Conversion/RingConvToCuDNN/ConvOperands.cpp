// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ConvOperands.h"
#include "../RingConvToGPU/HostNumbers.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/AffineMap.h"

using namespace mlir;
using namespace ringconv;

/// Elements from the first that any output reads to the last; a rank may have no
/// outputs.
static OpFoldResult extentRead(HostNumbers &h, const ConvDim &dim) {
  OpFoldResult extent = h.add(h.mul(h.add(dim.outputs, -1), dim.stride), (dim.taps - 1) * dim.dilation + 1);
  return getConstantIntValue(dim.outputs) ? extent : h.max(extent, h.constant(0));
}

static Value allocate(OpBuilder &b, Location loc, ArrayRef<OpFoldResult> sizes, Type element) {
  SmallVector<Value> dynamic;
  SmallVector<int64_t> shape;
  dispatchIndexOpFoldResults(sizes, dynamic, shape);
  return memref::AllocOp::create(b, loc, MemRefType::get(shape, element), dynamic);
}

static Value view(OpBuilder &b, Location loc, Value memref, ArrayRef<OpFoldResult> offsets,
                  ArrayRef<OpFoldResult> sizes) {
  SmallVector<OpFoldResult> ones(sizes.size(), b.getIndexAttr(1));
  return memref::SubViewOp::create(b, loc, memref, offsets, sizes, ones);
}

/// cuDNN's padding of a shard without slabs; nothing where that is no description
/// of what is read.
static std::optional<int64_t> paddingOf(const ConvDim &dim) {
  auto outputs = getConstantIntValue(dim.outputs), at = getConstantIntValue(dim.offset);
  auto begin = getConstantIntValue(dim.validBegin), end = getConstantIntValue(dim.validEnd);
  auto own = getConstantIntValue(dim.own);
  if (!outputs || !at || !begin || !end || !own || *at > 0 || *begin != 0 || *end != *own)
    return std::nullopt;
  // With this padding at both ends there must be just as many outputs.
  int64_t whole = *own - 2 * *at - ((dim.taps - 1) * dim.dilation + 1);
  return whole >= 0 && whole / dim.stride + 1 == *outputs ? std::optional(-*at) : std::nullopt;
}

static std::optional<ConvInput> inPlace(OpBuilder &b, LocalConvOp op, const ConvShape &shape) {
  if (!op.getHalos().empty())
    return std::nullopt;
  HostNumbers h{b, op.getLoc()};
  ConvInput input{op.getInput(), {}};
  SmallVector<OpFoldResult> sizes = memref::getMixedSizes(b, op.getLoc(), op.getInput());
  SmallVector<OpFoldResult> offsets(sizes.size(), b.getIndexAttr(0));
  for (auto [d, dim] : llvm::enumerate(shape.dims)) {
    int64_t place = dimOf(op.getInputDims(), d);
    if (std::optional<int64_t> padding = paddingOf(dim)) {
      input.padding.push_back(*padding);
    } else if (dim.readsOnlyElements()) {
      input.padding.push_back(0);
      offsets[place] = dim.offset;
      sizes[place] = extentRead(h, dim);
    } else {
      return std::nullopt;
    }
  }
  input.buffer = view(b, op.getLoc(), op.getInput(), offsets, sizes);
  return input;
}

/// Copies what output windows read of source `s` to its place in `target`.
static void copySource(OpBuilder &b, LocalConvOp op, const ConvShape &shape, size_t s, Value target) {
  Location loc = op.getLoc();
  HostNumbers h{b, loc};
  Value source = shape.sources[s].buffer;
  SmallVector<OpFoldResult> sizes = memref::getMixedSizes(b, loc, source);
  SmallVector<OpFoldResult> from(sizes.size(), b.getIndexAttr(0)), to(from);
  for (auto [d, dim] : llvm::enumerate(shape.dims)) {
    int64_t place = dimOf(op.getInputDims(), d);
    OpFoldResult origin = shape.origin(b, loc, s, d), last = h.add(dim.offset, extentRead(h, dim));
    OpFoldResult begin = h.max(h.max(dim.validBegin, dim.offset), origin);
    OpFoldResult end = h.min(h.min(dim.validEnd, last), h.add(origin, sizes[place]));
    // Nothing of a source may be read: then its place must still be inside.
    OpFoldResult none = h.constant(0);
    OpFoldResult size = h.max(h.sub(end, begin), none);
    from[place] = h.min(h.sub(begin, origin), h.sub(sizes[place], size));
    to[place] = h.min(h.sub(begin, dim.offset), h.sub(extentRead(h, dim), size));
    sizes[place] = size;
  }
  if (llvm::none_of(sizes, [](OpFoldResult size) { return isConstantIntValue(size, 0); }))
    memref::CopyOp::create(b, loc, view(b, loc, source, from, sizes), view(b, loc, target, to, sizes));
}

ConvInput ringconv::makeConvInput(LocalConvOp op, const ConvShape &shape) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  if (auto input = inPlace(b, op, shape))
    return *input;
  HostNumbers h{b, loc};
  SmallVector<OpFoldResult> sizes = memref::getMixedSizes(b, loc, op.getInput());
  for (auto [d, dim] : llvm::enumerate(shape.dims))
    sizes[dimOf(op.getInputDims(), d)] = extentRead(h, dim);
  Value target = allocate(b, loc, sizes, shape.element);
  if (!llvm::all_of(shape.dims, [](const ConvDim &dim) { return dim.readsOnlyElements(); })) {
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(shape.element));
    linalg::FillOp::create(b, loc, zero, target);
  }
  for (size_t s = 0; s < shape.sources.size(); ++s)
    copySource(b, op, shape, s, target);
  return {target, SmallVector<int64_t>(shape.dims.size(), 0), true};
}

bool ringconv::hasFeaturesLast(LocalConvOp op) { return op.getInputDims().back() == kFeature; }

Value ringconv::makeConvFilter(LocalConvOp op) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  SmallVector<int64_t> order{kOutput};
  for (int64_t d = 0; d < op.getNumSpatial(); ++d)
    order.push_back(d);
  order.insert(hasFeaturesLast(op) ? order.end() : order.begin() + 1, kInput);
  Value filter = op.getFilter();
  if (op.getFilterDims() == ArrayRef<int64_t>(order) && cast<MemRefType>(filter.getType()).getLayout().isIdentity())
    return filter;
  SmallVector<unsigned> permutation;
  SmallVector<OpFoldResult> sizes = memref::getMixedSizes(b, loc, filter), packedSizes;
  for (int64_t number : order) {
    permutation.push_back(dimOf(op.getFilterDims(), number));
    packedSizes.push_back(sizes[permutation.back()]);
  }
  Value packed = allocate(b, loc, packedSizes, cast<MemRefType>(filter.getType()).getElementType());
  auto map = AffineMapAttr::get(AffineMap::getPermutationMap(permutation, b.getContext()));
  memref::CopyOp::create(b, loc, memref::TransposeOp::create(b, loc, filter, map), packed);
  return packed;
}
