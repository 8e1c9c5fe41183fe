// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counters per kernel and launch, as a table and as JSON.
#ifndef GPUSIM_DRIVER_REPORT_H
#define GPUSIM_DRIVER_REPORT_H

#include "Exec.h"

namespace gpusim {

/// What the static side knows of a kernel.
struct KernelFacts {
  std::string name;
  int registers = 0;
  bool registersFromPtxas = false;
  unsigned staticShared = 0, dynamicShared = 0, threads = 0;
  unsigned blocksPerSM = 0, warpsPerSM = 0;
};

void addLaunch(const KernelFacts &facts, const LaunchConfig &config, const Counters &c);
void countMessage(const char *kind, size_t bytes);
/// Writes PID.txt and PID.json into GPUSIM_REPORT_DIR, if that is set.
void writeReportFiles();
std::string reportTable();
std::string reportJson();

/// Limits of a multiprocessor (CUDA C++ Programming Guide, "Compute
/// Capabilities") and how many blocks fit.
struct Limits {
  unsigned multiprocessors, threadsPerSM, blocksPerSM, registersPerSM;
  unsigned sharedPerSM, sharedPerBlock, reservedShared;
  unsigned registerGranule; ///< per warp
};
Limits limitsOf(unsigned arch);
unsigned blocksPerSM(unsigned arch, unsigned threads, unsigned registers, unsigned shared);

} // namespace gpusim

#endif // GPUSIM_DRIVER_REPORT_H
