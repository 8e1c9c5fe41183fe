// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The order of passes, and why.
#include "ringconv/Pipelines/Pipelines.h"
#include "ringconv/Conversion/Passes.h"
#include "ringconv/Dialect/RingConv/Transforms/Partition.h"
#include "ringconv/Dialect/RingConv/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

/// Other dialects' convolutions and pools to ours; what else tosa holds becomes
/// linalg, arith and tensor, whose pads and slices are then raised too.
static void buildRaisePipeline(OpPassManager &pm) {
  pm.addPass(ringconv::createRaisePass());
  pm.addNestedPass<func::FuncOp>(tosa::createTosaToLinalgNamed());
  pm.addNestedPass<func::FuncOp>(tosa::createTosaToLinalg());
  pm.addNestedPass<func::FuncOp>(createTosaToArithPass());
  pm.addNestedPass<func::FuncOp>(createTosaToTensorPass());
  pm.addPass(ringconv::createRaisePass());
}

void ringconv::buildPartitionPipeline(OpPassManager &pm, const PartitionOptions &options) {
  buildRaisePipeline(pm);
  if (!options.mesh.empty())
    pm.addPass(createSetMeshPass(SetMeshPassOptions{options.mesh}));
  // Before halos are placed, so that they travel in the layout that is computed in.
  if (options.featuresLast)
    pm.addNestedPass<func::FuncOp>(createFeaturesLastPass());
  pm.addPass(createPartitionPass(options.report));
  // Numbers that are the same for all ranks become static sizes.
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  pm.addNestedPass<func::FuncOp>(createLowerHaloPass());
  // Merge before overlap: waits then stand where the first of the merged ones
  // was, and interiors go before them.
  if (options.mergeHalos)
    pm.addNestedPass<func::FuncOp>(createMergeHalosPass());
  OverlapPassOptions overlap;
  if (options.alwaysOverlap)
    overlap.minEdge = overlap.minInterior = 0;
  if (options.overlap)
    pm.addNestedPass<func::FuncOp>(createOverlapPass(overlap));
  // Behind overlap, whose waits are where sums are needed.
  if (options.startReductions)
    pm.addNestedPass<func::FuncOp>(createStartReductionsPass());
  pm.addPass(createVerifyPartitionedPass());
}

void ringconv::buildBufferizePipeline(OpPassManager &pm, bool frees) {
  pm.addNestedPass<func::FuncOp>(createConvertElementwiseToLinalgPass());
  pm.addNestedPass<func::FuncOp>(createLinalgGeneralizeNamedOpsPass());
  pm.addNestedPass<func::FuncOp>(createLinalgElementwiseOpFusionPass());
  pm.addNestedPass<func::FuncOp>(createPrepareBuffersPass());
  // Destinations before CSE, which would merge equal tensor.empty: two results
  // in one buffer are then computed and copied apart again.
  pm.addPass(bufferization::createEmptyTensorEliminationPass());
  pm.addPass(bufferization::createEmptyTensorToAllocTensorPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
  bufferization::OneShotBufferizePassOptions bufferize;
  bufferize.bufferizeFunctionBoundaries = true;
  // A step of a loop may give its result a buffer of its own.
  bufferize.allowReturnAllocsFromLoops = true;
  bufferize.functionBoundaryTypeConversion = bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(bufferize));
  // CSE makes self-copies visible, the canonicalizer drops them.
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
  bufferization::BufferResultsToOutParamsPassOptions results;
  results.hoistStaticAllocs = true;
  results.hoistDynamicAllocs = true;
  results.modifyPublicFunctions = true;
  pm.addPass(bufferization::createBufferResultsToOutParamsPass(results));
  if (frees) {
    bufferization::buildBufferDeallocationPipeline(pm, bufferization::BufferDeallocationPipelineOptions());
    pm.addNestedPass<func::FuncOp>(bufferization::createOptimizeAllocationLivenessPass());
  }
  pm.addPass(createCSEPass());
  pm.addPass(createCanonicalizerPass());
}

void ringconv::buildLLVMPipeline(OpPassManager &pm) {
  pm.addPass(createConvertLinalgToLoopsPass());
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  arith::ArithExpandOpsPassOptions expand;
  expand.includeBf16 = true;
  pm.addPass(arith::createArithExpandOpsPass(expand));
  // What has no intrinsic is a call for each element, taken out of its vector.
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createConvertMathToLibmPass());
  ConvertVectorToLLVMPassOptions vectors;
  vectors.vectorTransposeLowering = vector::VectorTransposeLowering::Shuffle16x16;
  pm.addPass(createConvertVectorToLLVMPass(vectors));
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void ringconv::buildHostLoweringPipeline(OpPassManager &pm, const HostOptions &options) {
  pm.addNestedPass<func::FuncOp>(createLowerStartPass());
  ConvertRingConvToLoopsPassOptions loops;
  loops.vectorize = options.vectorize;
  loops.vectorWidth = options.vectorWidth;
  loops.count = options.count;
  pm.addNestedPass<func::FuncOp>(createConvertRingConvToLoopsPass(loops));
  // linalg becomes loops before control flow becomes blocks.
  pm.addPass(createConvertLinalgToLoopsPass());
  pm.addPass(createConvertRingConvToRuntimePass());
  pm.addNestedPass<func::FuncOp>(createCheckAllocationsPass());
  buildLLVMPipeline(pm);
}

void ringconv::buildHostPipeline(OpPassManager &pm, const HostOptions &options, PartitionReport *report) {
  PartitionOptions partition;
  partition.mesh = options.mesh;
  partition.mergeHalos = options.mergeHalos;
  partition.overlap = options.overlap;
  partition.startReductions = options.startReductions;
  partition.report = report;
  buildPartitionPipeline(pm, partition);
  buildBufferizePipeline(pm);
  buildHostLoweringPipeline(pm, options);
}

void ringconv::buildReferencePipeline(OpPassManager &pm) {
  buildRaisePipeline(pm);
  pm.addPass(createLowerReferencePass());
  buildBufferizePipeline(pm);
  // Only copies are left for it.
  ConvertRingConvToLoopsPassOptions loops;
  loops.vectorize = false;
  pm.addNestedPass<func::FuncOp>(createConvertRingConvToLoopsPass(loops));
  pm.addPass(createConvertLinalgToLoopsPass());
  pm.addNestedPass<func::FuncOp>(createCheckAllocationsPass());
  buildLLVMPipeline(pm);
}
