// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "SplitSum.h"
#include "Elements.h"
#include "HostNumbers.h"
#include "PaddingRepair.h"

#include <algorithm>

using namespace mlir;
using namespace ringconv;

/// Slices of 16 steps or more, at most 128 of them.
SplitPlan::SplitPlan(const ConvShape &shape, int64_t depth) : depth(depth) {
  int64_t steps = llvm::divideCeil(shape.features * shape.taps(), depth);
  int64_t wanted = std::clamp<int64_t>(steps / 16, 1, 128);
  perSlice = llvm::divideCeil(steps, wanted);
  slices = llvm::divideCeil(steps, perSlice);
}

// ===--------------------------------------------------------------------=== //
// SplitSum
// ===--------------------------------------------------------------------=== //

SplitSum::SplitSum(LocalConvOp op, const ConvShape &shape, const SplitPlan &plan) : op(op), slice(shape) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  HostNumbers h{b, loc};
  SmallVector<OpFoldResult> sizes{h.constant(plan.slices), shape.batch};
  SmallVector<int64_t> dims{kBatch};
  for (auto [n, dim] : llvm::enumerate(shape.dims)) {
    sizes.push_back(dim.outputs);
    dims.push_back(n);
  }
  sizes.push_back(shape.outputs);
  dims.push_back(kFeature);
  SmallVector<Value> dynamic;
  SmallVector<int64_t> extents;
  dispatchIndexOpFoldResults(sizes, dynamic, extents);
  Type sum = accumulationType(shape.element);
  auto type = MemRefType::get(extents, sum);
  workspace = memref::AllocOp::create(b, loc, type, dynamic, b.getI64IntegerAttr(kBufferAlignment));

  stride = h.constant(1);
  for (OpFoldResult size : ArrayRef(sizes).drop_front())
    stride = h.mul(stride, size);
  slice.result = sum;
  slice.bias = ConvBuffer();
  slice.output = describeBuffer(b, loc, workspace, dims, /*leading=*/1);
  slice.densePositions = slice.densePixels = true;
}

void SplitSum::finish(KernelModule &kernels) {
  KernelBuilder kernel(kernels, op, "sum_slices");
  Value slices = kernel.passBuffer(workspace), result = kernel.passBuffer(op.getInit());
  Value bias = op.getBias() ? kernel.passBuffer(op.getBias()) : Value();
  forEachElement(kernel, op.getInit(), [&](Loops &l, ArrayRef<Value> y) {
    SmallVector<Value> at{l.constant(0)};
    for (int64_t number : slice.output.dims)
      at.push_back(y[dimOf(op.getOutputDims(), number)]);
    auto load = [&](Value z) {
      at[0] = z;
      return memref::LoadOp::create(l.b, l.loc, slices, at).getResult();
    };
    Value first = load(l.constant(0));
    Value sum = l.forLoop(l.constant(1), l.size(slices, 0), first,
                          [&](Value z, ValueRange state) { return SmallVector<Value>{l.sum(state[0], load(z))}; })[0];
    if (bias)
      sum = l.sum(sum, l.convert(memref::LoadOp::create(l.b, l.loc, bias, at.back()), slice.result));
    Value rounded = l.convert(sum, cast<MemRefType>(op.getInit().getType()).getElementType());
    memref::StoreOp::create(l.b, l.loc, rounded, result, y);
    repairIfNaN(kernel, op, rounded, y);
  });
  OpBuilder after(op->getContext());
  after.setInsertionPointAfter(op);
  memref::DeallocOp::create(after, op.getLoc(), workspace);
}

// ===--------------------------------------------------------------------=== //
// TermWalk
// ===--------------------------------------------------------------------=== //

/// The steps of this block's slice; the last may have fewer.
Value TermWalk::steps() {
  int64_t all = llvm::divideCeil(shape.features * shape.taps(), plan.depth);
  if (plan.slices == 1)
    return k.constant(all);
  Value left = k.sub(k.constant(all), k.mul(slice, plan.perSlice));
  return k.b.createOrFold<arith::MinUIOp>(k.loc, left, k.constant(plan.perSlice));
}

/// The first term of the step; per row its input feature and taps.
SmallVector<Value> TermWalk::begin() {
  Value first = k.mul(slice, plan.perSlice * plan.depth);
  SmallVector<Value> state{first};
  for (Value row : rows) {
    Value term = k.add(first, row);
    SmallVector<Value> place(shape.dims.size() + 1);
    for (size_t d = shape.dims.size(); d-- > 0;) {
      place[d + 1] = k.rem(term, shape.dims[d].taps);
      term = k.div(term, shape.dims[d].taps);
    }
    place[0] = term;
    state.append(place);
  }
  return state;
}

/// Adds `depth`, written in the same mixed radix, digit by digit.
SmallVector<Value> TermWalk::next(ValueRange state) {
  SmallVector<Value> result(state);
  result[0] = k.add(state[0], plan.depth);
  size_t digits = shape.dims.size() + 1;
  for (size_t row = 0; row < rows.size(); ++row) {
    Value carry = k.constant(0);
    int64_t rest = plan.depth;
    for (size_t d = shape.dims.size(); d-- > 0;) {
      int64_t radix = shape.dims[d].taps;
      Value &digit = result[1 + row * digits + d + 1];
      digit = k.add(k.add(digit, rest % radix), carry);
      rest /= radix;
      Value wraps = k.compare(arith::CmpIPredicate::uge, digit, k.constant(radix));
      digit = k.select(wraps, k.sub(digit, k.constant(radix)), digit);
      carry = k.select(wraps, k.constant(1), k.constant(0));
    }
    Value &feature = result[1 + row * digits];
    feature = k.add(k.add(feature, rest), carry);
  }
  return result;
}

TermWalk::Term TermWalk::at(ValueRange state, size_t row) const {
  size_t count = shape.dims.size() + 1;
  ValueRange digits = state.drop_front().slice(row * count, count);
  Value number = k.add(state[0], rows[row]);
  return {k.within(number, shape.features * shape.taps()), number, digits[0], SmallVector<Value>(digits.drop_front())};
}
