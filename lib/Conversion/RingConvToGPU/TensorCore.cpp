// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TensorCore.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ringconv;

static Type elementOf(Value shaped) { return cast<ShapedType>(shaped.getType()).getElementType(); }

Value ringconv::loadMatrices(KernelCode &k, Value memory, Value address, bool transpose) {
  auto type = VectorType::get({4, 2}, elementOf(memory));
  return nvgpu::LdMatrixOp::create(k.b, k.loc, type, memory, address, transpose, /*numTiles=*/4);
}

Value ringconv::pairOf(KernelCode &k, Value four, int64_t first) {
  auto type = VectorType::get({2, 2}, elementOf(four));
  Value pair = arith::ConstantOp::create(k.b, k.loc, k.b.getZeroAttr(type));
  for (int64_t i = 0; i < 2; ++i) {
    Value row = vector::ExtractOp::create(k.b, k.loc, four, first + i);
    pair = vector::InsertOp::create(k.b, k.loc, row, pair, i);
  }
  return pair;
}

/// The rows of a fragment as 32-bit registers.
static SmallVector<Value> registersOf(KernelCode &k, Value fragment) {
  SmallVector<Value> registers;
  for (int64_t i = 0, n = cast<VectorType>(fragment.getType()).getDimSize(0); i < n; ++i) {
    Value row = vector::ExtractOp::create(k.b, k.loc, fragment, i);
    Value bits = vector::BitCastOp::create(k.b, k.loc, VectorType::get({1}, k.b.getI32Type()), row);
    registers.push_back(vector::ExtractOp::create(k.b, k.loc, bits, 0));
  }
  return registers;
}

/// nvgpu.mma.sync knows no bf16: the product in terms of registers.
static Value multiplyBF16(KernelCode &k, Value left, Value right, Value sums) {
  SmallVector<Value> c;
  for (int64_t i = 0; i < 4; ++i)
    c.push_back(vector::ExtractOp::create(k.b, k.loc, sums, ArrayRef<int64_t>{i / 2, i % 2}));
  Type f32 = k.b.getF32Type();
  auto result = LLVM::LLVMStructType::getLiteral(k.b.getContext(), {f32, f32, f32, f32});
  std::array<NVVM::MMATypes, 2> types = {NVVM::MMATypes::bf16, NVVM::MMATypes::bf16};
  std::array<NVVM::MMALayout, 2> layouts = {NVVM::MMALayout::row, NVVM::MMALayout::col};
  Value d = NVVM::MmaOp::create(k.b, k.loc, result, registersOf(k, left), registersOf(k, right), c,
                                ArrayRef<int64_t>{16, 8, 16}, /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
                                types, layouts);
  for (int64_t i = 0; i < 4; ++i) {
    Value element = LLVM::ExtractValueOp::create(k.b, k.loc, d, i);
    sums = vector::InsertOp::create(k.b, k.loc, element, sums, ArrayRef<int64_t>{i / 2, i % 2});
  }
  return sums;
}

Value ringconv::multiplyAccumulate(KernelCode &k, Value left, Value right, Value sums) {
  if (elementOf(left).isBF16())
    return multiplyBF16(k, left, right, sums);
  return nvgpu::MmaSyncOp::create(k.b, k.loc, left, right, sums, ArrayRef<int64_t>{16, 8, 16});
}
