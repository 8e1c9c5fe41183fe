// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Kernels.h"
#include "../Common/BufferCasts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace ringconv;

int64_t ringconv::alignmentOf(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  int64_t element = elementBytes(type.getElementType()), offset;
  SmallVector<int64_t> strides;
  if (failed(type.getStridesAndOffset(strides, offset)) || ShapedType::isDynamic(offset))
    return element;
  return std::min<int64_t>(llvm::MinAlign(offset * element, kBufferAlignment), kBufferAlignment);
}

// ===--------------------------------------------------------------------=== //
// KernelModule
// ===--------------------------------------------------------------------=== //

static constexpr StringLiteral moduleName = "kernels";

gpu::GPUModuleOp KernelModule::get() {
  if (module)
    return module;
  OpBuilder b = OpBuilder::atBlockBegin(host.getBody());
  module = gpu::GPUModuleOp::create(b, host.getLoc(), moduleName);
  host->setAttr(gpu::GPUDialect::getContainerModuleAttrName(), b.getUnitAttr());
  return module;
}

gpu::GPUFuncOp KernelModule::unique(gpu::GPUFuncOp func) {
  std::string name = func.getName().str(), text;
  func.setName("kernel");
  llvm::raw_string_ostream os(text);
  func->print(os);
  auto [entry, isNew] = byText.try_emplace(text, func);
  if (!isNew) {
    func.erase();
    return entry->second;
  }
  int64_t n = uses[name]++;
  func.setName(n ? name + "_" + std::to_string(n) : name);
  return func;
}

// ===--------------------------------------------------------------------=== //
// KernelBuilder
// ===--------------------------------------------------------------------=== //

KernelBuilder::KernelBuilder(KernelModule &kernels, Operation *op, StringRef name)
    : host(op), body(op->getContext()), loc(op->getLoc()), kernels(kernels), name(name.str()) {
  OpBuilder b = OpBuilder::atBlockEnd(kernels.get().getBody());
  func = gpu::GPUFuncOp::create(b, loc, name, b.getFunctionType({}, {}));
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  body.setInsertionPointToEnd(&func.getBody().front());
  auto end = gpu::ReturnOp::create(body, loc);
  body.setInsertionPoint(end);
}

KernelBuilder::~KernelBuilder() {
  if (!launched)
    func.erase();
}

Value KernelBuilder::addArgument(Value onHost) {
  operands.push_back(onHost);
  SmallVector<Type> types(func.getArgumentTypes());
  types.push_back(onHost.getType());
  func.setFunctionType(body.getFunctionType(types, {}));
  return func.getBody().front().insertArgument(types.size() - 1, types.back(), loc);
}

Value KernelBuilder::passPointer(Value memref) { return addArgument(pointerOf(host, loc, memref)); }

Value KernelBuilder::passBuffer(Value memref) {
  if (Value inside = passed.lookup(memref))
    return inside;
  auto type = cast<MemRefType>(memref.getType());
  int64_t offset;
  SmallVector<int64_t> strides;
  (void)type.getStridesAndOffset(strides, offset);
  bool plain = type.getLayout().isIdentity();
  auto layout = plain ? MemRefLayoutAttrInterface() : StridedLayoutAttr::get(body.getContext(), 0, strides);
  auto local = MemRefType::get(type.getShape(), type.getElementType(), layout, type.getMemorySpace());

  SmallVector<Value> parts{passPointer(memref)};
  memref::ExtractStridedMetadataOp metadata;
  if (!type.hasStaticShape() || llvm::any_of(strides, ShapedType::isDynamic))
    metadata = memref::ExtractStridedMetadataOp::create(host, loc, memref);
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (type.isDynamicDim(d))
      parts.push_back(addArgument(metadata.getSizes()[d]));
  for (int64_t d = 0; d < type.getRank(); ++d)
    if (ShapedType::isDynamic(strides[d]))
      parts.push_back(addArgument(metadata.getStrides()[d]));
  Value inside = bufferAt(body, loc, local, parts);
  return passed[memref] = inside;
}

Value KernelBuilder::passScalar(Value scalar) {
  if (Value inside = passed.lookup(scalar))
    return inside;
  Attribute value;
  if (matchPattern(scalar, m_Constant(&value)))
    return passed[scalar] = arith::ConstantOp::create(body, loc, cast<TypedAttr>(value));
  return passed[scalar] = addArgument(scalar);
}

void KernelBuilder::launch(ArrayRef<OpFoldResult> grid, ArrayRef<int64_t> block, int64_t sharedBytes) {
  if (llvm::any_of(grid, [](OpFoldResult size) { return isConstantIntValue(size, 0); }))
    return;
  launched = true;
  SmallVector<int32_t> known;
  for (size_t i = 0; i < 3; ++i)
    known.push_back(i < block.size() ? block[i] : 1);
  func.setKnownBlockSize(known);
  func = kernels.unique(func);

  Value dims[2][3], empty, zero = arith::ConstantIndexOp::create(host, loc, 0);
  for (size_t i = 0; i < 3; ++i) {
    OpFoldResult size = i < grid.size() ? grid[i] : host.getIndexAttr(1);
    dims[0][i] = getValueOrCreateConstantIndexOp(host, loc, size);
    dims[1][i] = arith::ConstantIndexOp::create(host, loc, known[i]);
    if (getConstantIntValue(size))
      continue;
    Value none = arith::CmpIOp::create(host, loc, arith::CmpIPredicate::eq, dims[0][i], zero);
    empty = empty ? arith::OrIOp::create(host, loc, empty, none).getResult() : none;
  }
  OpBuilder::InsertionGuard guard(host);
  if (empty) {
    Value one = arith::ConstantIntOp::create(host, loc, 1, 1);
    Value some = arith::XOrIOp::create(host, loc, empty, one);
    auto branch = scf::IfOp::create(host, loc, some, false);
    host.setInsertionPointToStart(branch.thenBlock());
  }
  Value shared = sharedBytes ? arith::ConstantIntOp::create(host, loc, sharedBytes, 32).getResult() : Value();
  gpu::LaunchFuncOp::create(host, loc, func, gpu::KernelDim3{dims[0][0], dims[0][1], dims[0][2]},
                            gpu::KernelDim3{dims[1][0], dims[1][1], dims[1][2]}, shared, operands);
}
