// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a thread stands in the matrix product, and what it knows of the filter.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_TILEPLACE_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_TILEPLACE_H

#include "ConvKernels.h"
#include "TapWalk.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace ringconv {

/// Grid: pixels, output features of a group, groups. Warps of a block: features
/// fastest.
struct TilePlace {
  using Value = mlir::Value;

  TilePlace(KernelCode &k, const ConvShape &shape, const Tile &tile) {
    thread = k.threadId();
    lane = k.bitAnd(thread, 31);
    firstPixel = k.mul(k.blockId(mlir::gpu::Dimension::x), tile.blockM);
    firstFeature = k.mul(k.blockId(mlir::gpu::Dimension::y), tile.blockN);
    group = mlir::isConstantIntValue(shape.groups, 1) ? k.constant(0) : k.blockId(mlir::gpu::Dimension::z);
    Value warp = k.shiftRight(thread, 5);
    warpM = k.mul(k.div(warp, tile.blockN / tile.warpN), tile.warpM);
    warpN = k.mul(k.rem(warp, tile.blockN / tile.warpN), tile.warpN);
  }

  Value thread, lane, firstPixel, firstFeature, group;
  /// Of this thread's warp, within the block.
  Value warpM, warpN;
};

/// The filter's numbers in the kernel.
class FilterReader {
public:
  using Value = mlir::Value;

  /// Makes the kernel's arguments for the filter.
  FilterReader(KernelCode &k, const ConvShape &shape)
      : pointer(k.pointer(shape.filter.buffer)), outputs(k.number(shape.outputs)), k(k), shape(shape),
        offset(k.number(shape.filter.offset)), batch(k.number(shape.filter.batch)),
        feature(k.number(shape.filter.feature)) {
    for (mlir::OpFoldResult stride : shape.filter.spatial)
      taps.push_back(k.number(stride));
  }

  /// The first output feature of a group.
  Value firstOutput(Value group) { return k.mul(group, outputs); }
  /// Offset of output feature `o` (of all groups) and input feature `i`, tap 0.
  Value row(Value o, Value i) { return k.add(offset, k.add(k.mul(o, batch), k.mul(i, feature))); }
  /// What input feature `i` further on and these taps add to it.
  Value step(Value i, mlir::ValueRange at) {
    Value offset = k.mul(i, feature);
    for (auto [tap, stride] : llvm::zip(at, taps))
      offset = k.add(offset, k.mul(tap, stride));
    return offset;
  }
  /// The distance of neighbouring terms, where input features and taps, in this
  /// order, are one dense dimension.
  std::optional<int64_t> termStride() const {
    std::optional<int64_t> last = mlir::getConstantIntValue(shape.filter.feature), expected;
    if (!shape.dims.empty())
      last = mlir::getConstantIntValue(shape.filter.spatial.back());
    expected = last;
    for (size_t d = shape.dims.size(); d-- > 0 && expected;) {
      if (mlir::getConstantIntValue(shape.filter.spatial[d]) != expected)
        return std::nullopt;
      *expected *= shape.dims[d].taps;
    }
    return mlir::getConstantIntValue(shape.filter.feature) == expected ? last : std::nullopt;
  }
  /// True if a block of `width` output features has some that do not exist.
  bool hasTail(int64_t width) const {
    std::optional<int64_t> known = mlir::getConstantIntValue(shape.outputs);
    return !known || *known % width != 0;
  }

  const Value pointer;
  /// Output features per group.
  const Value outputs;

private:
  KernelCode &k;
  const ConvShape &shape;
  Value offset, batch, feature;
  llvm::SmallVector<Value> taps;
};

/// Tells ptxas how many registers the kernel may use, by the tile.
void boundRegisters(KernelCode &k, const Tile &tile);

/// Ends the kernel and launches it on the grid of TilePlace; `slices` may take the
/// place of groups.
void launchTiles(KernelCode &k, const ConvShape &shape, const Tile &tile, int64_t sharedBytes, int64_t slices = 1);

} // namespace ringconv

#endif
