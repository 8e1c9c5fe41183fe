// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an access to memory needs that depends only on the differences of the
// lanes' addresses: the byte ranges it touches, and its bank conflicts or
// sectors. An instruction in a loop mostly keeps these while its addresses
// move on, so that each worker remembers the last pattern of every
// instruction and space.
#ifndef GPUSIM_PTX_ACCESSPATTERN_H
#define GPUSIM_PTX_ACCESSPATTERN_H

#include <cstdint>

namespace gpusim {

/// Offsets are signed 32-bit numbers from the address of the first lane. They
/// are kept as unsigned ones, which may wrap.
struct AccessPattern {
  uint32_t mask = 0; ///< lanes that take part; 0: no pattern yet
  uint32_t bytes = 0;
  uint32_t phase = 0;   ///< base address within a bank word or a sector
  uint32_t offset[32];  ///< 0 for lanes that take no part
  uint32_t lowBits = 0; ///< bits that are set in any offset
  uint32_t runs = 0;    ///< distinct byte ranges [first, end)
  uint32_t first[32], end[32];
  /// The lane of the first bytes of each range, and from there to the lane of
  /// the bytes behind, and so on. 0: not the same step everywhere.
  /// For global memory only.
  uint32_t lane[32], laneStep;
  uint32_t runBytes = 0;              ///< of each range; 0: they differ
  int32_t lowest = 0, highest = 0;    ///< of all ranges
  uint32_t wavefronts = 0, ideal = 0; ///< of shared memory
  uint32_t sectors = 0;               ///< different ones, of global memory

  AccessPattern() {} // the arrays stay unset: they are large

  /// Address of the first lane in `mask`.
  template <typename T> static T base(const T *addr, uint32_t mask) { return addr[__builtin_ctz(mask)]; }
  bool matches(const uint32_t *addr, uint32_t mask, uint32_t bytes) const {
    const uint32_t from = base(addr, mask);
    uint32_t different = 0;
    for (unsigned l = 0; l < 32; ++l)
      different |= (addr[l] - from - offset[l]) & -(mask >> l & 1);
    return !different & sameKind(mask, bytes, from & 3);
  }
  bool matches(const uint64_t *addr, uint32_t mask, uint32_t bytes) const {
    const uint64_t from = base(addr, mask);
    uint64_t different = 0;
    for (unsigned l = 0; l < 32; ++l)
      different |= (addr[l] - from - (int64_t)(int32_t)offset[l]) & -(uint64_t)(mask >> l & 1);
    return !different & sameKind(mask, bytes, from & 31);
  }
  void build(const uint32_t *addr, uint32_t mask, uint32_t bytes);
  /// Leaves `mask` 0 if the lanes are too far apart for a pattern.
  void build(const uint64_t *addr, uint32_t mask, uint32_t bytes);

private:
  bool sameKind(uint32_t mask, uint32_t bytes, uint32_t phase) const {
    return (mask == this->mask) & (bytes == this->bytes) & (phase == this->phase);
  }
  template <typename T> void findOffsets(const T *addr);
  void addRun(uint32_t lo, uint32_t hi, uint32_t from);
  void findRuns();
  void mergeRuns();
  void countWavefronts(const uint32_t *addr);
};

/// Number of different 32-byte sectors of accesses that are aligned to their
/// size, so that each lies within one.
uint32_t countSectors(const uint64_t *addr, uint32_t mask);

} // namespace gpusim

#endif // GPUSIM_PTX_ACCESSPATTERN_H
