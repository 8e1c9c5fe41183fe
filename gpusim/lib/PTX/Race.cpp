// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks on shared memory: bounds, alignment, unwritten bytes, and races
// between warps.
#include "Runtime.h"

#include <algorithm>

using namespace gpusim;

static std::string missedShared(const Warp &w, uint64_t addr) {
  const Kernel &k = *w.kernel;
  const Launch &launch = *w.block->launch;
  std::string near = "the block has " + std::to_string(launch.sharedBytes) + " bytes of shared memory";
  uint64_t best = ~0ull;
  auto consider = [&](const std::string &name, uint64_t lo, uint64_t size) {
    uint64_t distance = addr < lo ? lo - addr : addr - (lo + size);
    if (distance < best) {
      best = distance;
      near = std::to_string(distance) + " bytes " + (addr < lo ? "before" : "past the end of") + " '" + name + "' [" +
             std::to_string(lo) + ", " + std::to_string(lo + size) + ")";
    }
  };
  for (const SharedVariable &v : k.shared)
    consider(v.name, v.offset, v.size);
  if (launch.config.dynamicShared)
    consider("dynamic shared memory", launch.dynamicOffset, launch.config.dynamicShared);
  return near;
}

/// Words for a report: the variable that holds an address.
static std::string variableAt(const Warp &w, uint64_t addr) {
  const Launch &launch = *w.block->launch;
  auto words = [](const std::string &name, uint64_t lo, uint64_t size) {
    return ", in " + name + " [" + std::to_string(lo) + ", " + std::to_string(lo + size) + ")";
  };
  for (const SharedVariable &v : w.kernel->shared)
    if (addr >= v.offset && addr < v.offset + v.size)
      return words("'" + v.name + "'", v.offset, v.size);
  return words("dynamic shared memory", launch.dynamicOffset, launch.config.dynamicShared);
}

static bool insideVariable(const Warp &w, uint64_t addr, uint64_t bytes) {
  const Launch &launch = *w.block->launch;
  uint64_t end = addr + bytes;
  uint64_t dyn = launch.dynamicOffset;
  if (launch.config.dynamicShared && addr >= dyn && end <= dyn + launch.config.dynamicShared)
    return true;
  for (const SharedVariable &v : w.kernel->shared)
    if (addr >= v.offset && end <= uint64_t(v.offset) + v.size)
      return true;
  return false;
}

[[noreturn]] static void reportRace(Warp &w, unsigned lane, uint32_t addr, const char *mine, const char *theirs,
                                    unsigned other) {
  w.faultAt(FaultKind::SharedRace, lane, addr,
            std::string(mine) + " by warp " + std::to_string(w.index) + " is not ordered after a " + theirs +
                " by warp " + std::to_string(other) + ": a barrier is missing between them" + variableAt(w, addr));
}

/// Finds the access of another warp that this one is not ordered after.
static void reportRaces(Warp &w, unsigned lane, uint32_t addr, unsigned bytes, Access kind, bool landing) {
  const Block &b = *w.block;
  const uint32_t shift = w.kernel->granuleShift;
  const uint32_t first = addr >> shift, last = (addr + bytes - 1) >> shift;
  const uint32_t limit = orderedBelow(w);
  for (uint32_t n = first; n <= last; ++n) {
    const uint32_t tag = b.writer[n], other = warpOfTag(tag);
    const bool bothAtomic = (tag & atomicTag) && kind == Access::Atomic;
    if (tag >= limit && other != w.index && !bothAtomic && clockOfTag(tag) > w.known[other])
      reportRace(w, lane, addr,
                 kind == Access::Read ? "read"
                 : landing            ? "landing of a cp.async"
                                      : "write",
                 "write", other);
    const uint32_t read = b.reader[n];
    if (kind == Access::Read || read < limit)
      continue;
    uint32_t others = b.readerMask[n] & ~(1u << w.index);
    // With several readers and pairwise barriers only the newest reader's
    // clock is known; older ones may have synchronised since: stay silent.
    bool ambiguous = w.kernel->partialBarriers && (others & (others - 1));
    for (uint32_t m = others; m && !ambiguous; m &= m - 1) {
      unsigned reader = __builtin_ctz(m);
      if (clockOfTag(read) > w.known[reader])
        reportRace(w, lane, addr, landing ? "landing of a cp.async" : "write", "read", reader);
    }
  }
}

