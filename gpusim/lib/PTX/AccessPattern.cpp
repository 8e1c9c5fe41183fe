// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranges, wavefronts (shared memory has 32 banks of 4 bytes) and sectors of
// an access.
#include "AccessPattern.h"

#include <algorithm>

using namespace gpusim;

template <typename T> void AccessPattern::findOffsets(const T *addr) {
  const T from = base(addr, mask);
  lowBits = 0;
  for (unsigned l = 0; l < 32; ++l) {
    offset[l] = mask >> l & 1 ? (uint32_t)(addr[l] - from) : 0;
    lowBits |= offset[l];
  }
}

void AccessPattern::build(const uint32_t *addr, uint32_t lanes, uint32_t size) {
  mask = lanes, bytes = size;
  phase = base(addr, mask) & 3;
  findOffsets(addr);
  findRuns();
  mergeRuns();
  countWavefronts(addr);
}

void AccessPattern::build(const uint64_t *addr, uint32_t lanes, uint32_t size) {
  constexpr int64_t far = 1 << 30;
  const uint64_t from = base(addr, lanes);
  mask = 0;
  for (uint32_t m = lanes; m; m &= m - 1) {
    const int64_t distance = addr[__builtin_ctz(m)] - from;
    if (distance < -far || distance > far)
      return;
  }
  mask = lanes, bytes = size;
  phase = from & 31;
  findOffsets(addr);
  findRuns();
  sectors = countSectors(addr, mask);
}

void AccessPattern::addRun(uint32_t lo, uint32_t hi, uint32_t from) {
  // Ranges that stand twice cost time only, so a short look is enough.
  for (uint32_t n = 0; n < runs && n < 4; ++n)
    if (first[n] == lo && hi == end[n])
      return;
  runBytes = !runs || runBytes == hi - lo ? hi - lo : 0;
  first[runs] = lo;
  lane[runs] = from;
  end[runs++] = hi;
  lowest = std::min(lowest, (int32_t)lo);
  highest = std::max(highest, (int32_t)hi);
}

/// Neighbouring lanes grow one range.
void AccessPattern::findRuns() {
  runs = 0, lowest = 0, highest = bytes;
  uint32_t lo = 0, hi = bytes, from = __builtin_ctz(mask), step = 0;
  bool sameStep = true;
  for (uint32_t m = mask & (mask - 1); m; m &= m - 1) {
    const uint32_t l = __builtin_ctz(m), a = offset[l];
    if (a == hi) {
      const uint32_t steps = (hi - lo) / bytes;
      step = step ? step : l - from;
      sameStep &= l == from + step * steps;
      hi += bytes;
    } else if ((int32_t)a < (int32_t)lo || (int32_t)(a + bytes) > (int32_t)hi) {
      addRun(lo, hi, from);
      lo = a, hi = a + bytes, from = l;
    }
  }
  addRun(lo, hi, from);
  laneStep = !sameStep ? 0 : step ? step : 1;
}

/// Swizzled lanes also make few long ranges.
void AccessPattern::mergeRuns() {
  for (uint32_t n = 1; n < runs; ++n) // insertion sort: mostly in order
    for (uint32_t k = n; k && (int32_t)first[k] < (int32_t)first[k - 1]; --k) {
      std::swap(first[k], first[k - 1]);
      std::swap(end[k], end[k - 1]);
    }
  uint32_t kept = 0;
  for (uint32_t n = 1; n < runs; ++n) {
    if ((int32_t)first[n] > (int32_t)end[kept]) {
      ++kept;
      first[kept] = first[n], end[kept] = end[n];
    } else if ((int32_t)end[n] > (int32_t)end[kept]) {
      end[kept] = end[n];
    }
  }
  runs = kept + 1;
  runBytes = end[0] - first[0];
  for (uint32_t n = 1; n < runs; ++n)
    runBytes = end[n] - first[n] == runBytes ? runBytes : 0;
}

/// Exact count for one phase: the most distinct words that any bank serves.
static uint32_t conflictWavefronts(const uint32_t *addr, uint32_t lanes, unsigned words) {
  uint32_t word[32 * 4], count = 0, perBank[32] = {}, most = 1;
  for (uint32_t m = lanes; m; m &= m - 1)
    for (unsigned k = 0; k < words; ++k) {
      uint32_t wd = addr[__builtin_ctz(m)] / 4 + k;
      if (std::find(word, word + count, wd) != word + count)
        continue;
      word[count++] = wd;
      most = std::max(most, ++perBank[wd & 31]);
    }
  return most;
}

/// Requests of 8 (16) bytes are served for 16 (8) lanes at a time. Aligned
/// accesses of one size conflict only if they use the same slot of that size
/// in the 128 bytes of all banks and differ.
void AccessPattern::countWavefronts(const uint32_t *addr) {
  const unsigned perPhase = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  const unsigned shift = bytes <= 4 ? 2 : bytes == 8 ? 3 : 4;
  const unsigned slots = 128 >> shift;
  wavefronts = ideal = 0;
  for (unsigned start = 0; start < 32; start += perPhase) {
    const uint32_t keep = perPhase == 32 ? ~0u : ((1u << perPhase) - 1) << start;
    const uint32_t lanes = mask & keep;
    if (!lanes)
      continue;
    ++ideal;
    uint32_t head[32], used = 0;
    bool conflict = false;
    for (uint32_t m = lanes; m; m &= m - 1) {
      uint32_t unit = addr[__builtin_ctz(m)] >> shift;
      uint32_t slot = unit & (slots - 1);
      if (!(used >> slot & 1))
        head[slot] = unit, used |= 1u << slot;
      conflict |= head[slot] != unit;
    }
    wavefronts += conflict ? conflictWavefronts(addr, lanes, bytes <= 4 ? 1 : bytes / 4) : 1;
  }
}

uint32_t gpusim::countSectors(const uint64_t *addr, uint32_t mask) {
  uint64_t seen[32], last = ~0ull;
  uint32_t n = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    const uint64_t s = addr[__builtin_ctz(m)] >> 5;
    if (s == last)
      continue;
    last = s;
    if (std::find(seen, seen + n, s) == seen + n)
      seen[n++] = s;
  }
  return n;
}
