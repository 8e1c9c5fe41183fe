// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ringconv/Conversion/Passes.h"
#include "ringconv/Dialect/RingConv/IR/RingConv.h"
#include "ringconv/Dialect/RingConv/Transforms/Passes.h"
#include "ringconv/Pipelines/Pipelines.h"

#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Transforms/BufferDeallocationOpInterfaceImpl.h"
#include "mlir/Dialect/Arith/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/FuncBufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/ControlFlow/Transforms/BufferDeallocationOpInterfaceImpl.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/Linalg/Transforms/TilingInterfaceImpl.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/MemRef/Transforms/AllocationOpInterfaceImpl.h"
#include "mlir/Dialect/NVGPU/IR/NVGPUDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/BufferDeallocationOpInterfaceImpl.h"
#include "mlir/Dialect/SCF/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Shard/IR/ShardDialect.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Tensor/IR/TensorInferTypeOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/BufferizableOpInterfaceImpl.h"
#include "mlir/Dialect/Tensor/Transforms/SubsetInsertionOpInterfaceImpl.h"
#include "mlir/Dialect/Tosa/IR/TosaOps.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Dialect/Vector/Transforms/BufferizableOpInterfaceImpl.h"

using namespace mlir;

void ringconv::registerDialects(DialectRegistry &registry) {
  registry.insert<RingConvDialect, affine::AffineDialect, arith::ArithDialect, bufferization::BufferizationDialect,
                  cf::ControlFlowDialect, func::FuncDialect, LLVM::LLVMDialect, linalg::LinalgDialect,
                  math::MathDialect, memref::MemRefDialect, scf::SCFDialect, shard::ShardDialect, tensor::TensorDialect,
                  tosa::TosaDialect, ub::UBDialect, vector::VectorDialect>();
  registerBufferizationModels(registry);
  arith::registerBufferDeallocationOpInterfaceExternalModels(registry);
  arith::registerBufferizableOpInterfaceExternalModels(registry);
  bufferization::func_ext::registerBufferizableOpInterfaceExternalModels(registry);
  cf::registerBufferDeallocationOpInterfaceExternalModels(registry);
  linalg::registerBufferizableOpInterfaceExternalModels(registry);
  linalg::registerSubsetOpInterfaceExternalModels(registry);
  linalg::registerTilingInterfaceExternalModels(registry);
  memref::registerAllocationOpInterfaceExternalModels(registry);
  scf::registerBufferDeallocationOpInterfaceExternalModels(registry);
  scf::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerBufferizableOpInterfaceExternalModels(registry);
  tensor::registerInferTypeOpInterfaceExternalModels(registry);
  tensor::registerSubsetOpInterfaceExternalModels(registry);
  vector::registerBufferizableOpInterfaceExternalModels(registry);
#if RINGCONV_ENABLE_CUDA
  registry.insert<gpu::GPUDialect, nvgpu::NVGPUDialect, NVVM::NVVMDialect>();
  // convert-nvvm-to-llvm asks the dialect how.
  registerConvertNVVMToLLVMInterface(registry);
#endif
}

void ringconv::registerPasses() {
  registerRingConvPasses();
#if RINGCONV_ENABLE_CUDA
  registerRingConvConversionPasses();
#else
  registerConvertRingConvToLoopsPass();
  registerConvertRingConvToMPIPass();
  registerConvertRingConvToRuntimePass();
  registerLowerReferencePass();
#endif
}

void ringconv::registerPipelines() {
  PassPipelineRegistration<PartitionOptions>(
      "ringconv-partition-pipeline", "a user's program to the partitioned program, exchanges as start and wait",
      [](OpPassManager &pm, const PartitionOptions &options) { buildPartitionPipeline(pm, options); });
  PassPipelineRegistration<>("ringconv-bufferize", "the partitioned program on memrefs, frees placed",
                             [](OpPassManager &pm) { buildBufferizePipeline(pm); });
  PassPipelineRegistration<HostOptions>(
      "ringconv-host", "a user's program to the LLVM dialect with calls of the host runtime",
      [](OpPassManager &pm, const HostOptions &options) { buildHostPipeline(pm, options); });
#if RINGCONV_ENABLE_CUDA
  PassPipelineRegistration<CudaOptions>(
      "ringconv-cuda", "a user's program to the LLVM dialect with calls of the CUDA driver and NCCL, kernels to NVVM",
      [](OpPassManager &pm, const CudaOptions &options) { buildCudaPipeline(pm, options); });
#endif
}