/// One lane after the other: finds the fault, or that there is none.
static void checkLanes(Warp &w, const uint32_t *addr, uint32_t mask, unsigned bytes, Access kind) {
  const Block &b = *w.block;
  const LaunchOptions &options = b.launch->options;
  for (uint32_t m = mask; m; m &= m - 1) {
    const unsigned lane = __builtin_ctz(m);
    const uint64_t at = addr[lane];
    if (!insideVariable(w, at, bytes))
      w.faultAt(FaultKind::IllegalAddress, lane, at,
                "shared access of " + std::to_string(bytes) + " bytes out of bounds: " + missedShared(w, at));
    if (at & (bytes - 1))
      w.faultAt(FaultKind::Misaligned, lane, at,
                "shared access of " + std::to_string(bytes) + " bytes is not aligned" + variableAt(w, at));
    const uint32_t shift = w.kernel->granuleShift;
    for (uint64_t n = at; n < at + bytes; n += 1u << shift) {
      const uint32_t tag = b.writer[n >> shift];
      if (kind == Access::Write || !options.checkInit || (tag && !(tag & inFlightTag)))
        continue;
      w.faultAt(FaultKind::Uninitialised, lane, at,
                (tag ? "read of bytes whose cp.async has not been waited "
                       "for (wait_group lets too many groups pend)"
                     : "read of shared memory that was never written") +
                    variableAt(w, at));
    }
    if (b.checkRaces)
      reportRaces(w, lane, at, bytes, kind, false);
  }
}

/// Calls f(first, count) for the granules of each range of an access. `Fixed`
/// is the count if all have the same.
template <uint32_t Fixed, typename F>
static inline void eachRunOf(const AccessPattern &p, uint32_t base, uint32_t shift, F f) {
  for (uint32_t n = 0; n < p.runs; ++n) {
    const uint32_t first = (base + p.first[n]) >> shift;
    f(first, Fixed ? Fixed : ((base + p.end[n] - 1) >> shift) - first + 1);
  }
}
template <typename F> static inline void eachRun(const AccessPattern &p, uint32_t base, uint32_t shift, F f) {
  switch (p.runBytes >> shift) {
  case 1:
    return eachRunOf<1>(p, base, shift, f);
  case 4:
    return eachRunOf<4>(p, base, shift, f);
  default:
    return eachRunOf<0>(p, base, shift, f);
  }
}

/// The whole-range form of checkLanes for what is nearly always so: all is
/// written, and all earlier accesses are ordered. False: look at each lane.
/// Reads are noted on the way.
static bool quickRead(Warp &w, const AccessPattern &p, uint32_t base) {
  Block &b = *w.block;
  const bool init = b.launch->options.checkInit;
  const uint32_t least = init, pending = init ? inFlightTag : 0;
  const uint32_t *writer = b.writer.data();
  uint32_t bad = 0;
  if (!b.checkRaces) {
    eachRun(p, base, w.kernel->granuleShift, [&](uint32_t at, uint32_t count) {
      for (uint32_t k = at; k < at + count; ++k)
        bad |= (uint32_t)(writer[k] < least) | (writer[k] & pending);
    });
    return !bad;
  }
  uint32_t *reader = b.reader.data(), *readers = b.readerMask.data();
  const uint32_t limit = orderedBelow(w), mine = raceTag(w, 0);
  const uint32_t self = w.index << warpShift, bit = 1u << w.index;
  eachRun(p, base, w.kernel->granuleShift, [&](uint32_t at, uint32_t count) {
#pragma GCC ivdep
    for (uint32_t k = at; k < at + count; ++k) {
      const uint32_t tag = writer[k];
      bad |= (uint32_t)(tag < least) | (tag & pending) | ((uint32_t)(tag >= limit) & ((tag & warpBits) != self));
      readers[k] = (reader[k] >= limit ? readers[k] : 0) | bit;
      reader[k] = mine;
    }
  });
  return !bad;
}

