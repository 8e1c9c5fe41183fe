// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "BufferCasts.h"
#include "ringconv/Conversion/Passes.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace ringconv {
#define GEN_PASS_DEF_LOWERBUFFERCASTSPASS
#include "ringconv/Conversion/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

int64_t ringconv::elementBytes(Type type) {
  int64_t bits = type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : IndexType::kInternalStorageBitWidth;
  return llvm::PowerOf2Ceil(llvm::divideCeil(bits, 8));
}

Value ringconv::bufferAt(OpBuilder &b, Location loc, MemRefType type, ValueRange parts) {
  return UnrealizedConversionCastOp::create(b, loc, type, parts).getResult(0);
}

Value ringconv::pointerOf(OpBuilder &b, Location loc, Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  Value base = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memref);
  int64_t offset;
  SmallVector<int64_t> strides;
  if (failed(type.getStridesAndOffset(strides, offset)) || offset != 0) {
    Value elements = memref::ExtractStridedMetadataOp::create(b, loc, memref).getOffset();
    Value width = arith::ConstantIndexOp::create(b, loc, elementBytes(type.getElementType()));
    base = arith::AddIOp::create(b, loc, base, arith::MulIOp::create(b, loc, elements, width));
  }
  Value address = arith::IndexCastOp::create(b, loc, b.getI64Type(), base);
  return LLVM::IntToPtrOp::create(b, loc, LLVM::LLVMPointerType::get(b.getContext()), address);
}

static void lowerCast(UnrealizedConversionCastOp op, const LLVMTypeConverter &converter) {
  auto type = cast<MemRefType>(op.getResult(0).getType());
  OpBuilder b(op);
  Location loc = op.getLoc();
  int64_t offset;
  SmallVector<int64_t> strides;
  (void)type.getStridesAndOffset(strides, offset);
  auto part = op.getInputs().begin();
  auto descriptor = MemRefDescriptor::poison(b, loc, converter.convertType(type));
  descriptor.setAllocatedPtr(b, loc, *part);
  descriptor.setAlignedPtr(b, loc, *part++);
  descriptor.setConstantOffset(b, loc, 0);
  auto next = [&] { return arith::IndexCastOp::create(b, loc, b.getI64Type(), *part++); };
  for (auto [d, size] : llvm::enumerate(type.getShape()))
    ShapedType::isDynamic(size) ? descriptor.setSize(b, loc, d, next()) : descriptor.setConstantSize(b, loc, d, size);
  for (auto [d, stride] : llvm::enumerate(strides))
    ShapedType::isDynamic(stride) ? descriptor.setStride(b, loc, d, next())
                                  : descriptor.setConstantStride(b, loc, d, stride);
  Value memref = UnrealizedConversionCastOp::create(b, loc, type, Value(descriptor)).getResult(0);
  op.getResult(0).replaceAllUsesWith(memref);
  op.erase();
}

namespace {
struct LowerBufferCastsPass : ringconv::impl::LowerBufferCastsPassBase<LowerBufferCastsPass> {
  void runOnOperation() override {
    LLVMTypeConverter converter(&getContext());
    getOperation()->walk([&](UnrealizedConversionCastOp op) {
      if (op.getNumResults() == 1 && isa<MemRefType>(op.getResult(0).getType()) && op.getNumOperands() > 0 &&
          isa<LLVM::LLVMPointerType>(op.getOperand(0).getType()))
        lowerCast(op, converter);
    });
  }
};
} // namespace
