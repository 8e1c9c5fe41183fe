// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// State of a running launch, block and warp, shared by the handlers.
//
// Divergence. The lanes of a warp form groups with one program counter each.
// The group with the lowest counter runs first, so that groups meet again at
// the next common label. A `.sync` operation parks its group until every lane
// that it needs has arrived at the same instruction; if no other group can
// run, those lanes will never arrive, and that is reported.
//
// Races in shared memory. The block has one clock that advances whenever a
// barrier completes. Each warp knows, for each other warp, up to which clock
// that warp's accesses are ordered before its own (`known`). An access that
// meets a conflicting one with a later clock is unordered with it.
#ifndef GPUSIM_PTX_RUNTIME_H
#define GPUSIM_PTX_RUNTIME_H

#include "AccessPattern.h"
#include "Exec.h"

#include <atomic>
#include <cstring>

namespace gpusim {

constexpr unsigned warpSize = 32;
constexpr uint32_t fullMask = ~0u;

/// f(lane) for the lanes in `mask`, in their order.
template <typename F> inline void forLanes(uint32_t mask, F f) {
  if (mask == fullMask) {
    for (unsigned l = 0; l < warpSize; ++l)
      f(l);
    return;
  }
  for (uint32_t m = mask; m; m &= m - 1)
    f((unsigned)__builtin_ctz(m));
}

struct Block;
struct Worker;

struct Group {
  uint32_t pc, mask;
  bool parked;
};

/// One cp.async of a warp whose bytes have not landed yet.
struct AsyncCopy {
  AsyncCopy() {} // the arrays stay unset: they are large
  uint32_t mask = 0, bytes = 0;
  uint32_t site = 0; ///< index of the instruction
  uint32_t tag = 0;  ///< race tag of what it wrote
  uint32_t dst[warpSize];
  uint32_t group[warpSize]; ///< number of the lane's group it belongs to
  uint8_t data[warpSize][16];
};

enum class WarpState { Ready, AtBarrier, Done };

struct Warp {
  uint8_t *regs = nullptr;
  uint32_t *preds = nullptr;
  uint32_t pc = 0;
  uint32_t active = 0; ///< lanes of the running group
  uint32_t mask = 0;   ///< lanes the current instruction acts on
  uint32_t lanes = 0;  ///< lanes that exist
  uint32_t exited = 0;
  uint32_t index = 0;
  bool stop = false; ///< leave the inner loop after this instruction
  WarpState state = WarpState::Ready;
  uint32_t budget = 0; ///< backward branches until the warp yields
  uint32_t carry = 0;  ///< condition-code register, one bit per lane
  std::vector<Group> groups;
  Block *block = nullptr;
  Worker *worker = nullptr;
  const Kernel *kernel = nullptr;

  std::vector<AsyncCopy> pending;
  size_t landed = 0; ///< so many at the front of `pending` are done
  uint32_t asyncGroup[warpSize] = {};
  uint32_t reduced = 0; ///< count of the last bar.red
  bool polling = false; ///< its last turn ended at an mbarrier that was not ready,
  uint32_t polled = 0;  ///< at this address

  /// Chunks of 16 bytes that wgmma reads until it is waited for.
  struct TensorReads {
    uint32_t group;
    std::vector<uint32_t> chunks;
  };
  std::vector<TensorReads> tensorReads;
  /// Ranges that bulk copies to global memory read until they are waited for.
  struct BulkRead {
    uint32_t group, from, bytes;
  };
  std::vector<BulkRead> bulkReads;
  uint32_t bulkGroup = 0;   ///< number of the open group
  uint32_t tensorGroup = 0; ///< number of the open group

  uint32_t clock = 1;
  uint32_t floor = 0; ///< accesses of all warps up to this clock are ordered
  uint32_t known[warpSize] = {};
  std::vector<uint8_t> local; ///< lane-major