static bool quickWrite(const Warp &w, const AccessPattern &p, uint32_t base, bool readsToo) {
  const Block &b = *w.block;
  const bool init = b.launch->options.checkInit && readsToo;
  const uint32_t least = init, pending = init ? inFlightTag : 0;
  const uint32_t *writer = b.writer.data(), *reader = b.reader.data(), *readers = b.readerMask.data();
  const uint32_t limit = b.checkRaces ? orderedBelow(w) : ~0u;
  const uint32_t self = w.index << warpShift, bit = 1u << w.index;
  uint32_t bad = 0;
  eachRun(p, base, w.kernel->granuleShift, [&](uint32_t at, uint32_t count) {
    for (uint32_t k = at; k < at + count; ++k) {
      const uint32_t tag = writer[k];
      bad |= (uint32_t)(tag < least) | (tag & pending) | ((uint32_t)(tag >= limit) & ((tag & warpBits) != self)) |
             ((uint32_t)(reader[k] >= limit) & (readers[k] != bit));
    }
  });
  return !bad;
}

static void noteWrite(Warp &w, const AccessPattern &p, uint32_t base, uint32_t flags) {
  uint32_t *writer = w.block->writer.data();
  const uint32_t tag = raceTag(w, flags), plain = raceTag(w, 0);
  eachRun(p, base, w.kernel->granuleShift, [&](uint32_t at, uint32_t count) {
    // An atomic access does not hide the plain write right before it.
    for (uint32_t k = at; k < at + count; ++k)
      writer[k] = flags == atomicTag && writer[k] == plain ? plain : tag;
  });
}

void gpusim::sharedAccess(Warp &w, const Inst &i, const uint32_t *addr, uint32_t mask, unsigned bytes, Access kind,
                          bool async) {
  if (!mask)
    return;
  const AccessPattern &p = *w.worker->pattern(&i - w.kernel->code.data(), addr, mask, bytes);
  const uint32_t base = AccessPattern::base(addr, mask);
  const uint64_t lowest = (uint64_t)base + p.lowest;
  const bool good = !((base | p.lowBits) & (bytes - 1)) && insideVariable(w, lowest, p.highest - p.lowest) &&
                    (kind == Access::Read ? quickRead(w, p, base) : quickWrite(w, p, base, kind == Access::Atomic));
  if (!good)
    checkLanes(w, addr, mask, bytes, kind);
  if (kind != Access::Read)
    noteWrite(w, p, base, (kind == Access::Atomic ? atomicTag : 0) | (async ? inFlightTag : 0));
  Counters &c = w.worker->counters;
  c.sharedWavefronts += p.wavefronts;
  c.sharedIdeal += p.ideal;
  ++c.sharedRequests;
}

static bool allTagged(const Block &b, const Kernel &k, const AccessPattern &p, uint32_t base, uint32_t tag) {
  uint32_t different = 0;
  eachRun(p, base, k.granuleShift, [&](uint32_t at, uint32_t count) {
    for (uint32_t n = at; n < at + count; ++n)
      different |= b.writer[n] ^ tag;
  });
  return !different;
}

void gpusim::sharedRegion(Warp &w, unsigned lane, uint32_t lo, uint32_t bytes, Access kind, bool async) {
  AccessPattern p;
  p.runs = 1, p.first[0] = 0, p.end[0] = p.runBytes = bytes;
  const bool good = !(lo % 16 | bytes % 16) && insideVariable(w, lo, bytes) &&
                    (kind == Access::Read ? quickRead(w, p, lo) : quickWrite(w, p, lo, false));
  uint32_t addr[warpSize];
  for (uint32_t at = 0; at < bytes && !good; at += 16) {
    addr[lane] = lo + at;
    checkLanes(w, addr, 1u << lane, 16, kind);
  }
  if (kind != Access::Read)
    noteWrite(w, p, lo, async ? inFlightTag : 0);
  Counters &c = w.worker->counters;
  c.sharedWavefronts += (bytes + 127) / 128;
  c.sharedIdeal += (bytes + 127) / 128;
  ++c.sharedRequests;
}

void gpusim::sharedChunks(Warp &w, const uint32_t *addr, unsigned count) {
  AccessPattern p;
  p.runs = count, p.runBytes = 16;
  bool good = true;
  for (unsigned n = 0; n < count; ++n) {
    p.first[n] = addr[n] - addr[0];
    p.end[n] = p.first[n] + 16;
    good &= !(addr[n] % 16) && insideVariable(w, addr[n], 16);
  }
  if (!good || !quickRead(w, p, addr[0]))
    checkLanes(w, addr, count == warpSize ? fullMask : (1u << count) - 1, 16, Access::Read);
}

