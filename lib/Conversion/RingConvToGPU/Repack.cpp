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

void ringconv::repack(LocalConvOp op, KernelModule &kernels, ConvBuffer &buffer, ArrayRef<int64_t> order,
                      int64_t multiple) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  HostNumbers h{b, loc};
  SmallVector<OpFoldResult> sizes = memref::getMixedSizes(b, loc, buffer.buffer), permuted;
  SmallVector<unsigned> permutation;
  for (int64_t number : order) {
    permutation.push_back(dimOf(buffer.dims, number));
    permuted.push_back(sizes[permutation.back()]);
  }
  SmallVector<OpFoldResult> padded(permuted);
  padded.back() = h.mul(h.ceilDiv(padded.back(), multiple), multiple);
  SmallVector<Value> dynamic;
  SmallVector<int64_t> shape;
  dispatchIndexOpFoldResults(padded, dynamic, shape);
  auto type = MemRefType::get(shape, cast<MemRefType>(buffer.buffer.getType()).getElementType());
  Value packed = memref::AllocOp::create(b, loc, type, dynamic, b.getI64IntegerAttr(kBufferAlignment));
  Value target = packed;
  if (multiple != 1 && !isEqualConstantIntOrValue(padded.back(), permuted.back())) {
    fillZero(b, loc, kernels, packed);
    SmallVector<OpFoldResult> zeros(order.size(), h.constant(0)), ones(order.size(), h.constant(1));
    target = memref::SubViewOp::create(b, loc, packed, zeros, permuted, ones);
  }
  auto map = AffineMapAttr::get(AffineMap::getPermutationMap(permutation, b.getContext()));
  Value source = memref::TransposeOp::create(b, loc, buffer.buffer, map);
  makeKernel(memref::CopyOp::create(b, loc, source, target), kernels);
  OpBuilder after(op->getContext());
  after.setInsertionPointAfter(op);
  memref::DeallocOp::create(after, loc, packed);
  buffer = describeBuffer(b, loc, packed, order);
}
