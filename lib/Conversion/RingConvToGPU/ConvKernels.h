// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The family of convolution kernels: one builder per algorithm.
//
// Whatever the tile, a kernel adds the products of one output in the same order,
// so that the bits of a result do not depend on how many ranks compute it. The
// choice of the algorithm therefore depends only on what cutting batch, space or
// output features leaves alone: element types, input features, taps, and layout.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_CONVKERNELS_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_CONVKERNELS_H

#include "ConvShape.h"
#include "Kernels.h"
#include "TileChoice.h"

#include <vector>

namespace ringconv {

/// The convolution as ones whose input is not dilated, which write parts of the
/// result; none where the taps of a part are not known to the compiler.
std::vector<ConvShape> splitDilatedInput(mlir::OpBuilder &b, mlir::Location loc, const ConvShape &shape);

/// An algorithm.
struct ConvFamily {
  llvm::StringLiteral name;
  /// Whether its kernel does epilogues.
  bool doesEpilogues;
  /// Why it does not take a shape; empty where it does.
  std::string (*whyNot)(const ConvShape &shape);
  /// Brings operands into the layout that it reads, by kernels in front of `op`; true
  /// if any was copied.
  bool (*prepare)(LocalConvOp op, KernelModule &kernels, ConvShape &shape);
  /// Tiles whose copies divide evenly among the threads; none where it has no tiles.
  llvm::SmallVector<TileOption> (*tiles)(const ConvShape &shape);
  /// The kernel and its launch, for a shape without dilated input and reversed taps.
  void (*make)(LocalConvOp op, KernelModule &kernels, const ConvShape &shape, const Tile &tile);
};

/// One feature per group, features innermost.
extern const ConvFamily depthwise;
/// f16 and bf16, batch and output features innermost, any window, the sum split:
/// gradients of filters.
extern const ConvFamily filterGradientF16;
/// f16 and bf16, features innermost, products on tensor cores.
extern const ConvFamily implicitGemmF16;
/// f32 and f64, any layout, products by fused multiply-adds.
extern const ConvFamily implicitGemmFMA;
/// The same with any window, the sum split.
extern const ConvFamily gatherGemmFMA;

} // namespace ringconv

#endif
