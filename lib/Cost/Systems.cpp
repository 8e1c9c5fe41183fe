// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Figures of machines and links, with where they are from.
#include "ringconv/Cost/Cost.h"

#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace ringconv;
using namespace ringconv::cost;

static constexpr Machine core = {73.6e9, 5.1e9,
                                 "a core of an Intel Xeon Platinum 8380: 2.3 GHz, two 512-bit FMA units; 8 channels of "
                                 "DDR4-3200 for 40 cores (Intel's product page)"};
static constexpr Machine a100 = {9.75e12, 2.039e12,
                                 "NVIDIA A100 80 GB SXM: 19.5 Tflop/s of FP32, 2,039 GB/s (data sheet)"};
static constexpr Machine h100 = {33.5e12, 3.35e12, "NVIDIA H100 SXM: 67 Tflop/s of FP32, 3.35 TB/s (data sheet)"};

static constexpr Link memory = {1e-6, 10e9, "memory that threads share: a wake-up and a copy (assumed)"};
static constexpr Link ethernet = {5e-6, 12.5e9, "100 Gb/s; latency of remote direct memory access (assumed)"};
static constexpr Link nvlink = {3e-6, 300e9,
                                "NVLink 3: 600 GB/s in both directions (A100's data sheet); latency assumed"};
static constexpr Link pcie = {5e-6, 32e9,
                              "PCIe 4.0 x16: 64 GB/s in both directions (A100's data sheet); latency assumed"};

static constexpr System allSystems[] = {{"cores", &core, &memory},
                                        {"cores-100gb", &core, &ethernet},
                                        {"a100-nvlink", &a100, &nvlink},
                                        {"a100-pcie", &a100, &pcie},
                                        {"h100-100gb", &h100, &ethernet}};

llvm::ArrayRef<System> cost::systems() { return allSystems; }

const System *cost::findSystem(llvm::StringRef name) {
  const System *found = llvm::find_if(systems(), [&](const System &one) { return one.name == name; });
  return found == systems().end() ? nullptr : found;
}

double cost::secondsOf(const RankCost &cost, const System &system) {
  const Machine &machine = *system.machine;
  const Link &link = *system.link;
  double computing = std::max(cost.work / (machine.multiplyAdds / 2), double(cost.touched) / machine.memoryBytes);
  return computing + double(cost.messages) * link.latency + double(std::max(cost.sent, cost.received)) / link.bytes;
}

double cost::secondsOf(llvm::ArrayRef<RankCost> step, const System &system) {
  double slowest = 0;
  for (const RankCost &rank : step)
    slowest = std::max(slowest, secondsOf(rank, system));
  return slowest;
}

double cost::secondsOf(const Cost &cost, const System &system) {
  double sum = 0;
  for (const std::vector<RankCost> &step : cost.steps)
    sum += secondsOf(step, system);
  return sum;
}