  template <typename T> T *r(uint32_t offset) { return reinterpret_cast<T *>(regs + offset); }
  template <typename T> const T *r(uint32_t offset) const { return reinterpret_cast<const T *>(regs + offset); }
  [[noreturn]] void fault(FaultKind kind, unsigned lane, const std::string &message) const;
  [[noreturn]] void faultAt(FaultKind kind, unsigned lane, uint64_t address, const std::string &message) const;
};

/// Window on an allocation that was recently accessed.
struct Window {
  uint64_t lo = 1, len = 0; ///< an access fits if addr-lo <= len-bytes
  uint8_t *data = nullptr;
  /// Bit map of the bytes that were ever written; `valid`: null if nobody
  /// asks.
  uint64_t *written = nullptr, *valid = nullptr;
  TouchMap *reads = nullptr, *writes = nullptr; ///< null if nobody asks
  Allocation *alloc = nullptr;
};

struct Launch {
  const Kernel &kernel;
  const LaunchConfig &config;
  const LaunchOptions &options;
  uint32_t threads, warpsPerBlock, sharedBytes, dynamicOffset = 0;
  std::atomic<uint64_t> nextBlock{0};
  std::vector<uint64_t> blockOrder;
  std::atomic<bool> failed{false};
  std::mutex mutex;
  struct Touched {
    AllocationRef alloc;
    std::shared_ptr<TouchMap> reads, writes;
  };
  std::map<uint64_t, Touched> touched; ///< by the allocation's address
  std::unique_ptr<Fault> fault;
  Counters counters;
  std::vector<std::pair<uint64_t, uint64_t>> instCounts;

  Launch(const Kernel &k, const LaunchConfig &c, const LaunchOptions &o) : kernel(k), config(c), options(o) {}
};

struct InstCount {
  uint64_t warps = 0, lanes = 0;
};

struct Worker {
  explicit Worker(Launch &launch) : launch(launch) {}
  Launch &launch;
  Counters counters;
  std::vector<InstCount> instCounts;
  static constexpr unsigned numWindows = 16;
  Window windows[numWindows];
  unsigned oldestWindow = 0;
  /// Two per instruction: of global and of shared memory.
  std::vector<std::unique_ptr<AccessPattern>> patterns;

