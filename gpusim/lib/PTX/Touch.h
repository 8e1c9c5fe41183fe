// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which bytes of an allocation a launch touched, and who touched them first.
#ifndef GPUSIM_PTX_TOUCH_H
#define GPUSIM_PTX_TOUCH_H

#include "Memory.h"

#include <cstdlib>
#include <utility>
#include <vector>

namespace gpusim {

/// Half-open byte ranges, sorted and disjoint.
using Ranges = std::vector<std::pair<uint64_t, uint64_t>>;

/// An access of a thread.
struct Toucher {
  uint32_t inst = 0;   ///< index of the instruction
  uint32_t block = 0;  ///< linear index in the grid, modulo 2^32
  uint32_t thread = 0; ///< linear index in the block
  uint32_t step = 1;   ///< from the thread of some bytes to that of the next
};

/// Calls f(word, mask) for the words of a bit map that hold bits [lo, hi).
template <typename W, typename F> inline void eachWord(W *map, uint64_t lo, uint64_t hi, F f) {
  for (uint64_t at = lo; at < hi; at = (at | 63) + 1) {
    uint64_t mask = ~0ull << (at & 63);
    if ((at | 63) >= hi)
      mask &= ~0ull >> (63 & -hi);
    f(map + (at >> 6), mask);
  }
}

/// One bit per byte, and for each 64 bytes the access that touched them
/// first. Offsets are bytes from the start of the allocation. Pages that
/// nobody touches cost nothing.
class TouchMap {
public:
  explicit TouchMap(uint64_t size);

  /// Threads from `first.thread` on, `first.step` apart, touch [lo, hi), `unit`
  /// bytes each. Several workers may call it at once.
  void add(uint64_t lo, uint64_t hi, const Toucher &first, unsigned unit) {
    eachWord(bits.get(), lo, hi, [&](uint64_t *word, uint64_t mask) {
      if ((__atomic_load_n(word, __ATOMIC_RELAXED) & mask) == mask)
        return;
      if (!__atomic_fetch_or(word, mask, __ATOMIC_RELAXED))
        note(word - bits.get(), lo, mask, first, unit);
    });
  }
  /// All touched bytes, as addresses; adds the touched sectors of 32 bytes.
  Ranges ranges(const Allocation &a, uint64_t &sectors) const;
  /// What it takes in memory if so many bytes in a row are touched.
  static uint64_t memory(uint64_t touched) { return (touched / 64 + 1) * (sizeof(uint64_t) + sizeof(Note)); }
  enum Found { Nobody, SameWord, Exact };
  /// The first access to the byte at `offset`, or only to its 64 bytes.
  Found find(uint64_t offset, Toucher &out) const;

private:
  struct Note {
    uint32_t inst, block;
    uint16_t thread;     ///< that touched the first byte
    uint8_t first, size; ///< the bytes of the word
    uint8_t phase;       ///< of the first byte within the thread's own
    uint8_t unit;        ///< bytes of each thread
    uint8_t step;        ///< from thread to thread
  };
  template <typename T> struct Free {
    void operator()(T *p) const { free(p); }
  };
  template <typename T> using Array = std::unique_ptr<T[], Free<T>>;

  void note(uint64_t word, uint64_t lo, uint64_t mask, const Toucher &first, unsigned unit) {
    const unsigned at = __builtin_ctzll(mask);
    const uint64_t from = word * 64 + at - lo;
    notes[word] = {first.inst,
                   first.block,
                   (uint16_t)(first.thread + from / unit * first.step),
                   (uint8_t)at,
                   (uint8_t)__builtin_popcountll(mask),
                   (uint8_t)(from % unit),
                   (uint8_t)unit,
                   (uint8_t)first.step};
  }

  uint64_t words;
  Array<uint64_t> bits;
  Array<Note> notes;
};

/// What an operation touched in one allocation. The maps are there for
/// kernels only.
struct AccessSet {
  AllocationRef alloc;
  Ranges reads, writes;
  std::shared_ptr<const TouchMap> readMap, writeMap;
};

} // namespace gpusim

#endif // GPUSIM_PTX_TOUCH_H
