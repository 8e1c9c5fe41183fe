// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pipelines, as functions that tools, libraries and tests call alike.
#ifndef RINGCONV_PIPELINES_PIPELINES_H
#define RINGCONV_PIPELINES_PIPELINES_H

#include "ringconv/Config.h"

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"
#include "ringconv/Dialect/RingConv/Transforms/Report.h"

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace ringconv {

struct PartitionOptions : mlir::PassPipelineOptions<PartitionOptions> {
  Option<std::string> mesh{*this, "mesh", llvm::cl::desc("axis=extent,...: other extents for the mesh")};
  Option<bool> mergeHalos{*this, "merge-halos", llvm::cl::desc("one exchange for several tensors"),
                          llvm::cl::init(true)};
  Option<bool> overlap{*this, "overlap", llvm::cl::desc("compute the interior while halos travel"),
                       llvm::cl::init(true)};
  Option<bool> startReductions{*this, "start-reductions",
                               llvm::cl::desc("all-reduces together, behind the work after them"),
                               llvm::cl::init(true)};
  Option<bool> alwaysOverlap{*this, "always-overlap",
                             llvm::cl::desc("overlap however small the pieces are"), llvm::cl::init(false)};
  Option<bool> featuresLast{*this, "features-last", llvm::cl::desc("16-bit convolutions with features last"),
                            llvm::cl::init(false)};
  /// Filled by the partition pass; null: not wanted. Outlives the pipeline.
  PartitionReport *report = nullptr;
};

/// A user's program to the partitioned program, exchanges as start and wait.
void buildPartitionPipeline(mlir::OpPassManager &pm, const PartitionOptions &options);

struct HostOptions : mlir::PassPipelineOptions<HostOptions> {
  Option<std::string> mesh{*this, "mesh", llvm::cl::desc("axis=extent,...: other extents for the mesh")};
  Option<bool> mergeHalos{*this, "merge-halos", llvm::cl::desc("one exchange for several tensors"),
                          llvm::cl::init(true)};
  Option<bool> overlap{*this, "overlap", llvm::cl::desc("compute the interior while halos travel"),
                       llvm::cl::init(true)};
  Option<bool> startReductions{*this, "start-reductions",
                               llvm::cl::desc("all-reduces together, behind the work after them"),
                               llvm::cl::init(true)};
  Option<bool> vectorize{*this, "vectorize", llvm::cl::desc("use vectorised kernels where they fit"),
                         llvm::cl::init(true)};
  Option<int64_t> vectorWidth{*this, "vector-width", llvm::cl::desc("f32 lanes: 8 or 16"), llvm::cl::init(8)};
  Option<bool> count{*this, "count-multiply-adds", llvm::cl::desc("count multiply-adds at run time"),
                     llvm::cl::init(false)};
};

/// Partitioned program on tensors to memrefs; with `frees` these are placed too.
void buildBufferizePipeline(mlir::OpPassManager &pm, bool frees = true);
/// Memrefs to the LLVM dialect, with calls of the host runtime.
void buildHostLoweringPipeline(mlir::OpPassManager &pm, const HostOptions &options);
/// What is left after our own conversions, to the LLVM dialect.
void buildLLVMPipeline(mlir::OpPassManager &pm);
/// Everything, from a user's program to the LLVM dialect.
void buildHostPipeline(mlir::OpPassManager &pm, const HostOptions &options, PartitionReport *report = nullptr);
/// The uncut program by plain loops with f64 accumulation, to the LLVM dialect.
void buildReferencePipeline(mlir::OpPassManager &pm);

#if RINGCONV_ENABLE_CUDA
struct CudaOptions : mlir::PassPipelineOptions<CudaOptions> {
  Option<std::string> mesh{*this, "mesh", llvm::cl::desc("axis=extent,...: other extents for the mesh")};
  Option<bool> mergeHalos{*this, "merge-halos", llvm::cl::desc("one exchange for several tensors"),
                          llvm::cl::init(true)};
  Option<bool> overlap{*this, "overlap", llvm::cl::desc("compute the interior while halos travel"),
                       llvm::cl::init(true)};
  Option<int64_t> arch{*this, "arch", llvm::cl::desc("oldest architecture: 80, 90 or 100"), llvm::cl::init(80)};
  Option<bool> fastKernels{*this, "fast-kernels", llvm::cl::desc("use the families of fast kernels where they fit"),
                           llvm::cl::init(true)};
  Option<bool> cudnn{*this, "cudnn", llvm::cl::desc("local convolutions by cuDNN where it can"), llvm::cl::init(false)};
  Option<int64_t> cudnnWorkspace{*this, "cudnn-workspace",
                                 llvm::cl::desc("bytes that one of its convolutions may use"),
                                 llvm::cl::init(int64_t(64) << 20)};
};

/// The kernels of a module's gpu.module to NVVM.
void buildKernelPipeline(mlir::OpPassManager &module);
/// Memrefs to the LLVM dialect, with calls of the CUDA driver and NCCL; kernels
/// to NVVM in a gpu.module beside.
void buildCudaLoweringPipeline(mlir::OpPassManager &pm, const CudaOptions &options);
/// Everything, from a user's program to the LLVM dialect and NVVM.
void buildCudaPipeline(mlir::OpPassManager &pm, const CudaOptions &options, PartitionReport *report = nullptr);
#endif

/// Passes and pipelines, under their flags.
void registerPasses();
void registerPipelines();
/// The dialect, what it and the pipelines depend on, and our interface models.
void registerDialects(mlir::DialectRegistry &registry);

} // namespace ringconv

#endif
