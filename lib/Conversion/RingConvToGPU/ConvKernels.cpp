// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which family of kernels does a convolution.
#include "ConvKernels.h"
#include "TileChoice.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace ringconv;

/// Multiprocessors of the device that tiles are chosen for.
static int64_t multiprocessors(int64_t arch) { return arch >= 100 ? 148 : arch >= 90 ? 132 : 108; }

/// The tile of least cost; sizes that differ by rank count as large.
static Tile tileFor(ArrayRef<TileOption> options, const ConvShape &shape, const GPUOptions &gpu) {
  constexpr int64_t large = 1 << 20;
  int64_t pixels = getConstantIntValue(shape.batch).value_or(large);
  for (const ConvDim &dim : shape.dims)
    pixels *= getConstantIntValue(dim.outputs).value_or(32);
  return chooseTile(options, pixels, getConstantIntValue(shape.outputs).value_or(128),
                    getConstantIntValue(shape.groups).value_or(1), multiprocessors(gpu.arch));
}

static std::string describe(StringRef name, const Tile &tile) {
  return llvm::formatv("{0}, {1}x{2} outputs a block, {3}x{4} a warp, {5} slots", name, tile.blockM, tile.blockN,
                       tile.warpM, tile.warpN, tile.stages);
}

FailureOr<std::string> ringconv::selectConvKernel(LocalConvOp op, KernelModule &kernels, const GPUOptions &options,
                                                  std::string &reason) {
  OpBuilder b(op);
  std::optional<ConvShape> shape = describeConv(b, op, reason);
  if (!shape)
    return failure();
  bool tensorCores = shape->element.isF16() || shape->element.isBF16();
  reason = tensorCores ? whyNotImplicitGemmF16(*shape) : whyNotImplicitGemmFMA(*shape);
  if (!reason.empty())
    return failure();
  if (tensorCores) {
    Tile tile = options.tile.value_or(tileFor(tilesF16(), *shape, options));
    makeImplicitGemmF16(op, kernels, *shape, tile);
    return describe("matrix product on tensor cores", tile);
  }
  Tile tile = options.tile.value_or(tileFor(tilesFMA(*shape), *shape, options));
  makeImplicitGemmFMA(op, kernels, *shape, tile);
  return describe("matrix product by fused multiply-adds", tile);
}
