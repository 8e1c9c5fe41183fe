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
