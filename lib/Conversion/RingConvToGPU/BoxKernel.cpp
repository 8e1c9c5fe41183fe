// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel that packs and unpacks the boxes of an exchange: all of them in one
// launch, each by the blocks of one number in y. Its argument is an array of
// `rcrt_box_copy` (runtime/cuda/Boxes.h) by value, which says what goes where.
#include "Elements.h"
#include "Operations.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace ringconv;

namespace {
/// As in runtime/cuda/Boxes.h.
enum : int32_t { kMaxRank = 8, kMaxBoxes = 16 };
enum Field : int32_t { kFrom, kTo, kElements, kRank, kWidth, kSizes, kFromStrides, kToStrides };

Type boxType(MLIRContext *ctx) {
  Builder b(ctx);
  Type pointer = LLVM::LLVMPointerType::get(ctx), i64 = b.getI64Type(), i32 = b.getI32Type();
  Type row = LLVM::LLVMArrayType::get(i64, kMaxRank);
  return LLVM::LLVMStructType::getLiteral(ctx, {pointer, pointer, i64, i32, i32, row, row, row});
}

class BoxKernel {
public:
  explicit BoxKernel(LLVM::LLVMFuncOp func)
      : b(func.getContext()), loc(func.getLoc()), l{b, loc}, boxes(func.getArgument(0)) {
    pointer = LLVM::LLVMPointerType::get(func.getContext());
    box = boxType(func.getContext());
    b.setInsertionPointToEnd(&func.getBody().front());
  }

  void build();

private:
  Value load(Field field, Value entry = {}) {
    Type type = field <= kTo ? Type(pointer) : field == kRank || field == kWidth ? b.getI32Type() : b.getI64Type();
    SmallVector<LLVM::GEPArg> path{number, int32_t(field)};
    if (entry)
      path.push_back(entry);
    Value address = LLVM::GEPOp::create(b, loc, pointer, box, boxes, path);
    Value value = LLVM::LoadOp::create(b, loc, type, address);
    return type == pointer ? value : arith::IndexCastOp::create(b, loc, b.getIndexType(), value).getResult();
  }
  Value toI64(Value index) { return arith::IndexCastOp::create(b, loc, b.getI64Type(), index); }
  void copyElement(Value linear);
  void copyWidth(Value from, Value to, Value width);

  OpBuilder b;
  Location loc;
  Loops l;
  Value boxes, number;
  LLVM::LLVMPointerType pointer;
  Type box;
};
} // namespace

/// `width` bytes: 1, 2, 4, 8 or 16, to which both addresses are aligned.
void BoxKernel::copyWidth(Value from, Value to, Value width) {
  int64_t widths[] = {1, 2, 4, 8};
  auto branch = scf::IndexSwitchOp::create(b, loc, TypeRange(), width, widths, 4);
  auto fill = [&](Block &block, Type type, int64_t bytes) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&block);
    Value value = LLVM::LoadOp::create(b, loc, type, from, bytes);
    LLVM::StoreOp::create(b, loc, value, to, bytes);
    scf::YieldOp::create(b, loc);
  };
  for (auto [i, bytes] : llvm::enumerate(widths))
    fill(branch.getCaseRegions()[i].emplaceBlock(), b.getIntegerType(8 * bytes), bytes);
  fill(branch.getDefaultRegion().emplaceBlock(), VectorType::get({2}, b.getI64Type()), 16);
}

void BoxKernel::copyElement(Value linear) {
  Value zero = l.constant(0), rank = load(kRank);
  SmallVector<Value> state = l.forLoop(zero, rank, {linear, zero, zero}, [&](Value i, ValueRange s) {
    Value d = toI64(l.sub(l.sub(rank, l.constant(1)), i)), size = load(kSizes, d);
    Value c = arith::RemUIOp::create(b, loc, s[0], size), rest = arith::DivUIOp::create(b, loc, s[0], size);
    return SmallVector<Value>{rest, l.add(s[1], l.mul(c, load(kFromStrides, d))),
                              l.add(s[2], l.mul(c, load(kToStrides, d)))};
  });
  Value width = load(kWidth);
  auto at = [&](Field base, Value offset) {
    Value bytes = toI64(l.mul(offset, width));
    return LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), load(base), ArrayRef<LLVM::GEPArg>{bytes}).getResult();
  };
  copyWidth(at(kFrom, state[1]), at(kTo, state[2]), width);
}

void BoxKernel::build() {
  auto id = [&](auto op) { return op.getResult(); };
  Value block = id(gpu::BlockIdOp::create(b, loc, gpu::Dimension::x));
  Value blocks = id(gpu::GridDimOp::create(b, loc, gpu::Dimension::x));
  Value thread = id(gpu::ThreadIdOp::create(b, loc, gpu::Dimension::x));
  number = toI64(gpu::BlockIdOp::create(b, loc, gpu::Dimension::y));
  Value threads = l.constant(kBoxThreads);
  auto loop = scf::ForOp::create(b, loc, l.add(l.mul(block, threads), thread), load(kElements), l.mul(blocks, threads));
  b.setInsertionPointToStart(loop.getBody());
  copyElement(loop.getInductionVar());
  b.setInsertionPointAfter(loop);
  LLVM::ReturnOp::create(b, loc, ValueRange());
}

/// A function of the LLVM dialect, since gpu.func knows no arguments by value.
void ringconv::makeBoxKernel(KernelModule &kernels) {
  gpu::GPUModuleOp module = kernels.get();
  MLIRContext *ctx = module.getContext();
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(ctx), {LLVM::LLVMPointerType::get(ctx)});
  auto func = LLVM::LLVMFuncOp::create(b, module.getLoc(), "ringconv_boxes", type);
  func->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), b.getUnitAttr());
  func->setAttr(NVVM::NVVMDialect::getKernelFuncAttrName(), b.getUnitAttr());
  func->setAttr(NVVM::NVVMDialect::getMaxntidAttrName(), b.getDenseI32ArrayAttr({kBoxThreads, 1, 1}));
  func.setArgAttr(0, LLVM::LLVMDialect::getByValAttrName(),
                  TypeAttr::get(LLVM::LLVMArrayType::get(boxType(ctx), kMaxBoxes)));
  func.setArgAttr(0, LLVM::LLVMDialect::getAlignAttrName(), b.getI64IntegerAttr(8));
  func.setArgAttr(0, NVVM::NVVMDialect::getGridConstantAttrName(), b.getUnitAttr());
  func.addEntryBlock(b);
  BoxKernel(func).build();
}
