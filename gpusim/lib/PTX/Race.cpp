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
             (addr < lo ? "before" : "past the end of") + " '" + name +
             "' [" + std::to_string(lo) + ", " + std::to_string(lo + size) +
             ")";
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
                std::to_string(other) +
                ": a barrier is missing between them");
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

uint32_t gpusim::sharedWavefronts(const uint32_t *addr, uint32_t mask,
                                  unsigned bytes, uint32_t &ideal) {
  const unsigned lanesPerPhase = bytes <= 4 ? 32 : bytes == 8 ? 16 : 8;
  const unsigned words = bytes <= 4 ? 1 : bytes / 4;
  uint32_t total = 0;
  ideal = 0;
  for (unsigned first = 0; first < warpSize; first += lanesPerPhase) {
    uint32_t phase = lanesPerPhase == 32
                         ? mask
                         : mask >> first & ((1u << lanesPerPhase) - 1);
    if (!phase)
      continue;
    ++ideal;
    uint32_t word[32], count = 0, perBank[32] = {}, most = 1;
    // The first word of each bank sits in `head`; more distinct words of a
    // bank are rare and go to a list.
    uint32_t head[32];
    bool used[32] = {};
    for (uint32_t m = phase; m; m &= m - 1) {
      uint32_t base = addr[first + __builtin_ctz(m)] / 4;
      for (unsigned k = 0; k < words; ++k) {
        uint32_t wd = base + k, bank = wd & 31;
        if (!used[bank]) {
          used[bank] = true;
          head[bank] = wd;
          perBank[bank] = 1;
        } else if (head[bank] != wd) {
          bool seen = false;
          for (uint32_t j = 0; j < count && !seen; ++j)
            seen = word[j] == wd;
          if (!seen) {
            word[count++] = wd;
            most = std::max(most, ++perBank[bank]);
          }
        }
      }
    }
    total += most;
  }
  return total;
}

void gpusim::sharedAccess(Warp &w, const Inst &i, const uint32_t *addr,
                          uint32_t mask, unsigned bytes, Access kind,
                          bool async) {
  if (!mask)
    return;
  Block &b = *w.block;
  const Launch &launch = *b.launch;
  const uint8_t *state = b.sharedState.data();
  const bool checkInit = launch.options.checkInit;
  const bool simple = w.kernel->shared.empty(); // one dynamic range only
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    uint64_t at = addr[lane];
    if (at + bytes > launch.sharedBytes ||
        (simple ? at < launch.dynamicOffset
                : !insideVariable(w, at, bytes)))
      w.faultAt(FaultKind::IllegalAddress, lane, at,
                "shared access of " + std::to_string(bytes) +
                    " bytes out of bounds: " + missedShared(w, at));
    if (at & (bytes - 1))
      w.faultAt(FaultKind::Misaligned, lane, at,
                "shared access of " + std::to_string(bytes) +
                    " bytes is not aligned");
    if (kind != Access::Write && checkInit) {
      uint64_t good = 0x0101010101010101ull;
      uint64_t lo = good, hi = good;
      memcpy(&lo, state + at, bytes < 8 ? bytes : 8);
      if (bytes == 16)
        memcpy(&hi, state + at + 8, 8);
      if (lo != good || hi != good) {
        bool inFlight = false;
        for (unsigned k = 0; k < bytes; ++k)
          inFlight |= state[at + k] == 2;
        w.faultAt(FaultKind::Uninitialised, lane, at,
                  inFlight ? "read of bytes whose cp.async has not been waited "
                             "for (wait_group lets too many groups pend)"
                           : "read of shared memory that was never written");
      }
    }
    if (launch.options.checkRaces && launch.warpsPerBlock > 1)
      sharedRaceCheck(w, lane, at, bytes, kind);
  }
  if (kind != Access::Read)
    for (uint32_t m = mask; m; m &= m - 1)
      memset(b.sharedState.data() + addr[__builtin_ctz(m)], async ? 2 : 1,
             bytes);
  Counters &c = w.worker->counters;
  uint32_t ideal;
  c.sharedWavefronts += sharedWavefronts(addr, mask, bytes, ideal);
  c.sharedIdeal += ideal;
  ++c.sharedRequests;
  (void)i;
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
      bool over = b.warps[u].state == WarpState::Done &&
                  w.known[u] >= b.warps[u].clock;
      if (!over && u != n)
        floor = std::min(floor, w.known[u]);
    }
    w.clock = b.clock;
    w.floor = std::min(floor, b.clock - 1);
  }
}

void gpusim::landAsync(Warp &w, uint32_t lanes, uint32_t keep, bool all) {
  Block &b = *w.block;
  size_t kept = 0;
  for (size_t n = 0; n < w.pending.size(); ++n) {
    AsyncCopy &copy = w.pending[n];
    uint32_t land = 0;
    for (uint32_t m = copy.mask & lanes; m; m &= m - 1) {
      unsigned lane = __builtin_ctz(m);
      // Group numbers run upwards; the open group has number asyncGroup.
      if (all || copy.group[lane] + keep < w.asyncGroup[lane])
        land |= 1u << lane;
    }
    for (uint32_t m = land; m; m &= m - 1) {
      unsigned lane = __builtin_ctz(m);
      uint32_t at = copy.dst[lane];
      memcpy(&b.shared[at], copy.data[lane], copy.bytes);
      memset(&b.sharedState[at], 1, copy.bytes);
      if (b.launch->options.checkRaces && b.warps.size() > 1)
        sharedRaceCheck(w, lane, at, copy.bytes, Access::Write, true);
    }
    copy.mask &= ~land;
    if (copy.mask) {
      if (kept != n)
        w.pending[kept] = copy;
      ++kept;
    }
  }
  w.pending.resize(kept);
}
