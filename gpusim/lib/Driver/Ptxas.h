// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GPUSIM_DRIVER_PTXAS_H
#define GPUSIM_DRIVER_PTXAS_H

#include "Kernel.h"

namespace gpusim {

struct StaticFacts {
  int registers = 0, spillStores = 0, spillLoads = 0;
};

/// What ptxas says of a kernel; null unless GPUSIM_PTXAS names a ptxas that
/// runs. One run a module, remembered.
const StaticFacts *ptxasFacts(const Module &m, const std::string &kernel);

} // namespace gpusim

#endif // GPUSIM_DRIVER_PTXAS_H
