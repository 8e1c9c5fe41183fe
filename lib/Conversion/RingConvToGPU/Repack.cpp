// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Repack.h"
#include "Elements.h"
#include "HostNumbers.h"

using namespace mlir;
using namespace ringconv;

namespace {
/// The part of a buffer that is copied, per dimension.
struct Box {
  SmallVector<OpFoldResult> offsets, sizes;
};
/// Of the elements of dimension `number`, those that some output reads by some tap.
struct Gaps {
  int64_t number;
  ConvDim dim;
  OpFoldResult origin; ///< extended coordinate of element 0
};
} // namespace

/// True if between the first and the last element that outputs read they read all.
static bool isDense(const ConvDim &dim) {
  std::optional<int64_t> outputs = getConstantIntValue(dim.outputs);
  if (dim.base != 1)
    return false;
  return (dim.stride == 1 && (dim.dilation == 1 || dim.taps == 1 || (outputs && *outputs >= dim.dilation))) ||
         (dim.dilation == 1 && dim.taps >= dim.stride);
}

/// A number of the host inside the kernel.
static Value passNumber(Loops &l, KernelBuilder &kernel, OpFoldResult n) {
  std::optional<int64_t> known = getConstantIntValue(n);
  return known ? l.constant(*known) : kernel.passScalar(cast<Value>(n));
}

/// Inside a kernel: whether an output reads element `at`.
static Value isRead(Loops &l, KernelBuilder &kernel, const Gaps &gaps, Value at) {
  auto pass = [&](OpFoldResult n) { return passNumber(l, kernel, n); };
  const ConvDim &dim = gaps.dim;
  Value position = l.sub(l.mul(l.add(at, pass(gaps.origin)), dim.base), pass(dim.offset));
  Value outputs = pass(dim.outputs), any = arith::ConstantIntOp::create(l.b, l.loc, 0, 1);
  for (int64_t t = 0; t < dim.taps; ++t) {
    Value from = l.add(position, -t * dim.dilation), output = l.floorDiv(from, dim.stride);
    Value exists = l.both(l.lessEqual(l.constant(0), output), l.less(output, outputs));
    exists = l.both(exists, l.equal(l.mul(output, dim.stride), from));
    any = arith::OrIOp::create(l.b, l.loc, any, exists);
  }
  return any;
}

/// The kernel: `target`, whose dimensions are those of `source` permuted, gets the
/// box, at the same place, and zeros behind it in the last dimension.
static void copyBox(LocalConvOp op, KernelModule &kernels, const ConvBuffer &source, Value target, const Box &box,
                    ArrayRef<unsigned> permutation, ArrayRef<Gaps> gaps) {
  KernelBuilder kernel(kernels, op, "repack");
  Value from = kernel.passBuffer(source.buffer), to = kernel.passBuffer(target);
  SmallVector<OpFoldResult> sizes;
  for (unsigned d : permutation)
    sizes.push_back(box.sizes[d]);
  OpFoldResult copied = sizes.back();
  sizes.back() = memref::getMixedSizes(kernel.host, kernel.loc, target).back();
  forEachElement(kernel, sizes, [&](Loops &l, ArrayRef<Value> index) {
    SmallVector<Value> x(index.size()), y;
    for (auto [i, d] : llvm::enumerate(permutation)) {
      x[d] = l.add(index[i], passNumber(l, kernel, box.offsets[d]));
      y.push_back(x[d]);
    }
    Value reads = l.less(index.back(), passNumber(l, kernel, copied));
    for (const Gaps &dim : gaps)
      reads = l.both(reads, isRead(l, kernel, dim, x[dimOf(source.dims, dim.number)]));
    Type element = cast<MemRefType>(from.getType()).getElementType();
    Value v = l.select(
        element, reads, [&] { return memref::LoadOp::create(l.b, l.loc, from, x).getResult(); },
        [&] { return l.zero(element); });
    memref::StoreOp::create(l.b, l.loc, v, to, y);
  });
}