void gpusim::landBulk(Block &b, const BulkCopy &copy) {
  Warp &w = b.warps[copy.warp];
  AccessPattern p;
  p.runs = 1, p.first[0] = 0, p.end[0] = p.runBytes = copy.data.size();
  if (!allTagged(b, *w.kernel, p, copy.to, copy.tag)) {
    w.pc = copy.inst + 1; // the report is about the copy
    w.faultAt(FaultKind::SharedRace, 0, copy.to,
              "somebody wrote to the destination of a bulk copy before its bytes had landed" + variableAt(w, copy.to));
  }
  memcpy(&b.shared[copy.to], copy.data.data(), copy.data.size());
  eachRun(p, copy.to, w.kernel->granuleShift, [&](uint32_t at, uint32_t count) {
    for (uint32_t n = at; n < at + count; ++n)
      b.writer[n] = copy.tag & ~inFlightTag;
  });
}

static void nextClock(Block &b, const Warp &reporter) {
  if (++b.clock > lastClock)
    reporter.fault(FaultKind::Timeout, 0, "more than " + std::to_string(lastClock) + " barriers in one block");
}

void gpusim::advanceClock(Warp &w) {
  nextClock(*w.block, w);
  w.clock = w.block->clock;
}

void gpusim::shareClock(const Warp &w, uint32_t *known) {
  for (unsigned u = 0; u < warpSize; ++u)
    known[u] = std::max(known[u], w.known[u]);
  known[w.index] = std::max(known[w.index], w.clock);
}

void gpusim::learnClocks(Block &b, const std::vector<uint32_t> &who, const uint32_t *known) {
  nextClock(b, b.warps[who.front()]);
  for (uint32_t n : who) {
    Warp &w = b.warps[n];
    uint32_t floor = ~0u;
    for (unsigned u = 0; u < b.warps.size(); ++u) {
      w.known[u] = std::max(w.known[u], known[u]);
      bool over = b.warps[u].state == WarpState::Done && w.known[u] >= b.warps[u].clock;
      if (!over && u != n)
        floor = std::min(floor, w.known[u]);
    }
    w.clock = b.clock;
    w.floor = std::min(floor, b.clock - 1);
  }
}

template <unsigned Bytes> static void landBytes(Block &b, const AsyncCopy &copy, uint32_t land) {
  uint8_t *shared = b.shared.data();
  forLanes(land, [&](unsigned l) { memcpy(shared + copy.dst[l], copy.data[l], Bytes); });
}

static void landOne(Warp &w, const AsyncCopy &copy, uint32_t land) {
  Block &b = *w.block;
  if (copy.bytes == 16)
    landBytes<16>(b, copy, land);
  else if (copy.bytes == 8)
    landBytes<8>(b, copy, land);
  else
    landBytes<4>(b, copy, land);
  const AccessPattern &p = *w.worker->pattern(copy.site, copy.dst, land, copy.bytes);
  const uint32_t base = AccessPattern::base(copy.dst, land);
  // A read while the bytes were under way was a fault, if reads are checked,
  // and a write has left its own tag.
  const bool untouched = b.launch->options.checkInit && allTagged(b, *w.kernel, p, base, copy.tag);
  const bool good = untouched || quickWrite(w, p, base, false);
  for (uint32_t m = good ? 0 : land; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    reportRaces(w, lane, copy.dst[lane], copy.bytes, Access::Write, true);
  }
  noteWrite(w, p, base, 0);
}

void gpusim::landAsync(Warp &w, uint32_t lanes, uint32_t keep, bool all) {
  for (size_t n = w.landed; n < w.pending.size(); ++n) {
    AsyncCopy &copy = w.pending[n];
    uint32_t land = 0;
    // Group numbers run upwards; the open group has number asyncGroup.
    for (unsigned l = 0; l < warpSize; ++l)
      land |= (uint32_t)(all || copy.group[l] + keep < w.asyncGroup[l]) << l;
    land &= copy.mask & lanes;
    if (land)
      landOne(w, copy, land);
    copy.mask &= ~land;
    if (!copy.mask && n == w.landed)
      ++w.landed;
  }
  // Moving the rest is cheap if it happens seldom.
  if (2 * w.landed >= w.pending.size()) {
    w.pending.erase(w.pending.begin(), w.pending.begin() + w.landed);
    w.landed = 0;
  }
}
