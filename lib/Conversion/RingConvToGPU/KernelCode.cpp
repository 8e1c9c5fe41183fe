// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "KernelCode.h"
#include "../Common/BufferCasts.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <limits>

using namespace mlir;
using namespace ringconv;

static gpu::AddressSpaceAttr workgroupSpace(MLIRContext *context) {
  return gpu::AddressSpaceAttr::get(context, gpu::AddressSpace::Workgroup);
}

Value KernelCode::pointer(Value memref) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  auto type = MemRefType::get({std::numeric_limits<int32_t>::max()}, element);
  return bufferAt(b, loc, type, kernel.passPointer(memref));
}

Value KernelCode::number(OpFoldResult n) {
  if (std::optional<int64_t> known = getConstantIntValue(n))
    return constant(*known);
  Type i32 = b.getI32Type();
  return kernel.passScalar(arith::IndexCastOp::create(kernel.host, loc, i32, cast<Value>(n)));
}

Value KernelCode::threadId() {
  return arith::IndexCastOp::create(b, loc, b.getI32Type(), gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x));
}

Value KernelCode::blockId(gpu::Dimension d) {
  return arith::IndexCastOp::create(b, loc, b.getI32Type(), gpu::BlockIdOp::create(b, loc, d));
}

/// A module has one array of no size per element type; all begin at the block's
/// dynamic shared memory.
Value KernelCode::shared(Type element, int64_t count) {
  gpu::GPUModuleOp module = kernels.get();
  auto space = workgroupSpace(b.getContext());
  auto empty = MemRefType::get({0}, element, MemRefLayoutAttrInterface(), space);
  std::string name = "shared_";
  llvm::raw_string_ostream(name) << element;
  if (!module.lookupSymbol(name)) {
    OpBuilder outer = OpBuilder::atBlockBegin(module.getBody());
    memref::GlobalOp::create(outer, loc, name, /*sym_visibility=*/StringAttr(), empty, /*initial_value=*/Attribute(),
                             /*constant=*/false, outer.getI64IntegerAttr(128));
  }
  Value base = memref::GetGlobalOp::create(b, loc, empty, name);
  auto sized = MemRefType::get({count}, element, MemRefLayoutAttrInterface(), space);
  return memref::ReinterpretCastOp::create(b, loc, sized, base, /*offset=*/int64_t(0), ArrayRef<int64_t>{count},
                                           ArrayRef<int64_t>{1});
}

static Value addConstant(KernelCode &k, Value address, int64_t v, arith::IntegerOverflowFlags flags) {
  return v == 0 ? address : arith::AddIOp::create(k.b, k.loc, address, k.index(v), flags);
}

Value KernelCode::offset(Value address, int64_t v) {
  return addConstant(*this, address, v, arith::IntegerOverflowFlags::nsw | arith::IntegerOverflowFlags::nuw);
}

Value KernelCode::signedOffset(Value address, int64_t v) {
  return addConstant(*this, address, v, arith::IntegerOverflowFlags::nsw);
}

void KernelCode::when(Value condition, llvm::function_ref<void()> body) {
  if (std::optional<int64_t> known = getConstantIntValue(condition))
    return *known ? body() : void();
  auto branch = scf::IfOp::create(b, loc, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

SmallVector<Value> KernelCode::loop(Value begin, Value end, ValueRange state,
                                    llvm::function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, loc, begin, end, like(begin, 1), state);
  OpBuilder::InsertionGuard guard(b);
  if (state.empty())
    b.setInsertionPoint(loop.getBody()->getTerminator());
  else
    b.setInsertionPointToEnd(loop.getBody());
  SmallVector<Value> next = body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!state.empty())
    scf::YieldOp::create(b, loc, next);
  return SmallVector<Value>(loop.getResults());
}
