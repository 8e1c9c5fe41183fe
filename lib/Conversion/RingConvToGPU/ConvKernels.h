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

#include <vector>

namespace ringconv {

/// The convolution as ones whose input is not dilated, which write parts of the
/// result; none where the taps of a part are not known to the compiler.
std::vector<ConvShape> splitDilatedInput(mlir::OpBuilder &b, mlir::Location loc, const ConvShape &shape);

/// Why a kernel does not take a shape; empty where it does.
std::string whyNotImplicitGemmF16(const ConvShape &shape);
std::string whyNotImplicitGemmFMA(const ConvShape &shape);
std::string whyNotFilterGradientF16(const ConvShape &shape);
std::string whyNotGatherGemmFMA(const ConvShape &shape);

/// Brings operands into the layout that a kernel reads, by kernels in front of
/// `op`; true if any was copied.
bool prepareImplicitGemmF16(LocalConvOp op, KernelModule &kernels, ConvShape &shape);
bool prepareImplicitGemmFMA(LocalConvOp op, KernelModule &kernels, ConvShape &shape);
bool prepareFilterGradientF16(LocalConvOp op, KernelModule &kernels, ConvShape &shape);

/// f16 and bf16, features innermost, products on tensor cores.
void makeImplicitGemmF16(LocalConvOp op, KernelModule &kernels, const ConvShape &shape, const Tile &tile);

/// f32 and f64, any layout, products by fused multiply-adds.
void makeImplicitGemmFMA(LocalConvOp op, KernelModule &kernels, const ConvShape &shape, const Tile &tile);

/// f16 and bf16, batch and output features innermost, any window, the sum split:
/// gradients of filters.
void makeFilterGradientF16(LocalConvOp op, KernelModule &kernels, const ConvShape &shape, const Tile &tile);

/// f32 and f64, any layout, any window, the sum split.
void makeGatherGemmFMA(LocalConvOp op, KernelModule &kernels, const ConvShape &shape, const Tile &tile);

} // namespace ringconv

#endif
