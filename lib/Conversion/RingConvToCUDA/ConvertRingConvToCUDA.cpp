// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// convert-ringconv-to-cuda.
#include "../Common/BufferCasts.h"
#include "DriverCalls.h"
#include "ringconv/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"

namespace ringconv {
#define GEN_PASS_DEF_CONVERTRINGCONVTOCUDAPASS
#include "ringconv/Conversion/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

namespace {

/// What is left of a function, as calls.
class LaunchCalls : public DriverCalls {
public:
  LaunchCalls(ModuleOp module, func::FuncOp func, SmallVectorImpl<Attribute> &kernels,
              SmallVectorImpl<Attribute> &constants, SmallVectorImpl<int64_t> &shared)
      : DriverCalls(module, func), kernels(kernels), constants(constants), shared(shared) {}

  /// Host memory is left alone: scratch of the calls themselves.
  void lowerDeviceOps();

private:
  void lowerLaunch(gpu::LaunchFuncOp op);
  void lowerCopy(memref::CopyOp op);
  void lowerConstant(memref::GetGlobalOp op);
  void lowerLoad(memref::LoadOp op);
  Value slot(Type type);

  SmallVectorImpl<Attribute> &kernels, &constants;
  SmallVectorImpl<int64_t> &shared; ///< bytes of each kernel
};

} // namespace

/// A word of the host's stack, in the entry block: loops reuse it.
Value LaunchCalls::slot(Type type) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&func.getBody().front());
  return LLVM::AllocaOp::create(b, loc, pointer, type, i64(1));
}

static int64_t numberOf(SmallVectorImpl<Attribute> &list, Attribute entry) {
  auto it = llvm::find(list, entry);
  int64_t number = it - list.begin();
  if (it == list.end())
    list.push_back(entry);
  return number;
}

/// cuLaunchKernel wants an array of the arguments' addresses.
void LaunchCalls::lowerLaunch(gpu::LaunchFuncOp op) {
  Value arguments;
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(&func.getBody().front());
    arguments = LLVM::AllocaOp::create(b, loc, pointer, pointer, i64(std::max<int64_t>(op.getNumKernelOperands(), 1)));
  }
  for (unsigned i = 0; i < op.getNumKernelOperands(); ++i) {
    Value value = op.getKernelOperand(i);
    if (value.getType().isIndex())
      value = toI64(value);
    Value place = slot(value.getType());
    LLVM::StoreOp::create(b, loc, value, place);
    Value entry = LLVM::GEPOp::create(b, loc, pointer, pointer, arguments, ArrayRef<LLVM::GEPArg>{int32_t(i)});
    LLVM::StoreOp::create(b, loc, place, entry);
  }
  int64_t number = numberOf(kernels, op.getKernelName());
  shared.resize(kernels.size());
  APInt bytes;
  if (op.getDynamicSharedMemorySize() && matchPattern(op.getDynamicSharedMemorySize(), m_ConstantInt(&bytes)))
    shared[number] = std::max(shared[number], bytes.getSExtValue());
  Value kernel = call("ringconv_cuda_kernel", {context, i64(number)}, pointer);
  SmallVector<Value> args{kernel};
  auto add = [&](gpu::KernelDim3 dims) {
    for (Value v : {dims.x, dims.y, dims.z})
      args.push_back(arith::IndexCastOp::create(b, loc, b.getI32Type(), v));
  };
  add(op.getGridSizeOperandValues());
  add(op.getBlockSizeOperandValues());
  args.push_back(op.getDynamicSharedMemorySize() ? op.getDynamicSharedMemorySize() : i32(0));
  args.append({stream(Stream::Compute), arguments, LLVM::ZeroOp::create(b, loc, pointer)});
  status("cuLaunchKernel", args);
  op.erase();
}

/// Only copies between whole buffers are left.
void LaunchCalls::lowerCopy(memref::CopyOp op) {
  auto type = cast<MemRefType>(op.getSource().getType());
  Value bytes = i64(elementBytes(type.getElementType()));
  for (int64_t d = 0; d < type.getRank(); ++d) {
    Value size =
        type.isDynamicDim(d) ? toI64(memref::DimOp::create(b, loc, op.getSource(), d)) : i64(type.getDimSize(d));
    bytes = arith::MulIOp::create(b, loc, bytes, size);
  }
  Value from = pointerOf(b, loc, op.getSource()), to = pointerOf(b, loc, op.getTarget());
  status("cuMemcpyDtoDAsync_v2", {to, from, bytes, stream(Stream::Compute)});
  op.erase();
}

