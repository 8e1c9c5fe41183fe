// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// convert-ringconv-to-gpu.
#include "../RingConvToLoops/Loops.h"
#include "Epilogue.h"
#include "Kernels.h"
#include "Operations.h"
#include "ringconv/Conversion/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace ringconv {
#define GEN_PASS_DEF_CONVERTRINGCONVTOGPUPASS
#include "ringconv/Conversion/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

namespace {
struct ConvertRingConvToGPUPass : ringconv::impl::ConvertRingConvToGPUPassBase<ConvertRingConvToGPUPass> {
  using ConvertRingConvToGPUPassBase::ConvertRingConvToGPUPassBase;

  void runOnOperation() override {
    if (!tile.empty() && tile.size() != 5) {
      getOperation().emitError() << "tile: expected 5 numbers, got " << tile.size();
      return signalPassFailure();
    }
    KernelModule kernels(getOperation());
    if (getOperation().lookupSymbol("ringconv_cuda_pack"))
      makeBoxKernel(kernels);
    for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
      if (failed(convert(func, kernels)))
        return signalPassFailure();
  }

private:
  /// The stack of host code is the host's: descriptors for calls of the runtime.
  static bool isDeviceStore(Operation *op) {
    auto store = dyn_cast<memref::StoreOp>(op);
    return store && !store.getMemRef().getDefiningOp<memref::AllocaOp>();
  }

  GPUOptions kernelOptions() {
    GPUOptions options{arch, fast};
    if (!tile.empty())
      options.tile = Tile{tile[0], tile[1], tile[2], tile[3], tile[4]};
    return options;
  }

  LogicalResult convert(func::FuncOp func, KernelModule &kernels) {
    auto epilogues = findEpilogues(func, [&](LocalConvOp conv) { return doesEpilogues(conv, kernelOptions()); });
    SmallVector<Operation *> ops;
    llvm::SetVector<Operation *> done; // by convolutions
    for (auto &[conv, epilogue] : epilogues)
      done.insert(epilogue.op);
    func.walk([&](Operation *op) {
      if (isa<LocalConvOp, LocalPoolOp, linalg::LinalgOp, memref::CopyOp>(op) || isDeviceStore(op))
        if (!done.contains(op))
          ops.push_back(op);
    });
    for (Operation *op : ops) {
      auto *epilogue = epilogues.find(op);
      if (failed(convert(op, kernels, epilogue == epilogues.end() ? nullptr : &epilogue->second)))
        return failure();
    }
    for (Operation *op : done)
      op->erase();
    return success();
  }

  LogicalResult convert(Operation *op, KernelModule &kernels, const Epilogue *epilogue) {
    for (Value operand : op->getOperands())
      if (isa<TensorType>(operand.getType()))
        return op->emitOpError() << "must be bufferized first";
    if (auto conv = dyn_cast<LocalConvOp>(op))
      return convertConv(conv, kernels, epilogue), success();
    if (auto pool = dyn_cast<LocalPoolOp>(op)) {
      markWork(pool, pool.getReportAttr());
      makePlainKernel(pool, kernels);
      return pool.erase(), success();
    }
    if (auto structured = dyn_cast<linalg::LinalgOp>(op))
      return makeKernel(structured, kernels);
    if (auto copy = dyn_cast<memref::CopyOp>(op))
      return makeKernel(copy, kernels), success();
    return makeKernel(cast<memref::StoreOp>(op), kernels), success();
  }

  void convertConv(LocalConvOp op, KernelModule &kernels, const Epilogue *epilogue) {
    markWork(op, op.getReportAttr());
    std::string reason = "plain kernels were asked for";
    FailureOr<std::string> chosen = failure();
    if (fast)
      chosen = selectConvKernel(op, kernels, kernelOptions(), epilogue, reason);
    if (failed(chosen)) {
      makePlainKernel(op, kernels, epilogue);
      chosen = "plain, one thread per element: " + reason;
    }
    op.emitRemark() << "kernel: " << *chosen << (epilogue ? ", and what stands behind it elementwise" : "");
    op.erase();
  }
};
} // namespace
