// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks and counts of accesses to global memory.
#include "Runtime.h"

#include <algorithm>

using namespace gpusim;

/// Touch maps are created when a launch first meets an allocation.
static void attachTouchMaps(Launch &launch, const AllocationRef &a, Window &w) {
  std::lock_guard<std::mutex> lock(launch.mutex);
  Launch::Touched &t = launch.touched[a->base];
  if (!t.alloc) {
    t.alloc = a;
    t.reads = std::make_shared<TouchMap>(a->size);
    t.writes = std::make_shared<TouchMap>(a->size);
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
  Window &w = windows[oldestWindow++ % numWindows];
  w.lo = a->base;
  w.len = a->size;
  w.data = a->data;
  w.written = reinterpret_cast<uint64_t *>(a->valid);
  w.valid = launch.options.checkInit ? w.written : nullptr;
  w.alloc = a.get();
  w.reads = w.writes = nullptr;
  if (launch.options.track)
    attachTouchMaps(launch, a, w);
  return &w;
}

/// Other workers may set other bits of the same words.
static inline void setBits(uint64_t *map, uint64_t lo, uint64_t hi) {
  eachWord(map, lo, hi, [](uint64_t *word, uint64_t mask) {
    if ((__atomic_load_n(word, __ATOMIC_RELAXED) & mask) != mask)
      __atomic_fetch_or(word, mask, __ATOMIC_RELAXED);
  });
}
static inline bool allSet(uint64_t *map, uint64_t lo, uint64_t hi) {
  uint64_t missing = 0;
  eachWord(map, lo, hi,
           [&](uint64_t *word, uint64_t mask) { missing |= ~__atomic_load_n(word, __ATOMIC_RELAXED) & mask; });
  return !missing;
}

[[noreturn]] static void reportGlobal(Warp &w, unsigned lane, uint64_t addr, unsigned bytes, Access kind) {
  const char *verb = kind == Access::Read ? "read" : kind == Access::Write ? "write" : "atomic access";
  w.faultAt(FaultKind::IllegalAddress, lane, addr,
            std::string("global ") + verb + " of " + std::to_string(bytes) +
                " bytes out of bounds: " + MemorySpace::get().explain(addr, bytes));
}

[[noreturn]] static void reportUnwritten(Warp &w, unsigned lane, uint64_t addr, const Allocation &a) {
  w.faultAt(FaultKind::Uninitialised, lane, addr,
            "read of global memory that was never written: byte " + std::to_string(addr - a.base) + " of " +
                a.describe());
}

/// The whole-range form of the checks below for what is nearly always so:
/// all lanes lie in one allocation, aligned and written. False: look at each.
static bool quickAccess(Warp &w, const AccessPattern &p, uint64_t base, const uint64_t *addr, Access kind,
                        uint8_t **ptr) {
  const Window *win = w.worker->window(base + p.lowest, p.highest - p.lowest);
  if (!win || (base | p.lowBits) & (p.bytes - 1))
    return false;
  const uint64_t at = base - win->lo;
  bool good = true;
  for (uint32_t n = 0; n < p.runs && win->valid && kind != Access::Write; ++n)
    good &= allSet(win->valid, at + (int32_t)p.first[n], at + (int32_t)p.end[n]);
  if (!good)
    return false;
  const uint32_t inst = w.pc - 1, block = w.block->linear;
  for (uint32_t n = 0; n < p.runs; ++n) {
    const uint64_t lo = at + (int32_t)p.first[n], hi = at + (int32_t)p.end[n];
    const Toucher first{inst, block, w.index * warpSize + p.lane[n], p.laneStep};
    if (win->reads && kind != Access::Write)
      win->reads->add(lo, hi, first, p.bytes);
    if (win->writes && kind != Access::Read)
      win->writes->add(lo, hi, first, p.bytes);
    if (win->written && kind != Access::Read)
      setBits(win->written, lo, hi);
  }
  for (unsigned l = 0; l < warpSize; ++l)
    ptr[l] = (uint8_t *)((uint64_t)win->data + (addr[l] - win->lo)); // garbage in idle lanes
  w.worker->counters.globalSectors += p.sectors;
  return true;
}

static void checkLanes(Warp &w, const uint64_t *addr, uint32_t mask, unsigned bytes, Access kind, uint8_t **ptr) {
  for (uint32_t m = mask; m; m &= m - 1) {
    const unsigned lane = __builtin_ctz(m);
    const uint64_t a = addr[lane];
    const Window *win = w.worker->window(a, bytes);
    if (!win)
      reportGlobal(w, lane, a, bytes, kind);
    if (a & (bytes - 1))
      w.faultAt(FaultKind::Misaligned, lane, a,
                "global access of " + std::to_string(bytes) + " bytes is not aligned, in " + win->alloc->describe());
    const uint64_t at = a - win->lo;
    // Recorded before it is judged: a read of unwritten bytes is often the
    // visible end of a missing order between streams.
    const Toucher self{w.pc - 1, w.block->linear, w.index * warpSize + lane};
    if (win->reads && kind != Access::Write)
      win->reads->add(at, at + bytes, self, bytes);
    if (win->writes && kind != Access::Read)
      win->writes->add(at, at + bytes, self, bytes);
    if (kind != Access::Write && win->valid && !allSet(win->valid, at, at + bytes))
      reportUnwritten(w, lane, a, *win->alloc);
    ptr[lane] = win->data + at;
    if (kind != Access::Read && win->written)
      setBits(win->written, at, at + bytes);
  }
  w.worker->counters.globalSectors += countSectors(addr, mask);
}

void gpusim::globalAccess(Warp &w, const Inst &i, const uint64_t *addr, uint32_t mask, unsigned bytes, Access kind,
                          uint8_t **ptr) {
  if (!mask)
    return;
  Counters &c = w.worker->counters;
  ++c.globalRequests;
  uint64_t amount = (uint64_t)bytes * __builtin_popcount(mask);
  if (kind != Access::Write)
    c.globalLoadBytes += amount;
  if (kind != Access::Read)
    c.globalStoreBytes += amount;
  const AccessPattern *p = w.worker->pattern(&i - w.kernel->code.data(), addr, mask, bytes);
  if (!p || !p->laneStep || !quickAccess(w, *p, AccessPattern::base(addr, mask), addr, kind, ptr))
    checkLanes(w, addr, mask, bytes, kind, ptr);
}

uint8_t *gpusim::globalRegion(Warp &w, unsigned lane, uint64_t addr, uint32_t bytes, Access kind) {
  const Window *win = w.worker->window(addr, bytes);
  if (!win)
    reportGlobal(w, lane, addr, bytes, kind);
  const uint64_t at = addr - win->lo;
  const Toucher self{w.pc - 1, w.block->linear, w.index * warpSize + lane, 0};
  Counters &c = w.worker->counters;
  ++c.globalRequests;
  c.globalSectors += ((addr + bytes - 1) >> 5) - (addr >> 5) + 1;
  if (kind == Access::Read) {
    c.globalLoadBytes += bytes;
    if (win->reads)
      win->reads->add(at, at + bytes, self, 1);
    if (win->valid && !allSet(win->valid, at, at + bytes))
      reportUnwritten(w, lane, addr, *win->alloc);
  } else {
    c.globalStoreBytes += bytes;
    if (win->writes)
      win->writes->add(at, at + bytes, self, 1);
    if (win->written)
      setBits(win->written, at, at + bytes);
  }
  return win->data + at;
}
