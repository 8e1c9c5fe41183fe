// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The family of convolution kernels: one builder per algorithm.
//
// Whatever the tile, a kernel adds the products of one output in the same order,
// so that the bits of a result do not depend on how many ranks compute it. The
// choice of the algorithm therefore depends only on what cutting batch, space or
// output features leaves alone: element types, input features, taps, and layout.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_CONVKERNEL_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_CONVKERNEL_H

#include "ConvShape.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace ringconv {

/// Pixels and output features of a block and of a warp, slots of the ring of
/// asynchronous copies.
struct Tile {
  int64_t blockM, blockN, warpM, warpN, stages;

  int64_t threads() const { return 32 * (blockM / warpM) * (blockN / warpN); }
};

/// A kernel and how to launch it. The grid is pixels / tileM by output features
/// of a group / tileN by groups, rounded up.
struct ConvKernel {
  mlir::gpu::GPUFuncOp func;
  /// Arguments: memrefs (the address of their first element), and `index` values
  /// that are passed as i32.
  llvm::SmallVector<mlir::Value> operands;
  int64_t tileM, tileN, threads, sharedBytes;
};

/// Why a kernel does not take a shape; empty where it does.
std::string whyNotImplicitGemmF16(const ConvShape &shape);
std::string whyNotImplicitGemmFMA(const ConvShape &shape);

/// f16 and bf16, features innermost, products on tensor cores.
ConvKernel buildImplicitGemmF16(mlir::gpu::GPUModuleOp module, mlir::Location loc, llvm::StringRef name,
                                const ConvShape &shape, const Tile &tile);

/// f32 and f64, any layout, products by fused multiply-adds.
ConvKernel buildImplicitGemmFMA(mlir::gpu::GPUModuleOp module, mlir::Location loc, llvm::StringRef name,
                                const ConvShape &shape, const Tile &tile);

} // namespace ringconv

#endif