/// A dense copy of `box` of the buffer, at the same place.
static void repack(LocalConvOp op, KernelModule &kernels, ConvBuffer &buffer, const Box &box, ArrayRef<int64_t> order,
                   int64_t multiple, ArrayRef<Gaps> gaps) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  HostNumbers h{b, loc};
  SmallVector<OpFoldResult> original = memref::getMixedSizes(b, loc, buffer.buffer), sizes;
  SmallVector<unsigned> permutation;
  for (int64_t number : order) {
    permutation.push_back(dimOf(buffer.dims, number));
    sizes.push_back(original[permutation.back()]);
  }
  sizes.back() = h.mul(h.ceilDiv(sizes.back(), multiple), multiple);
  SmallVector<Value> dynamic;
  SmallVector<int64_t> shape;
  dispatchIndexOpFoldResults(sizes, dynamic, shape);
  auto type = MemRefType::get(shape, cast<MemRefType>(buffer.buffer.getType()).getElementType());
  Value packed = memref::AllocOp::create(b, loc, type, dynamic, b.getI64IntegerAttr(kBufferAlignment));
  copyBox(op, kernels, buffer, packed, box, permutation, gaps);
  buffer = describeBuffer(b, loc, packed, order);
  OpBuilder after(op->getContext());
  after.setInsertionPointAfter(op);
  memref::DeallocOp::create(after, loc, packed);
}

static Box wholeOf(OpBuilder &b, Location loc, Value memref) {
  SmallVector<OpFoldResult> sizes = memref::getMixedSizes(b, loc, memref);
  return {SmallVector<OpFoldResult>(sizes.size(), b.getIndexAttr(0)), sizes};
}

void ringconv::repackFilter(LocalConvOp op, KernelModule &kernels, ConvShape &shape, ArrayRef<int64_t> order,
                            int64_t multiple) {
  OpBuilder b(op);
  repack(op, kernels, shape.filter, wholeOf(b, op.getLoc(), shape.filter.buffer), order, multiple, {});
}

/// Outputs read, in a dimension, elements from that of the first output's first tap
/// to that of the last output's last, less what is not valid; nothing is read where
/// there are no outputs.
void ringconv::repackSource(LocalConvOp op, KernelModule &kernels, ConvShape &shape, size_t s, ArrayRef<int64_t> order,
                            int64_t multiple) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  HostNumbers h{b, loc};
  ConvBuffer &buffer = shape.sources[s];
  Box box = wholeOf(b, loc, buffer.buffer);
  SmallVector<Gaps> gaps;
  OpFoldResult &batch = box.sizes[dimOf(buffer.dims, kBatch)];
  batch = h.min(batch, h.mul(batch, h.mul(shape.outputs, shape.groups)));
  for (auto [d, dim] : llvm::enumerate(shape.dims)) {
    OpFoldResult last =
        h.add(h.add(dim.offset, h.mul(h.add(dim.outputs, -1), dim.stride)), (dim.taps - 1) * dim.dilation);
    OpFoldResult begin = h.max(dim.validBegin, h.ceilDiv(dim.offset, dim.base));
    OpFoldResult end = h.min(dim.validEnd, h.add(h.floorDiv(last, dim.base), 1));
    OpFoldResult origin = shape.origin(b, loc, s, d);
    OpFoldResult &offset = box.offsets[dimOf(buffer.dims, d)], &size = box.sizes[dimOf(buffer.dims, d)];
    OpFoldResult extent = size;
    offset = h.max(h.sub(begin, origin), h.constant(0));
    size = h.max(h.sub(h.min(h.sub(end, origin), extent), offset), h.constant(0));
    size = h.min(size, h.mul(dim.outputs, extent));
    if (!isDense(dim))
      gaps.push_back({int64_t(d), dim, origin});
  }
  repack(op, kernels, buffer, box, order, multiple, gaps);
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
