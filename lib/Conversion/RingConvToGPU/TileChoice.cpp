// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "TileChoice.h"

#include <limits>

using namespace ringconv;

static int64_t ceilDiv(int64_t x, int64_t y) { return (x + y - 1) / y; }

double ringconv::tileCost(const TileOption &option, int64_t pixels, int64_t outputs, int64_t groups,
                          int64_t multiprocessors) {
  const Tile &tile = option.tile;
  int64_t blocks = ceilDiv(pixels, tile.blockM) * ceilDiv(outputs, tile.blockN) * groups;
  int64_t waves = ceilDiv(blocks, multiprocessors * option.blocksPerMultiprocessor);
  return double(waves * option.blocksPerMultiprocessor) * tile.blockM * tile.blockN / option.efficiency;
}

Tile ringconv::chooseTile(llvm::ArrayRef<TileOption> options, int64_t pixels, int64_t outputs, int64_t groups,
                          int64_t multiprocessors) {
  const TileOption *best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const TileOption &option : options) {
    double cost = tileCost(option, pixels, outputs, groups, multiprocessors);
    if (cost < least) {
      best = &option;
      least = cost;
    }
  }
  return best->tile;
}

llvm::SmallVector<TileOption> ringconv::tilesImplicitGemmF16(const ConvShape &) {
  return {
      {{128, 128, 64, 64, 4}, 2, 0.62}, {{256, 128, 64, 64, 3}, 1, 0.66}, {{128, 256, 64, 64, 3}, 1, 0.66},
      {{256, 64, 64, 64, 4}, 2, 0.57},  {{128, 64, 64, 64, 4}, 3, 0.56},  {{64, 64, 32, 32, 4}, 4, 0.40},
  };
}

llvm::SmallVector<TileOption> ringconv::tilesFilterGradientF16(const ConvShape &) {
  return {{{128, 128, 64, 64, 4}, 2, 0.55}, {{64, 64, 32, 32, 4}, 4, 0.35}};
}

llvm::SmallVector<TileOption> ringconv::tilesGatherGemmFMA(const ConvShape &shape) {
  if (shape.element.isF64())
    return {{{64, 64, 32, 32, 3}, 4, 0.6}, {{32, 32, 32, 32, 3}, 8, 0.4}};
  return {{{128, 128, 64, 32, 3}, 2, 0.6}, {{64, 64, 64, 32, 3}, 8, 0.5}};
}