  /// The window for an access, or null if no live allocation holds it.
  Window *window(uint64_t addr, uint64_t bytes);
  /// The pattern of an access by instruction `site`, to shared memory if the
  /// addresses have 32 bits. Null if it has none: its lanes are too far apart.
  template <typename T> const AccessPattern *pattern(uint32_t site, const T *addr, uint32_t mask, unsigned bytes) {
    auto &p = patterns[2 * site + (sizeof(T) == 4)];
    if (!p)
      p = std::make_unique<AccessPattern>();
    if (p->mask == mask && p->matches(addr, mask, bytes))
      return p.get();
    p->build(addr, mask, bytes);
    return p->mask ? p.get() : nullptr;
  }
};

/// A named barrier (PTX ISA, "bar, barrier").
struct BarrierState {
  uint32_t arrived = 0;          ///< bit per warp
  uint32_t expected = 0;         ///< threads; 0: all of the block
  std::vector<uint32_t> waiting; ///< warps to release
  uint32_t known[warpSize] = {}; ///< clocks joined from those that arrived
  uint32_t count = 0;            ///< threads whose predicate held, for bar.red
};

/// An mbarrier object (PTX ISA, "mbarrier"). It completes a phase when all
/// arrivals and all announced bytes of bulk copies are there.
struct MBarrier {
  uint32_t count = 0;            ///< arrivals of a phase
  int64_t pending = 0;           ///< arrivals that are missing
  int64_t bytes = 0;             ///< announced and not landed
  uint32_t phase = 0;            ///< completed ones
  uint32_t known[warpSize] = {}; ///< clocks of those that arrived
  uint32_t done[warpSize] = {};  ///< the same of the last complete phase
};

/// A bulk copy to shared memory. Its bytes land when somebody looks at its
/// mbarrier.
struct BulkCopy {
  uint32_t mbarrier, to;
  uint32_t warp, inst, tag; ///< who issued it, and the tag of what it wrote
  std::vector<uint8_t> data;
};

struct Block {
  Launch *launch = nullptr;
  uint32_t id[3] = {0, 0, 0};
  uint32_t linear = 0; ///< id as one number, modulo 2^32
  std::vector<Warp> warps;
  std::vector<uint8_t> shared;
  /// Race tags, and the warps that read since `reader` was ordered, for each
  /// granule: the finest width that the kernel accesses. A writer of 0 means
  /// that the granule was never written.
  std::vector<uint32_t> writer, reader, readerMask;
  bool checkRaces = false; ///< asked for, and there are several warps
  uint32_t clock = 1;
  BarrierState barriers[17];              ///< the last is that of the cluster
  std::map<uint32_t, MBarrier> mbarriers; ///< by address
  std::vector<BulkCopy> bulk;             ///< in the order of issue
  uint64_t executed = 0;
  uint64_t progress = 0; ///< grows when a wait of some warp may have ended
};

/// Race tag: the clock in the high bits, then the warp, then flags of a writer.
enum : uint32_t {
  atomicTag = 1,
  inFlightTag = 2, ///< a cp.async whose bytes have not landed
  warpShift = 2,
  warpBits = (warpSize - 1) << warpShift,
  clockShift = 7,
  lastClock = (1u << (32 - clockShift)) - 2
};
inline uint32_t raceTag(const Warp &w, uint32_t flags) { return w.clock << clockShift | w.index << warpShift | flags; }
inline uint32_t warpOfTag(uint32_t tag) { return (tag & warpBits) >> warpShift; }
inline uint32_t clockOfTag(uint32_t tag) { return tag >> clockShift; }
/// Tags below this belong to accesses that are ordered before all of `w`'s.
inline uint32_t orderedBelow(const Warp &w) { return (w.floor + 1) << clockShift; }

/// Picks the next group of a warp; called when the current one cannot go on.
void reschedule(Warp &w);
/// Lets another group go on, one that stands further on if there is one.
void yieldGroup(Warp &w);
/// Parks the lanes that execute the current `.sync` instruction until `need`
/// lanes are there. Returns true if they are all there now.
bool converge(Warp &w, const Inst &i, uint32_t need);

/// The same for instructions that need all 32 lanes.
bool wholeWarp(Warp &w, const Inst &i);

enum class Access { Read, Write, Atomic };
/// Checks and counts an access to global memory by the lanes in `mask` and
/// gives host addresses.
void globalAccess(Warp &w, const Inst &i, const uint64_t *addr, uint32_t mask, unsigned bytes, Access kind,
                  uint8_t **ptr);
/// The same for shared memory; `async`: the bytes are under way only.
void sharedAccess(Warp &w, const Inst &i, const uint32_t *addr, uint32_t mask, unsigned bytes, Access kind,
                  bool async = false);
/// The same for one range, by one thread on behalf of an asynchronous unit.
/// Shared memory: multiples of 16 bytes. Global memory: gives the host address.
void sharedRegion(Warp &w, unsigned lane, uint32_t lo, uint32_t bytes, Access kind, bool async = false);
uint8_t *globalRegion(Warp &w, unsigned lane, uint64_t addr, uint32_t bytes, Access kind);
/// Reads of up to 32 chunks of 16 bytes of shared memory by the whole warp,
/// without bank conflicts.
void sharedChunks(Warp &w, const uint32_t *addr, unsigned count);
/// Lets a bulk copy land.
void landBulk(Block &b, const BulkCopy &copy);
/// What the warp does from now on is later than what others know of it.
void advanceClock(Warp &w);
/// Lets the copies of all but the newest `keep` groups land.
void landAsync(Warp &w, uint32_t lanes, uint32_t keep, bool all);
/// A warp arrives at a synchronisation: adds what it knows to `known`.
void shareClock(const Warp &w, uint32_t *known);
/// The warps in `who` learn `known`; their later accesses get a new clock.
void learnClocks(Block &b, const std::vector<uint32_t> &who, const uint32_t *known);
/// Names lanes for a report, such as "lanes 3-7, 31".
std::string laneList(uint32_t mask);

} // namespace gpusim

#endif // GPUSIM_PTX_RUNTIME_H
