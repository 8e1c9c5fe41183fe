// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How kernels are made and launched, and where families of fast ones plug in.
//
// The seam. `convert-ringconv-to-gpu` asks selectConvKernel() for every
// ringconv.local_conv (selectPoolKernel() for pools); it either makes kernels
// and launches in front of the operation and says what it chose, or fails
// without a trace, and the plain kernel (PlainKernels.cpp: one thread per
// element of the result, any form) serves. Either way a remark says which.
//
// What a kernel may rely on:
//  * Memory is given by bare pointers (`!llvm.ptr` to element (0, ..., 0), its
//    offset already added) or, by passBuffer(), as a memref of the shape and the
//    strides it has on the host, offset 0; sizes and strides that are dynamic
//    travel as further arguments. Arguments and results of the program and
//    allocations begin at multiples of kBufferAlignment bytes; alignmentOf()
//    tells what a view keeps of it.
//  * Launches run in the order of the program on one stream. What an exchange
//    writes has arrived before the launches that stand after its wait.
//  * Workspace is a memref.alloc in front of the launch and a memref.dealloc
//    behind it; it becomes a place in the rank's arena.
//  * The module is lowered by upstream passes (nvgpu, vector, scf, gpu, nvvm;
//    see buildKernelPipeline): everything they take may stand in a kernel, but
//    no function of libdevice.
//
// What a family must keep: the bits of an element must not depend on where a
// tensor is cut. So the choice between ways of summing (order, tile of the
// reduction, tensor core or not) follows from element type, layout, window and
// the reduction's extent alone, never from the size of the shard, halos, or
// whether this is an interior or a border of a split result.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_KERNELS_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_KERNELS_H

#include "TileChoice.h"
#include "ringconv/Dialect/RingConv/IR/RingConv.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>

namespace ringconv {

/// What the code is made for.
struct GPUOptions {
  int64_t arch = 80; ///< the oldest of the architectures: 80, 90, 100
  bool fast = true;  ///< false: plain kernels only
  /// The tile of every convolution whose kernel has it, instead of the one that is
  /// expected to be fastest; for tests and tuning.
  std::optional<Tile> tile = std::nullopt;
};

/// Bytes to which every buffer of a rank is aligned.
inline constexpr int64_t kBufferAlignment = 16;
/// The alignment in bytes of element (0, ..., 0) of a memref: that of buffers,
/// less what static offsets leave of it, or the element's size.
int64_t alignmentOf(mlir::Value memref);

/// The kernels of a program: one gpu.module, in which equal kernels stand once.
class KernelModule {
public:
  explicit KernelModule(mlir::ModuleOp host) : host(host) {}

  /// Made when it is first asked for; for globals of shared memory.
  mlir::gpu::GPUModuleOp get();
  /// The kernel that has the same text (names aside), which replaces `func`; or
  /// `func` itself under a name of its own.
  mlir::gpu::GPUFuncOp unique(mlir::gpu::GPUFuncOp func);

private:
  mlir::ModuleOp host;
  mlir::gpu::GPUModuleOp module;
  llvm::StringMap<mlir::gpu::GPUFuncOp> byText;
  llvm::StringMap<int64_t> uses; ///< of each base name
};

/// One kernel and its launch. The body is built through `body`, whose insertion
/// point stands in front of the kernel's return; arguments are added as they
/// are needed.
class KernelBuilder {
public:
  /// The launch will stand in front of `op`.
  KernelBuilder(KernelModule &kernels, mlir::Operation *op, llvm::StringRef name);
  /// Erases a kernel that was never launched.
  ~KernelBuilder();

  /// The address of a memref's element (0, ..., 0), as `!llvm.ptr`.
  mlir::Value passPointer(mlir::Value memref);
  /// A memref, as a memref with offset 0.
  mlir::Value passBuffer(mlir::Value memref);
  /// An index, integer or float; a constant becomes one inside.
  mlir::Value passScalar(mlir::Value scalar);

  /// Host code in front of `op`; kernel code.
  mlir::OpBuilder host, body;
  mlir::Location loc;
  mlir::gpu::GPUFuncOp func;

  /// Ends the kernel and launches it. `grid` and `block` have up to three
  /// entries; a grid with a dynamic entry is launched only if it is not empty.
  /// `sharedBytes` is dynamic shared memory.
  void launch(llvm::ArrayRef<mlir::OpFoldResult> grid, llvm::ArrayRef<int64_t> block, int64_t sharedBytes = 0);

private:
  mlir::Value addArgument(mlir::Value onHost);

  KernelModule &kernels;
  std::string name;
  llvm::SmallVector<mlir::Value> operands;
  llvm::DenseMap<mlir::Value, mlir::Value> passed;
  bool launched = false;
};

struct Epilogue;

/// The seam. The name of the kernel chosen, for a remark, or why there is none.
/// `epilogue` may be null.
mlir::FailureOr<std::string> selectConvKernel(LocalConvOp op, KernelModule &kernels, const GPUOptions &options,
                                              const Epilogue *epilogue, std::string &reason);
/// Whether the kernel that will be chosen does epilogues.
bool doesEpilogues(LocalConvOp op, const GPUOptions &options);

/// Plain kernels, for every form.
void makePlainKernel(LocalConvOp op, KernelModule &kernels, const Epilogue *epilogue);
void makePlainKernel(LocalPoolOp op, KernelModule &kernels);

} // namespace ringconv

#endif
