// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Elements.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace ringconv;

/// The product, folded where it is static.
static OpFoldResult product(OpBuilder &b, Location loc, ArrayRef<OpFoldResult> sizes) {
  int64_t constant = 1;
  Value rest;
  for (OpFoldResult size : sizes) {
    if (auto c = getConstantIntValue(size)) {
      constant *= *c;
      continue;
    }
    Value v = cast<Value>(size);
    rest = rest ? arith::MulIOp::create(b, loc, rest, v).getResult() : v;
  }
  if (!rest || constant == 0)
    return b.getIndexAttr(constant);
  return constant == 1
             ? OpFoldResult(rest)
             : OpFoldResult(
                   arith::MulIOp::create(b, loc, rest, arith::ConstantIndexOp::create(b, loc, constant)).getResult());
}

static OpFoldResult blocksOf(OpBuilder &b, Location loc, OpFoldResult elements) {
  if (auto c = getConstantIntValue(elements))
    return b.getIndexAttr(llvm::divideCeil(*c, kThreads));
  Value threads = arith::ConstantIndexOp::create(b, loc, kThreads);
  return arith::CeilDivUIOp::create(b, loc, cast<Value>(elements), threads).getResult();
}

/// Coordinates of the row-major position `linear`. The first dimension that is
/// not 1 takes what is left.
static SmallVector<Value> coordinates(Loops &l, Value linear, ArrayRef<Value> sizes) {
  SmallVector<Value> index(sizes.size(), l.constant(0));
  auto isOne = [](Value v) { return isConstantIntValue(v, 1); };
  size_t first = 0;
  while (first < sizes.size() && isOne(sizes[first]))
    ++first;
  for (size_t d = sizes.size(); d-- > first;) {
    if (isOne(sizes[d]))
      continue;
    if (d == first) {
      index[d] = linear;
      break;
    }
    index[d] = arith::RemUIOp::create(l.b, l.loc, linear, sizes[d]);
    linear = arith::DivUIOp::create(l.b, l.loc, linear, sizes[d]);
  }
  return index;
}

/// A number of the host, in the kernel.
static Value inside(KernelBuilder &kernel, OpFoldResult v) {
  if (auto c = getConstantIntValue(v))
    return arith::ConstantIndexOp::create(kernel.body, kernel.loc, *c);
  return kernel.passScalar(cast<Value>(v));
}

static SmallVector<Value> inside(KernelBuilder &kernel, ArrayRef<OpFoldResult> sizes) {
  return llvm::map_to_vector(sizes, [&](OpFoldResult size) { return inside(kernel, size); });
}

OpFoldResult ringconv::blockCount(KernelBuilder &kernel, ArrayRef<OpFoldResult> sizes) {
  return product(kernel.host, kernel.loc, sizes);
}

SmallVector<Value> ringconv::blockCoordinates(KernelBuilder &kernel, ArrayRef<OpFoldResult> sizes) {
  Loops l{kernel.body, kernel.loc};
  SmallVector<Value> local = inside(kernel, sizes);
  return coordinates(l, gpu::BlockIdOp::create(kernel.body, kernel.loc, gpu::Dimension::x), local);
}

void ringconv::forEachElement(KernelBuilder &kernel, ArrayRef<OpFoldResult> sizes, ElementBody body) {
  OpBuilder &b = kernel.body;
  Loops l{b, kernel.loc};
  OpFoldResult total = product(kernel.host, kernel.loc, sizes);
  SmallVector<Value> local = inside(kernel, sizes);
  Value block = gpu::BlockIdOp::create(b, kernel.loc, gpu::Dimension::x);
  Value thread = gpu::ThreadIdOp::create(b, kernel.loc, gpu::Dimension::x);
  Value linear = l.add(l.mul(block, kThreads), thread);
  Value there = arith::CmpIOp::create(b, kernel.loc, arith::CmpIPredicate::ult, linear, inside(kernel, total));
  auto branch = scf::IfOp::create(b, kernel.loc, there, false);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    body(l, coordinates(l, linear, local));
  }
  kernel.launch({blocksOf(kernel.host, kernel.loc, total)}, {kThreads});
}

void ringconv::forEachElement(KernelBuilder &kernel, Value memref, ElementBody body) {
  forEachElement(kernel, memref::getMixedSizes(kernel.host, kernel.loc, memref), body);
}
