// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Repack.h"
#include "HostNumbers.h"
#include "Operations.h"

using namespace mlir;
using namespace ringconv;

/// A kernel that sets all elements to zero.
static void fillZero(OpBuilder &b, Location loc, KernelModule &kernels, Value memref) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(element));
  auto fill = linalg::FillOp::create(b, loc, zero, memref);
  (void)makeKernel(cast<linalg::LinalgOp>(fill.getOperation()), kernels); // every fill has a kernel
}

namespace {
/// The part of a buffer that is copied, per dimension.
struct Box {
  SmallVector<OpFoldResult> offsets, sizes;
};
} // namespace

static Value view(OpBuilder &b, Location loc, Value memref, const Box &box) {
  SmallVector<OpFoldResult> ones(box.sizes.size(), b.getIndexAttr(1));
  return memref::SubViewOp::create(b, loc, memref, box.offsets, box.sizes, ones);
}

template <typename T> static SmallVector<T> permute(ArrayRef<T> values, ArrayRef<unsigned> permutation) {
  SmallVector<T> result;
  for (unsigned d : permutation)
    result.push_back(values[d]);
  return result;
}

/// A dense copy of `box` of the buffer, at the same place; nothing else is written
/// but zeros in the padding.
static void repack(LocalConvOp op, KernelModule &kernels, ConvBuffer &buffer, const Box &box, ArrayRef<int64_t> order,
                   int64_t multiple) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  HostNumbers h{b, loc};
  SmallVector<unsigned> permutation;
  for (int64_t number : order)
    permutation.push_back(dimOf(buffer.dims, number));
  SmallVector<OpFoldResult> sizes = permute<OpFoldResult>(memref::getMixedSizes(b, loc, buffer.buffer), permutation);
  OpFoldResult last = sizes.back();
  sizes.back() = h.mul(h.ceilDiv(last, multiple), multiple);
  SmallVector<Value> dynamic;
  SmallVector<int64_t> shape;
  dispatchIndexOpFoldResults(sizes, dynamic, shape);
  auto type = MemRefType::get(shape, cast<MemRefType>(buffer.buffer.getType()).getElementType());
  Value original = buffer.buffer;
  Value packed = memref::AllocOp::create(b, loc, type, dynamic, b.getI64IntegerAttr(kBufferAlignment));
  if (!isEqualConstantIntOrValue(sizes.back(), last))
    fillZero(b, loc, kernels, packed);
  Box target{permute<OpFoldResult>(box.offsets, permutation), permute<OpFoldResult>(box.sizes, permutation)};
  buffer = describeBuffer(b, loc, packed, order);
  OpBuilder after(op->getContext());
  after.setInsertionPointAfter(op);
  memref::DeallocOp::create(after, loc, packed);
  if (llvm::any_of(box.sizes, [](OpFoldResult size) { return isConstantIntValue(size, 0); }))
    return;
  auto map = AffineMapAttr::get(AffineMap::getPermutationMap(permutation, b.getContext()));
  Value source = memref::TransposeOp::create(b, loc, view(b, loc, original, box), map);
  makeKernel(memref::CopyOp::create(b, loc, source, view(b, loc, packed, target)), kernels);
}

static Box wholeOf(OpBuilder &b, Location loc, Value memref) {
  SmallVector<OpFoldResult> sizes = memref::getMixedSizes(b, loc, memref);
  return {SmallVector<OpFoldResult>(sizes.size(), b.getIndexAttr(0)), sizes};
}

void ringconv::repackFilter(LocalConvOp op, KernelModule &kernels, ConvShape &shape, ArrayRef<int64_t> order,
                            int64_t multiple) {
  OpBuilder b(op);
  repack(op, kernels, shape.filter, wholeOf(b, op.getLoc(), shape.filter.buffer), order, multiple);
}

/// Outputs read, in a dimension, elements from that of the first output's first tap
/// to that of the last output's last, less what is not valid.
void ringconv::repackSource(LocalConvOp op, KernelModule &kernels, ConvShape &shape, size_t s, ArrayRef<int64_t> order,
                            int64_t multiple) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  HostNumbers h{b, loc};
  ConvBuffer &buffer = shape.sources[s];
  Box box = wholeOf(b, loc, buffer.buffer);
  for (auto [d, dim] : llvm::enumerate(shape.dims)) {
    OpFoldResult last =
        h.add(h.add(dim.offset, h.mul(h.add(dim.outputs, -1), dim.stride)), (dim.taps - 1) * dim.dilation);
    OpFoldResult begin = h.max(dim.validBegin, h.ceilDiv(dim.offset, dim.base));
    OpFoldResult end = h.min(dim.validEnd, h.add(h.floorDiv(last, dim.base), 1));
    OpFoldResult origin = shape.origin(b, loc, s, d);
    OpFoldResult &offset = box.offsets[dimOf(buffer.dims, d)], &size = box.sizes[dimOf(buffer.dims, d)];
    offset = h.min(h.max(h.sub(begin, origin), h.constant(0)), size);
    size = h.max(h.sub(h.min(h.sub(end, origin), size), offset), h.constant(0));
  }
  repack(op, kernels, buffer, box, order, multiple);
}

bool ringconv::repackUnless(LocalConvOp op, KernelModule &kernels, ConvShape &shape, ArrayRef<int64_t> order,
                            int64_t multiple, llvm::function_ref<bool(const ConvBuffer &)> fits) {
  bool copied = false;
  for (size_t s = 0; s < shape.sources.size(); ++s)
    if (!fits(shape.sources[s])) {
      repackSource(op, kernels, shape, s, order, multiple);
      copied = true;
    }
  if (fits(shape.filter))
    return copied;
  repackFilter(op, kernels, shape, order, multiple);
  return true;
}
