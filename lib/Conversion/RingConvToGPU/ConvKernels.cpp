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

static std::string describe(StringRef name, const Tile &tile, size_t launches, bool copied) {
  std::string text = llvm::formatv("{0}, {1}x{2} outputs a block, {3}x{4} a warp, {5} slots", name, tile.blockM,
                                   tile.blockN, tile.warpM, tile.warpN, tile.stages);
  if (launches != 1)
    text += llvm::formatv(", {0} residues of its dilated input", launches);
  return copied ? text + ", operands copied into its layout" : text;
}

FailureOr<std::string> ringconv::selectConvKernel(LocalConvOp op, KernelModule &kernels, const GPUOptions &options,
                                                  std::string &reason) {
  OpBuilder b(op);
  std::optional<ConvShape> whole = describeConv(b, op, reason);
  if (!whole)
    return failure();
  bool tensorCores = whole->element.isF16() || whole->element.isBF16();
  reason = tensorCores ? whyNotImplicitGemmF16(*whole) : whyNotImplicitGemmFMA(*whole);
  if (!reason.empty())
    return failure();
  if (splitDilatedInput(b, op.getLoc(), *whole).empty())
    return reason = "the phase of its dilated input is not known and its dilations have a common factor", failure();
  bool copied = tensorCores ? prepareImplicitGemmF16(op, kernels, *whole) : prepareImplicitGemmFMA(op, kernels, *whole);
  reverseTaps(b, op.getLoc(), *whole);
  std::vector<ConvShape> shapes = splitDilatedInput(b, op.getLoc(), *whole);
  SmallVector<TileOption> tiles = tensorCores ? tilesF16() : tilesFMA(*whole);
  Tile tile = options.tile.value_or(tileFor(tiles, shapes[0], options));
  for (const ConvShape &shape : shapes)
    tensorCores ? makeImplicitGemmF16(op, kernels, shape, tile) : makeImplicitGemmFMA(op, kernels, shape, tile);
  StringRef name = tensorCores ? "matrix product on tensor cores" : "matrix product by fused multiply-adds";
  return describe(name, tile, shapes.size(), copied);
}
