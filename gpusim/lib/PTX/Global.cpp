// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks and counts of accesses to global memory.
#include "Runtime.h"

#include <algorithm>

using namespace gpusim;

/// Touch maps have one bit per byte; they are created when a launch first
/// meets an allocation.
static void attachTouchMaps(Launch &launch, const AllocationRef &a, Window &w) {
  std::lock_guard<std::mutex> lock(launch.mutex);
  Touched &t = launch.touched[a->base];
  if (!t.alloc) {
    t.alloc = a;
    size_t words = a->size / 64 + 2;
    t.reads.reset((uint64_t *)calloc(words, 8));
    t.writes.reset((uint64_t *)calloc(words, 8));
  }
  w.reads = t.reads.get();
  w.writes = t.writes.get();
}

Window *Worker::window(uint64_t addr, uint64_t bytes) {
  for (Window &w : windows)
    if (addr - w.lo <= w.len - bytes && bytes <= w.len)
      return &w;
  AllocationRef a = MemorySpace::get().findRange(addr, bytes);
  if (!a)
    return nullptr;
  Window &w = windows[rng() % numWindows];
  w.lo = a->base;
  w.len = a->size;
  w.data = a->data;
  w.valid = launch.options.checkInit ? a->valid : nullptr;
  w.alloc = a.get();
  w.reads = w.writes = nullptr;
  if (launch.options.track)
    attachTouchMaps(launch, a, w);
  return &w;
}

/// Sets `bytes` bits from bit `at` on; other workers may set neighbours.
static inline void touch(uint64_t *map, uint64_t at, unsigned bytes) {
  uint64_t mask = (~0ull >> (64 - bytes)) << (at & 63);
  uint64_t *word = map + (at >> 6);
  if ((__atomic_load_n(word, __ATOMIC_RELAXED) & mask) != mask)
    __atomic_fetch_or(word, mask, __ATOMIC_RELAXED);
}

static inline bool isWritten(const uint8_t *valid, uint64_t at,
                             unsigned bytes) {
  // The bit map is padded, so that four bytes can always be read.
  uint32_t bits;
  memcpy(&bits, valid + (at >> 3), 4);
  uint32_t need = bytes == 32 ? ~0u : (1u << bytes) - 1;
  return (bits >> (at & 7) & need) == need;
}

static inline void markWritten(uint8_t *valid, uint64_t at, unsigned bytes) {
  uint64_t bit = at & 7;
  uint32_t need = ((1u << bytes) - 1) << bit;
  for (uint8_t *p = valid + (at >> 3); need; ++p, need >>= 8)
    if ((*p & (need & 0xff)) != (need & 0xff))
      __atomic_fetch_or(p, (uint8_t)need, __ATOMIC_RELAXED);
}

/// Number of different 32-byte sectors; `addr` is aligned to `bytes`.
static uint32_t countSectors(const uint64_t *addr, uint32_t mask,
                             unsigned bytes) {
  (void)bytes; // an aligned access lies within one sector
  uint64_t seen[warpSize], last = ~0ull;
  uint32_t n = 0;
  for (uint32_t m = mask; m; m &= m - 1) {
    uint64_t s = addr[__builtin_ctz(m)] >> 5;
    if (s == last)
      continue;
    last = s;
    bool known = false;
    for (uint32_t k = 0; k < n && !known; ++k)
      known = seen[k] == s;
    if (!known)
      seen[n++] = s;
  }
  return n;
}

[[noreturn]] static void reportGlobal(Warp &w, unsigned lane, uint64_t addr,
                                      unsigned bytes, Access kind) {
  const char *verb = kind == Access::Read    ? "read"
                     : kind == Access::Write ? "write"
                                             : "atomic access";
  w.faultAt(
      FaultKind::IllegalAddress, lane, addr,
      std::string("global ") + verb + " of " + std::to_string(bytes) +
          " bytes out of bounds: " + MemorySpace::get().explain(addr, bytes));
}

