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

SmallVector<Value> CopyPipeline::run(SumWalk &walk, ValueRange sums,
                                     llvm::function_ref<void(ValueRange, Value, Value)> fill,
                                     llvm::function_ref<SmallVector<Value>(Value, ValueRange)> compute) {
  Value steps = walk.steps();
  SmallVector<Value> ahead = walk.begin();
  for (int64_t slot = 0; slot < slots - 1; ++slot) {
    fill(ahead, k.within(k.constant(slot), steps), k.constant(slot * slotElements));
    commit();
    ahead = walk.next(ahead);
  }
  Value lastFilled = k.sub(steps, k.constant(slots - 1));
  // Sums, the position of the copies, the slot to read, the slot to fill.
  SmallVector<Value> state(sums);
  state.append(ahead);
  state.append({k.constant(0), k.constant((slots - 1) * slotElements)});
  SmallVector<Value> end = k.loop(k.constant(0), steps, state, [&](Value step, ValueRange now) {
    ValueRange position = now.slice(sums.size(), now.size() - sums.size() - 2);
    Value read = now.drop_back().back(), write = now.back();
    waitForOldest();
    fill(position, k.compare(arith::CmpIPredicate::slt, step, lastFilled), write);
    commit();
    SmallVector<Value> next = compute(read, now.take_front(sums.size()));
    next.append(walk.next(position));
    next.append({nextSlot(read), nextSlot(write)});
    return next;
  });
  end.resize(sums.size());
  return end;
}
