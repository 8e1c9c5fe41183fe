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

#include "Exec.h"

#include <atomic>
#include <cstring>

namespace gpusim {

constexpr unsigned warpSize = 32;
constexpr uint32_t fullMask = ~0u;

struct Block;
struct Worker;
struct SharedRuns;

struct Group {
  uint32_t pc, mask;
  bool parked;
};

/// One cp.async of a warp whose bytes have not landed yet.
struct AsyncCopy {
  AsyncCopy() {} // the arrays stay unset: they are large
  uint32_t mask = 0, bytes = 0;
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
  uint32_t asyncGroup[warpSize] = {};
  uint32_t reduced = 0; ///< count of the last bar.red

  uint32_t clock = 1;
  uint32_t floor = 0; ///< accesses of all warps up to this clock are ordered
  uint32_t known[warpSize] = {};
  std::vector<uint8_t> local; ///< lane-major

  template <typename T> T *r(uint32_t offset) {
    return reinterpret_cast<T *>(regs + offset);
  }
  template <typename T> const T *r(uint32_t offset) const {
    return reinterpret_cast<const T *>(regs + offset);
  }
  [[noreturn]] void fault(FaultKind kind, unsigned lane,
                          const std::string &message) const;
  [[noreturn]] void faultAt(FaultKind kind, unsigned lane, uint64_t address,
                            const std::string &message) const;
};

/// Window on an allocation that was recently accessed.
struct Window {
  uint64_t lo = 1, len = 0; ///< an access fits if addr-lo <= len-bytes
  uint8_t *data = nullptr, *valid = nullptr;
  uint64_t *reads = nullptr, *writes = nullptr;
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
  std::map<uint64_t, Touched> touched;
  std::unique_ptr<Fault> fault;
  Counters counters;
  std::vector<std::pair<uint64_t, uint64_t>> instCounts;

  Launch(const Kernel &k, const LaunchConfig &c, const LaunchOptions &o)
      : kernel(k), config(c), options(o) {}
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
  std::mt19937_64 rng;

  /// The window for an access, or null if no live allocation holds it.
  Window *window(uint64_t addr, uint64_t bytes);
};

/// A named barrier (PTX ISA, "bar, barrier").
struct BarrierState {
  uint32_t arrived = 0;          ///< bit per warp
  uint32_t expected = 0;         ///< threads; 0: all of the block
  std::vector<uint32_t> waiting; ///< warps to release
  uint32_t known[warpSize] = {}; ///< clocks joined from those that arrived
  uint32_t count = 0;            ///< threads whose predicate held, for bar.red
};

struct Block {
  Launch *launch = nullptr;
  uint32_t id[3] = {0, 0, 0};
  std::vector<Warp> warps;
  std::vector<uint8_t> shared;
  /// 0 never written, 1 written, 2 a cp.async is under way to it.
  std::vector<uint8_t> sharedState;
  std::vector<uint32_t> writer, reader, readerMask; ///< per granule
  uint32_t clock = 1;
  BarrierState barriers[16];
  uint64_t executed = 0;
};

/// writer[] and reader[] entries: clock in the high bits, then the warp, then
/// whether the access was atomic.
inline uint32_t raceTag(uint32_t clock, uint32_t warp, bool atomic) {
  return clock << 6 | warp << 1 | atomic;
}

/// Picks the next group of a warp; called when the current one cannot go on.
void reschedule(Warp &w);
/// Parks the lanes that execute the current `.sync` instruction until `need`
/// lanes are there. Returns true if they are all there now.
bool converge(Warp &w, const Inst &i, uint32_t need);

enum class Access { Read, Write, Atomic };
/// Checks and counts an access to global memory by the lanes in `mask` and
/// gives host addresses.
void globalAccess(Warp &w, const Inst &i, const uint64_t *addr, uint32_t mask,
                  unsigned bytes, Access kind, uint8_t **ptr);
void sharedAccess(Warp &w, const Inst &i, const uint32_t *addr, uint32_t mask,
                  unsigned bytes, Access kind, bool async = false);
uint32_t sharedWavefronts(const uint32_t *addr, uint32_t mask, unsigned bytes,
                          uint32_t &ideal);
void sharedRaceCheck(Warp &w, unsigned lane, uint32_t addr, unsigned bytes,
                     Access kind, bool landing = false);
/// Lets the copies of all but the newest `keep` groups land.
void landAsync(Warp &w, uint32_t lanes, uint32_t keep, bool all);
/// A warp arrives at a synchronisation: adds what it knows to `known`.
void shareClock(const Warp &w, uint32_t *known);
/// The warps in `who` learn `known`; their later accesses get a new clock.
void learnClocks(Block &b, const std::vector<uint32_t> &who,
                 const uint32_t *known);
/// Names lanes for a report, such as "lanes 3-7, 31".
std::string laneList(uint32_t mask);

} // namespace gpusim

#endif // GPUSIM_PTX_RUNTIME_H
