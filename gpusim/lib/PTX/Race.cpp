// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks on shared memory: bounds, alignment, unwritten bytes, races between
// warps, and the wavefronts an access needs on 32 banks of 4 bytes.
#include "Runtime.h"

#include <algorithm>

using namespace gpusim;

static std::string missedShared(const Warp &w, uint64_t addr) {
  const Kernel &k = *w.kernel;
  const Launch &launch = *w.block->launch;
  std::string near = "the block has " + std::to_string(launch.sharedBytes) +
                     " bytes of shared memory";
  uint64_t best = ~0ull;
  auto consider = [&](const std::string &name, uint64_t lo, uint64_t size) {
    uint64_t distance = addr < lo ? lo - addr : addr - (lo + size);
    if (distance < best) {
      best = distance;
      near = std::to_string(distance) + " bytes " +
             (addr < lo ? "before" : "past the end of") + " '" + name + "' [" +
             std::to_string(lo) + ", " + std::to_string(lo + size) + ")";
    }
  };
  for (const SharedVariable &v : k.shared)
    consider(v.name, v.offset, v.size);
  if (launch.config.dynamicShared)
    consider("dynamic shared memory", launch.dynamicOffset,
             launch.config.dynamicShared);
  return near;
}

static bool insideVariable(const Warp &w, uint64_t addr, unsigned bytes) {
  const Launch &launch = *w.block->launch;
  uint64_t end = addr + bytes;
  uint64_t dyn = launch.dynamicOffset;
  if (launch.config.dynamicShared && addr >= dyn &&
      end <= dyn + launch.config.dynamicShared)
    return true;
  for (const SharedVariable &v : w.kernel->shared)
    if (addr >= v.offset && end <= uint64_t(v.offset) + v.size)
      return true;
  return false;
}

[[noreturn]] static void reportRace(Warp &w, unsigned lane, uint32_t addr,
                                    const char *mine, const char *theirs,
                                    unsigned other) {
  w.faultAt(FaultKind::SharedRace, lane, addr,
            std::string(mine) + " by warp " + std::to_string(w.index) +
                " is not ordered after a " + theirs + " by warp " +
                std::to_string(other) + ": a barrier is missing between them");
}

void gpusim::sharedRaceCheck(Warp &w, unsigned lane, uint32_t addr,
                             unsigned bytes, Access kind, bool landing) {
  Block &b = *w.block;
  const uint32_t g = w.kernel->granule;
  const uint32_t first = addr / g, last = (addr + bytes - 1) / g;
  const uint32_t mine = raceTag(w.clock, w.index, kind == Access::Atomic);
  const uint32_t limit = (w.floor + 1) << 6; // tags below are ordered
  for (uint32_t n = first; n <= last; ++n) {
    uint32_t tag = b.writer[n];
    if (tag >= limit) {
      uint32_t other = tag >> 1 & 31;
      bool bothAtomic = (tag & 1) && kind == Access::Atomic;
      if (other != w.index && !bothAtomic && tag >> 6 > w.known[other])
        reportRace(w, lane, addr,
                   kind == Access::Read ? "read"
                   : landing            ? "landing of a cp.async"
                                        : "write",
                   "write", other);
    }
    if (kind == Access::Read) {
      uint32_t read = b.reader[n];
      if (read == mine)
        continue;
      b.readerMask[n] =
          read >= limit ? b.readerMask[n] | 1u << w.index : 1u << w.index;
      b.reader[n] = mine;
      continue;
    }
    uint32_t read = b.reader[n];
    if (read >= limit) {
      uint32_t others = b.readerMask[n] & ~(1u << w.index);
      // With several readers and pairwise barriers only the newest reader's
      // clock is known; older ones may have synchronised since: stay silent.
      bool ambiguous = w.kernel->partialBarriers && (others & (others - 1));
      for (uint32_t m = others; m && !ambiguous; m &= m - 1) {
        unsigned other = __builtin_ctz(m);
        if (read >> 6 > w.known[other])
          reportRace(w, lane, addr, landing ? "landing of a cp.async" : "write",
                     "read", other);
      }
    }
    b.writer[n] = mine;
  }
}

