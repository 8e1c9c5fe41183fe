// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ringconv/Conversion/Passes.h"
#include "ringconv/Dialect/RingConv/Transforms/Passes.h"
#include "ringconv/Pipelines/Pipelines.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/Transforms/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// Kernels to NVVM. Buffers become descriptors before anything looks at memrefs,
/// and functions become arithmetic.
void ringconv::buildKernelPipeline(OpPassManager &module) {
  auto &pm = module.nest<gpu::GPUModuleOp>();
  pm.addPass(ringconv::createLowerBufferCastsPass());
  pm.addPass(math::createMathExtendToSupportedTypes());
  pm.addPass(ringconv::createExpandMathPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(arith::createArithExpandOpsPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertNVGPUToNVVMPass());
  // Vectors too: only there are the gpu dialect's memory spaces known.
  pm.addPass(ringconv::createLowerKernelsPass());
  pm.addPass(createConvertNVVMToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void ringconv::buildCudaLoweringPipeline(OpPassManager &pm, const CudaOptions &options) {
  pm.addNestedPass<func::FuncOp>(createLowerStartPass());
  pm.addNestedPass<func::FuncOp>(createCarryBuffersPass());
  // Packing and unpacking around sums are copies, which become kernels next.
  pm.addPass(createConvertRingConvToNCCLPass());
  // Copies of operands are for the next pass too.
  if (options.cudnn)
    pm.addPass(createConvertRingConvToCuDNNPass({options.cudnnWorkspace}));
  ConvertRingConvToGPUPassOptions gpu;
  gpu.arch = options.arch;
  gpu.fast = options.fastKernels;
  pm.addPass(createConvertRingConvToGPUPass(gpu));
  // Kernels and messages have said what memory they need beside the program's.
  pm.addPass(createPlanArenaPass());
  pm.addPass(createConvertRingConvToCUDAPass());
  buildKernelPipeline(pm);
  pm.addPass(ringconv::createLowerBufferCastsPass());
  buildLLVMPipeline(pm);
}

void ringconv::buildCudaPipeline(OpPassManager &pm, const CudaOptions &options, PartitionReport *report) {
  PartitionOptions partition;
  partition.mesh = options.mesh;
  partition.mergeHalos = options.mergeHalos;
  partition.overlap = options.overlap;
  partition.featuresLast = options.fastKernels && !options.cudnn;
  partition.report = report;
  buildPartitionPipeline(pm, partition);
  buildBufferizePipeline(pm, /*frees=*/false);
  buildCudaLoweringPipeline(pm, options);
}