[[noreturn]] static void reportUnwritten(Warp &w, unsigned lane, uint64_t addr,
                                         const Allocation &a) {
  w.faultAt(FaultKind::Uninitialised, lane, addr,
            "read of global memory that was never written: byte " +
                std::to_string(addr - a.base) + " of " + a.describe());
}

/// All lanes next to each other in one allocation: the common case.
static bool contiguous(Warp &w, const uint64_t *addr, unsigned bytes,
                       Access kind, uint8_t **ptr) {
  uint64_t first = addr[0], different = 0;
  for (unsigned l = 0; l < warpSize; ++l)
    different |= addr[l] ^ (first + (uint64_t)l * bytes);
  if (different || first & (bytes - 1))
    return false;
  const unsigned total = bytes * warpSize;
  Window *win = w.worker->window(first, total);
  if (!win)
    return false;
  uint64_t at = first - win->lo;
  if (kind == Access::Read && win->valid) {
    // Whole bytes of the map except at an unaligned start.
    bool good = true;
    for (unsigned n = 0; n < total; n += 16)
      good &= isWritten(win->valid, at + n, 16);
    if (!good)
      return false; // the slow path finds which lane
  }
  for (unsigned l = 0; l < warpSize; ++l)
    ptr[l] = win->data + at + (uint64_t)l * bytes;
  if (win->reads) {
    uint64_t *map = kind == Access::Read ? win->reads : win->writes;
    for (unsigned n = 0; n < total; n += 16) {
      uint64_t a = at + n;
      touch(map, a, std::min(16u, 64 - (unsigned)(a & 63)));
      if ((a & 63) > 48)
        touch(map, (a & ~63ull) + 64, 16 - (64 - (a & 63)));
    }
  }
  if (kind != Access::Read && win->alloc->valid)
    for (unsigned n = 0; n < total; n += 16)
      markWritten(win->alloc->valid, at + n, 16);
  w.worker->counters.globalSectors +=
      ((first + total - 1) >> 5) - (first >> 5) + 1;
  return true;
}

void gpusim::globalAccess(Warp &w, const Inst &i, const uint64_t *addr,
                          uint32_t mask, unsigned bytes, Access kind,
                          uint8_t **ptr) {
  (void)i;
  if (!mask)
    return;
  Counters &c = w.worker->counters;
  ++c.globalRequests;
  uint64_t amount = (uint64_t)bytes * __builtin_popcount(mask);
  if (kind != Access::Write)
    c.globalLoadBytes += amount;
  if (kind != Access::Read)
    c.globalStoreBytes += amount;
  if (mask == fullMask && bytes >= 2 && kind != Access::Atomic &&
      contiguous(w, addr, bytes, kind, ptr))
    return;
  Window *win = nullptr;
  for (uint32_t m = mask; m; m &= m - 1) {
    unsigned lane = __builtin_ctz(m);
    uint64_t a = addr[lane];
    if (!win || a - win->lo > win->len - bytes || bytes > win->len) {
      win = w.worker->window(a, bytes);
      if (!win)
        reportGlobal(w, lane, a, bytes, kind);
    }
    if (a & (bytes - 1))
      w.faultAt(FaultKind::Misaligned, lane, a,
                "global access of " + std::to_string(bytes) +
                    " bytes is not aligned, in " + win->alloc->describe());
    uint64_t at = a - win->lo;
    // Recorded before it is judged: a read of unwritten bytes is often the
    // visible end of a missing order between streams.
    if (win->reads) {
      if (kind != Access::Write)
        touch(win->reads, at, bytes);
      if (kind != Access::Read)
        touch(win->writes, at, bytes);
    }
    if (kind != Access::Write && win->valid &&
        !isWritten(win->valid, at, bytes))
      reportUnwritten(w, lane, a, *win->alloc);
    ptr[lane] = win->data + at;
    if (kind != Access::Read && win->alloc->valid)
      markWritten(win->alloc->valid, at, bytes);
  }
  c.globalSectors += countSectors(addr, mask, bytes);
}
