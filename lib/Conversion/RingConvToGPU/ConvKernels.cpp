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

/// The tile that is asked for, if it is one of these, or that of least cost. Sizes
/// that differ by rank count as large.
static Tile tileFor(ArrayRef<TileOption> options, const ConvShape &shape, const GPUOptions &gpu) {
  for (const TileOption &option : options)
    if (gpu.tile && option.tile == *gpu.tile)
      return option.tile;
  constexpr int64_t large = 1 << 20;
  int64_t pixels = getConstantIntValue(shape.batch).value_or(large);
  for (const ConvDim &dim : shape.dims)
    pixels *= getConstantIntValue(dim.outputs).value_or(32);
  return chooseTile(options, pixels, getConstantIntValue(shape.outputs).value_or(128),
                    getConstantIntValue(shape.groups).value_or(1), multiprocessors(gpu.arch));
}

/// The first that takes a shape does.
static const ConvFamily *const families[] = {&depthwise, &filterGradientF16, &implicitGemmF16, &implicitGemmFMA,
                                             &gatherGemmFMA};

static std::string describe(const ConvFamily &family, const Tile &tile, size_t launches, bool copied) {
  std::string text = family.name.str();
  if (family.tiles)
    text += llvm::formatv(", {0}x{1} outputs a block, {2}x{3} a warp, {4} slots", tile.blockM, tile.blockN, tile.warpM,
                          tile.warpN, tile.stages);
  if (launches != 1)
    text += llvm::formatv(", {0} residues of its dilated input", launches);
  return copied ? text + ", operands copied into its layout" : text;
}

/// Null if no family takes the shape.
static const ConvFamily *findFamily(const ConvShape &shape) {
  const auto *found = llvm::find_if(families, [&](const ConvFamily *f) { return f->whyNot(shape).empty(); });
  return found == std::end(families) ? nullptr : *found;
}

bool ringconv::doesEpilogues(LocalConvOp op, const GPUOptions &options) {
  OpBuilder b(op);
  std::string reason;
  std::optional<ConvShape> shape = describeConv(b, op, reason);
  const ConvFamily *family = shape && options.fast ? findFamily(*shape) : nullptr;
  return !family || family->doesEpilogues; // plain kernels do
}

FailureOr<std::string> ringconv::selectConvKernel(LocalConvOp op, KernelModule &kernels, const GPUOptions &options,
                                                  const Epilogue *epilogue, std::string &reason) {
  OpBuilder b(op);
  std::optional<ConvShape> whole = describeConv(b, op, reason);
  if (!whole)
    return failure();
  whole->epilogue = epilogue;
  const ConvFamily *found = findFamily(*whole);
  if (!found) {
    bool half = whole->element.isF16() || whole->element.isBF16();
    reason = (half ? implicitGemmF16 : implicitGemmFMA).whyNot(*whole);
    return failure();
  }
  const ConvFamily &family = *found;
  if (splitDilatedInput(b, op.getLoc(), *whole).empty())
    return reason = "the phase of its dilated input is not known and its dilations have a common factor", failure();
  bool copied = family.prepare(op, kernels, *whole);
  reverseTaps(b, op.getLoc(), *whole);
  std::vector<ConvShape> shapes = splitDilatedInput(b, op.getLoc(), *whole);
  Tile tile;
  if (family.tiles)
    tile = tileFor(family.tiles(*whole), shapes[0], options);
  for (const ConvShape &shape : shapes)
    family.make(op, kernels, shape, tile);
  return describe(family, tile, shapes.size(), copied);
}