/// Exact count for one phase: the most distinct words that any bank serves.
static uint32_t conflictWavefronts(const uint32_t *addr, uint32_t lanes,
                                   unsigned words) {
  uint32_t word[warpSize * 4], count = 0, perBank[32] = {}, most = 1;
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
uint32_t gpusim::sharedWavefronts(const uint32_t *addr, uint32_t mask,
                                  unsigned bytes, uint32_t &ideal) {
  const unsigned perPhase = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  const unsigned shift = bytes <= 4 ? 2 : bytes == 8 ? 3 : 4;
  const unsigned slots = 128 >> shift;
  uint32_t total = 0;
  ideal = 0;
  for (unsigned first = 0; first < warpSize; first += perPhase) {
    const uint32_t keep =
        perPhase == 32 ? fullMask : ((1u << perPhase) - 1) << first;
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
    total += conflict
                 ? conflictWavefronts(addr, lanes, bytes <= 4 ? 1 : bytes / 4)
                 : 1;
  }
  return total;
}

/// Distinct byte ranges of an access; neighbouring lanes grow one range.
struct gpusim::SharedRuns {
  uint32_t first[warpSize], end[warpSize], count = 0;

  void add(uint32_t lo, uint32_t hi) {
    // Ranges that stand twice cost time only, so a short look is enough.
    for (uint32_t n = 0; n < count && n < 4; ++n)
      if (first[n] <= lo && hi <= end[n])
        return;
    first[count] = lo;
    end[count++] = hi;
  }
  SharedRuns(const uint32_t *addr, uint32_t mask, unsigned bytes) {
    uint32_t lo = addr[__builtin_ctz(mask)], hi = lo + bytes;
    for (uint32_t m = mask & (mask - 1); m; m &= m - 1) {
      uint32_t a = addr[__builtin_ctz(m)];
      if (a == hi) {
        hi += bytes;
      } else if (a < lo || a >= hi) {
        add(lo, hi);
        lo = a, hi = a + bytes;
      }
    }
    add(lo, hi);
  }
};

static bool allWritten(const uint8_t *state, uint32_t bytes) {
  if (bytes == 16) {
    uint64_t v[2];
    memcpy(v, state, 16);
    return !((v[0] | v[1]) ^ 0x0101010101010101ull) && v[0] == v[1];
  }
  uint8_t bad = 0;
  for (uint32_t n = 0; n < bytes; ++n)
    bad |= state[n] ^ 1;
  return !bad;
}

/// The whole-range form of sharedRaceCheck for what is nearly always so: all
/// earlier accesses are ordered. False: lanes must be looked at one by one.
/// `Fixed` is the number of granules if it is known.
template <uint32_t Fixed>
static inline bool quickRaceOn(Warp &w, uint32_t first, uint32_t n,
                               Access kind) {
  Block &b = *w.block;
  const uint32_t count = Fixed ? Fixed : n;
  const uint32_t mine = raceTag(w.clock, w.index, kind == Access::Atomic);
  const uint32_t limit = (w.floor + 1) << 6, bit = 1u << w.index;
  uint32_t *writer = &b.writer[first], *reader = &b.reader[first],
           *readers = &b.readerMask[first];
  uint32_t bad = 0;
  for (uint32_t k = 0; k < count; ++k)
    bad |= (uint32_t)(writer[k] >= limit) & ((writer[k] & ~1u) != (mine & ~1u));
  if (kind == Access::Read) {
    if (bad)
      return false;
    for (uint32_t k = 0; k < count; ++k) {
      readers[k] = (reader[k] >= limit ? readers[k] : 0) | bit;
      reader[k] = mine;
    }
    return true;
  }
  for (uint32_t k = 0; k < count; ++k)
    bad |= (uint32_t)(reader[k] >= limit) & (readers[k] != bit);
  if (bad)
    return false;
  for (uint32_t k = 0; k < count; ++k)
    writer[k] = mine;
  return true;
}

static bool quickRace(Warp &w, uint32_t lo, uint32_t hi, Access kind) {
  const uint32_t g = w.kernel->granule == 4   ? 2
                     : w.kernel->granule == 2 ? 1
                                              : 0;
  const uint32_t first = lo >> g, count = ((hi - 1) >> g) - first + 1;
  if (count == 4)
    return quickRaceOn<4>(w, first, 4, kind);
  return quickRaceOn<0>(w, first, count, kind);
}

/// One lane after the other: finds the fault, or that there is none.
static void checkLanes(Warp &w, const uint32_t *addr, uint32_t mask,
                       unsigned bytes, Access kind) {
  Block &b = *w.block;
  const Launch &launch = *b.launch;
  const uint8_t *state = b.sharedState.data();
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    uint64_t at = addr[lane];
    if (!insideVariable(w, at, bytes))
      w.faultAt(FaultKind::IllegalAddress, lane, at,
                "shared access of " + std::to_string(bytes) +
                    " bytes out of bounds: " + missedShared(w, at));
    if (at & (bytes - 1))
      w.faultAt(FaultKind::Misaligned, lane, at,
                "shared access of " + std::to_string(bytes) +
                    " bytes is not aligned");
    if (kind != Access::Write && launch.options.checkInit &&
        !allWritten(state + at, bytes)) {
      bool inFlight = memchr(state + at, 2, bytes) != nullptr;
      w.faultAt(FaultKind::Uninitialised, lane, at,
                inFlight ? "read of bytes whose cp.async has not been waited "
                           "for (wait_group lets too many groups pend)"
                         : "read of shared memory that was never written");
    }
    if (launch.options.checkRaces && launch.warpsPerBlock > 1)
      sharedRaceCheck(w, lane, at, bytes, kind);
  }
}