void LaunchCalls::lowerConstant(memref::GetGlobalOp op) {
  int64_t number = numberOf(constants, op.getNameAttr());
  Value data = call("ringconv_cuda_constant", {context, i64(number)}, pointer);
  op.replaceAllUsesWith(bufferAt(b, loc, op.getType(), data));
  op.erase();
}

void LaunchCalls::lowerLoad(memref::LoadOp op) {
  auto type = op.getMemRefType();
  Value address = pointerOf(b, loc, op.getMemRef()), offset = arith::ConstantIndexOp::create(b, loc, 0);
  auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, op.getMemRef());
  for (auto [index, stride] : llvm::zip(op.getIndices(), metadata.getStrides()))
    offset = arith::AddIOp::create(b, loc, offset, arith::MulIOp::create(b, loc, index, stride));
  int64_t bytes = elementBytes(type.getElementType());
  Type element = type.getElementType().isIndex() ? b.getI64Type() : type.getElementType();
  Value target = slot(element);
  Value distance = arith::MulIOp::create(b, loc, toI64(offset), i64(bytes));
  Value from = LLVM::GEPOp::create(b, loc, pointer, b.getI8Type(), address, ArrayRef<LLVM::GEPArg>{distance});
  call("ringconv_cuda_read", {context, target, from, i64(bytes)}, b.getI32Type());
  Value value = LLVM::LoadOp::create(b, loc, element, target);
  if (type.getElementType().isIndex())
    value = arith::IndexCastOp::create(b, loc, b.getIndexType(), value);
  op.replaceAllUsesWith(value);
  op.erase();
}

static bool isScratch(Value memref) { return isa_and_present<memref::AllocaOp>(memref.getDefiningOp()); }

void LaunchCalls::lowerDeviceOps() {
  SmallVector<Operation *> ops;
  func.walk([&](Operation *op) {
    if (isa<gpu::LaunchFuncOp, memref::CopyOp, memref::GetGlobalOp, memref::LoadOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    b.setInsertionPoint(op);
    loc = op->getLoc();
    if (auto launch = dyn_cast<gpu::LaunchFuncOp>(op))
      lowerLaunch(launch);
    else if (auto copy = dyn_cast<memref::CopyOp>(op))
      lowerCopy(copy);
    else if (auto constant = dyn_cast<memref::GetGlobalOp>(op))
      lowerConstant(constant);
    else if (auto load = cast<memref::LoadOp>(op); !isScratch(load.getMemRef()))
      lowerLoad(load);
  }
}

namespace {
struct ConvertRingConvToCUDAPass : ringconv::impl::ConvertRingConvToCUDAPassBase<ConvertRingConvToCUDAPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<Attribute> kernels, constants;
    SmallVector<int64_t> shared;
    for (func::FuncOp func : SmallVector<func::FuncOp>(module.getOps<func::FuncOp>())) {
      if (func.isExternal() || func.isPrivate())
        continue;
      // Lowered here they would become messages between hosts.
      auto left = func.walk([](Operation *op) {
        if (!isa<GroupOp, SendOp, RecvOp, AllReduceOp, StartReduceOp, ReduceScatterOp>(op))
          return WalkResult::advance();
        op->emitOpError() << "must be lowered by convert-ringconv-to-nccl first";
        return WalkResult::interrupt();
      });
      if (left.wasInterrupted())
        return signalPassFailure();
      LaunchCalls calls(module, func, kernels, constants, shared);
      calls.lowerDeviceOps();
      lowerToCalls(func, calls);
      dropShardAttributes(func);
      if (failed(lowerToBlocks(func)))
        return signalPassFailure();
      checkCalls(func);
    }
    for (MeshOp mesh : llvm::make_early_inc_range(module.getOps<MeshOp>()))
      mesh.erase();
    Builder b(&getContext());
    module->setAttr("ringconv.kernels", b.getArrayAttr(kernels));
    module->setAttr("ringconv.shared", b.getDenseI64ArrayAttr(shared));
    module->setAttr("ringconv.constants", b.getArrayAttr(constants));
  }
};
} // namespace
