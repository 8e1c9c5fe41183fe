// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "CopyPipeline.h"

#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"

using namespace mlir;
using namespace ringconv;

CopyPipeline::CopyPipeline(KernelCode &k, Type element, int64_t slotElements, int64_t slots)
    : k(k), slotElements(slotElements), slots(slots), shared(k.shared(element, slotElements * slots)) {
  // Tokens carry no data: one serves every wait.
  token = nvgpu::DeviceAsyncCreateGroupOp::create(k.b, k.loc, nvgpu::DeviceAsyncTokenType::get(k.b.getContext()),
                                                  ValueRange());
}

int64_t CopyPipeline::bytes() const {
  auto type = cast<MemRefType>(shared.getType());
  return type.getNumElements() * type.getElementTypeBitWidth() / 8;
}

void CopyPipeline::copy(Value source, Value from, Value to, int64_t elements, Value reads) {
  int64_t bits = elements * cast<MemRefType>(shared.getType()).getElementTypeBitWidth();
  Value count = k.select(reads, k.index(elements), k.index(0));
  copies.push_back(nvgpu::DeviceAsyncCopyOp::create(k.b, k.loc, nvgpu::DeviceAsyncTokenType::get(k.b.getContext()),
                                                    shared, to, source, from, k.b.getIndexAttr(elements), count,
                                                    bits == 128 ? k.b.getUnitAttr() : UnitAttr()));
}

void CopyPipeline::commit() {
  nvgpu::DeviceAsyncCreateGroupOp::create(k.b, k.loc, token.getType(), copies);
  copies.clear();
}

void CopyPipeline::waitForOldest() {
  nvgpu::DeviceAsyncWaitOp::create(k.b, k.loc, token, k.b.getI32IntegerAttr(slots - 2));
  k.barrier();
}

Value CopyPipeline::nextSlot(Value slot) {
  return k.select(k.equal(slot, (slots - 1) * slotElements), k.constant(0), k.add(slot, slotElements));
}

namespace {
/// The position of the copies in the sum, as loop-carried numbers.
struct SumPosition {
  KernelCode &k;
  const ConvShape &shape;
  int64_t block;

  int64_t steps() const { return (shape.features + block - 1) / block * shape.taps(); }
  /// Number of the step, tap per dimension, first feature.
  SmallVector<Value> begin() const { return SmallVector<Value>(shape.dims.size() + 2, k.constant(0)); }
  SumStep at(ValueRange state) const {
    return {k.within(state.front(), steps()), SmallVector<Value>(state.drop_front().drop_back()), state.back()};
  }
  SmallVector<Value> next(ValueRange state) const {
    SmallVector<Value> result(state);
    result[0] = k.add(state[0], 1);
    Value carry;
    for (size_t d = shape.dims.size(); d-- > 0;) {
      Value tap = carry ? k.select(carry, k.add(state[d + 1], 1), state[d + 1]) : k.add(state[d + 1], 1);
      carry = k.equal(tap, shape.dims[d].taps);
      result[d + 1] = k.select(carry, k.constant(0), tap);
    }
    Value feature = k.add(state.back(), block);
    result.back() = carry ? k.select(carry, feature, state.back()) : feature;
    return result;
  }
};
} // namespace

SmallVector<Value> CopyPipeline::run(const ConvShape &shape, int64_t block, ValueRange sums,
                                     llvm::function_ref<void(const SumStep &, Value)> fill,
                                     llvm::function_ref<SmallVector<Value>(Value, ValueRange)> compute) {
  SumPosition position{k, shape, block};
  SmallVector<Value> ahead = position.begin();
  for (int64_t slot = 0; slot < slots - 1; ++slot) {
    fill(position.at(ahead), k.constant(slot * slotElements));
    commit();
    ahead = position.next(ahead);
  }
  SmallVector<Value> state(sums);
  state.append(ahead);
  state.push_back(k.constant(0));                          // slot to read
  state.push_back(k.constant((slots - 1) * slotElements)); // slot to fill
  SmallVector<Value> end = k.loop(k.constant(0), k.constant(position.steps()), state, [&](Value, ValueRange now) {
    ValueRange ahead = now.slice(sums.size(), now.size() - sums.size() - 2);
    Value read = now.drop_back().back(), write = now.back();
    waitForOldest();
    fill(position.at(ahead), write);
    commit();
    SmallVector<Value> next = compute(read, now.take_front(sums.size()));
    next.append(position.next(ahead));
    next.push_back(nextSlot(read));
    next.push_back(nextSlot(write));
    return next;
  });
  end.resize(sums.size());
  return end;
}