void gpusim::sharedAccess(Warp &w, const Inst &, const uint32_t *addr,
                          uint32_t mask, unsigned bytes, Access kind,
                          bool async) {
  if (!mask)
    return;
  Block &b = *w.block;
  const Launch &launch = *b.launch;
  uint8_t *state = b.sharedState.data();
  SharedRuns runs(addr, mask, bytes);
  uint32_t low = 0;
  for (uint32_t m = mask; m; m &= m - 1)
    low |= addr[__builtin_ctz(m)];
  bool good = !(low & (bytes - 1));
  for (uint32_t n = 0; n < runs.count && good; ++n) {
    const uint32_t lo = runs.first[n], size = runs.end[n] - lo;
    good = runs.end[n] >= lo && insideVariable(w, lo, size) &&
           (kind == Access::Write || !launch.options.checkInit ||
            allWritten(state + lo, size));
  }
  const bool races = launch.options.checkRaces && launch.warpsPerBlock > 1;
  for (uint32_t n = 0; n < runs.count && good && races; ++n)
    good = quickRace(w, runs.first[n], runs.end[n], kind);
  if (!good)
    checkLanes(w, addr, mask, bytes, kind);
  if (kind != Access::Read)
    for (uint32_t n = 0; n < runs.count; ++n)
      memset(state + runs.first[n], async ? 2 : 1, runs.end[n] - runs.first[n]);
  Counters &c = w.worker->counters;
  uint32_t ideal;
  c.sharedWavefronts += sharedWavefronts(addr, mask, bytes, ideal);
  c.sharedIdeal += ideal;
  ++c.sharedRequests;
}

void gpusim::shareClock(const Warp &w, uint32_t *known) {
  for (unsigned u = 0; u < warpSize; ++u)
    known[u] = std::max(known[u], w.known[u]);
  known[w.index] = std::max(known[w.index], w.clock);
}

void gpusim::learnClocks(Block &b, const std::vector<uint32_t> &who,
                         const uint32_t *known) {
  ++b.clock;
  for (uint32_t n : who) {
    Warp &w = b.warps[n];
    uint32_t floor = ~0u;
    for (unsigned u = 0; u < b.warps.size(); ++u) {
      w.known[u] = std::max(w.known[u], known[u]);
      bool over =
          b.warps[u].state == WarpState::Done && w.known[u] >= b.warps[u].clock;
      if (!over && u != n)
        floor = std::min(floor, w.known[u]);
    }
    w.clock = b.clock;
    w.floor = std::min(floor, b.clock - 1);
  }
}

template <unsigned Bytes>
static void landBytes(Block &b, const AsyncCopy &copy, uint32_t land) {
  for (uint32_t m = land; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    memcpy(&b.shared[copy.dst[lane]], copy.data[lane], Bytes);
  }
}

static void landOne(Warp &w, const AsyncCopy &copy, uint32_t land) {
  Block &b = *w.block;
  if (copy.bytes == 16)
    landBytes<16>(b, copy, land);
  else if (copy.bytes == 8)
    landBytes<8>(b, copy, land);
  else
    landBytes<4>(b, copy, land);
  const bool races = b.launch->options.checkRaces && b.warps.size() > 1;
  SharedRuns runs(copy.dst, land, copy.bytes);
  bool good = true;
  for (uint32_t n = 0; n < runs.count; ++n) {
    memset(&b.sharedState[runs.first[n]], 1, runs.end[n] - runs.first[n]);
    if (races && good)
      good = quickRace(w, runs.first[n], runs.end[n], Access::Write);
  }
  for (uint32_t m = good ? 0 : land; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    sharedRaceCheck(w, lane, copy.dst[lane], copy.bytes, Access::Write, true);
  }
}

void gpusim::landAsync(Warp &w, uint32_t lanes, uint32_t keep, bool all) {
  size_t kept = 0;
  for (size_t n = 0; n < w.pending.size(); ++n) {
    AsyncCopy &copy = w.pending[n];
    uint32_t land = 0;
    // Group numbers run upwards; the open group has number asyncGroup.
    for (unsigned l = 0; l < warpSize; ++l)
      land |= (uint32_t)(all || copy.group[l] + keep < w.asyncGroup[l]) << l;
    land &= copy.mask & lanes;
    if (land)
      landOne(w, copy, land);
    copy.mask &= ~land;
    if (copy.mask) {
      if (kept != n)
        w.pending[kept] = copy;
      ++kept;
    }
  }
  w.pending.resize(kept);
}
