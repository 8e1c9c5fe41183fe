// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Running kernels: launches, blocks, warps, faults and counters.
#ifndef GPUSIM_PTX_EXEC_H
#define GPUSIM_PTX_EXEC_H

#include "Kernel.h"
#include "Touch.h"

#include <functional>
#include <mutex>

namespace gpusim {

enum class FaultKind {
  IllegalAddress,
  Misaligned,
  Uninitialised,
  SharedRace,
  PartialWarp,
  Barrier,
  Deadlock,
  Timeout,
  Trap,
  Assert,
  Illegal ///< an instruction with operands that have no meaning
};
const char *faultName(FaultKind k);

struct Fault {
  FaultKind kind = FaultKind::Illegal;
  std::string kernel, opcode, message;
  unsigned line = 0;
  unsigned block[3] = {0, 0, 0}, thread[3] = {0, 0, 0};
  uint64_t address = 0;
  bool hasAddress = false;
  std::string describe() const;
};

struct LaunchOptions {
  uint64_t seed = 0;
  unsigned cores = 1;
  uint64_t maxWarpInsts = 1ull << 36; ///< per block; beyond: Timeout
  bool checkInit = true, checkRaces = true;
  bool track = true; ///< record which bytes are touched
};

struct LaunchConfig {
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  unsigned dynamicShared = 0;
  std::vector<uint8_t> params;
};

/// Counters of one launch; all are sums over blocks, so that they do not
/// depend on the order or number of cores.
struct Counters {
  uint64_t warpInsts[(int)Class::Count] = {};
  uint64_t threadInsts[(int)Class::Count] = {};
  uint64_t flops[(int)Unit::Count] = {};
  uint64_t globalLoadBytes = 0, globalStoreBytes = 0;
  uint64_t globalRequests = 0, globalSectors = 0;
  uint64_t distinctLoadSectors = 0, distinctStoreSectors = 0;
  uint64_t sharedRequests = 0, sharedWavefronts = 0, sharedIdeal = 0;
  uint64_t barriers = 0, blocks = 0, warps = 0;
  uint64_t totalWarpInsts() const;
  uint64_t totalThreadInsts() const;
  void add(const Counters &other);
};

struct LaunchResult {
  Counters counters;
  std::vector<AccessSet> accesses;
  std::unique_ptr<Fault> fault;
};

LaunchResult runKernel(const Kernel &k, const LaunchConfig &config, const LaunchOptions &options);

} // namespace gpusim

#endif // GPUSIM_PTX_EXEC_H
