// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tile a kernel gets. The choice never changes the bits of a result.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_TILECHOICE_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_TILECHOICE_H

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>

namespace ringconv {

/// Pixels and output features of a block and of a warp, slots of the ring of
/// asynchronous copies; blocks that the registers of a multiprocessor must suffice
/// for.
struct Tile {
  int64_t blockM = 0, blockN = 0, warpM = 0, warpN = 0, stages = 0, resident = 1;

  int64_t threads() const { return 32 * (blockM / warpM) * (blockN / warpN); }
  /// The same but for the registers.
  bool operator==(const Tile &o) const {
    return blockM == o.blockM && blockN == o.blockN && warpM == o.warpM && warpN == o.warpN && stages == o.stages;
  }
};

/// A tile, how many blocks of it a multiprocessor holds (by registers and shared
/// memory, for sm_80), and what part of the peak its main
/// loop is expected to reach. The last is an estimate from issue slots, shared
/// memory and L2 traffic per tensor-core instruction, to be replaced by
/// measurements.
struct TileOption {
  Tile tile;
  int64_t blocksPerMultiprocessor;
  double efficiency;
};

/// Time of a product of `pixels` x `outputs` per group, in units of one output at
/// full speed on one multiprocessor:
///
///   ceil(blocks / (multiprocessors * resident)) * resident * area / efficiency
///
/// Blocks start in waves of as many as fit on the device; a part of a wave takes
/// as long as a whole one, and tiles are computed whole where only a part of them
/// is needed.
double tileCost(const TileOption &option, int64_t pixels, int64_t outputs, int64_t groups, int64_t multiprocessors);

/// The option of least cost; the first of equals.
Tile chooseTile(llvm::ArrayRef<TileOption> options, int64_t pixels, int64_t outputs, int64_t groups,
                int64_t multiprocessors);

} // namespace ringconv

#endif
