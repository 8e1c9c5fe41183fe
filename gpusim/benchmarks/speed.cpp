// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Thread-instructions per second of one kernel, all checks on: the median of
// nine runs, with the fastest and the slowest.
//   gpusim-speed FILE.ptx KERNEL GRIDX,Y,Z BLOCK SHARED CORES SIZE...
// Each SIZE is a pointer parameter to so many zeroed bytes, or `iN`, an i32.
#include "Exec.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <vector>

using namespace gpusim;

int main(int argc, char **argv) {
  if (argc < 7) {
    fprintf(stderr, "usage: see the first lines of speed.cpp\n");
    return 2;
  }
  std::stringstream text;
  text << std::ifstream(argv[1]).rdbuf();
  std::unique_ptr<Module> module = loadModule(text.str(), 0);
  Kernel &k = *module->kernels.at(argv[2]);
  LaunchConfig c;
  sscanf(argv[3], "%u,%u,%u", &c.grid[0], &c.grid[1], &c.grid[2]);
  sscanf(argv[4], "%u,%u,%u", &c.block[0], &c.block[1], &c.block[2]);
  c.dynamicShared = atoi(argv[5]);
  LaunchOptions o;
  o.cores = atoi(argv[6]);
  for (int n = 7; n < argc; ++n) {
    bool integer = argv[n][0] == 'i';
    size_t at = (c.params.size() + (integer ? 3 : 7)) / (integer ? 4 : 8) * (integer ? 4 : 8);
    c.params.resize(at + (integer ? 4 : 8));
    if (integer) {
      int v = atoi(argv[n] + 1);
      memcpy(&c.params[at], &v, 4);
      continue;
    }
    uint64_t bytes = strtoull(argv[n], nullptr, 0);
    AllocationRef a = MemorySpace::get().allocate(bytes, 0);
    memset(a->data, 0, bytes);
    MemorySpace::setValid(*a, a->base, bytes, true);
    memcpy(&c.params[at], &a->base, 8);
  }
  std::vector<double> seconds;
  LaunchResult r;
  for (int run = 0; run < 9; ++run) {
    auto start = std::chrono::steady_clock::now();
    const clock_t before = clock();
    r = runKernel(k, c, o);
    // Processor time: the machine may be shared. With several cores wall time.
    const double cpu = double(clock() - before) / CLOCKS_PER_SEC;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    seconds.push_back(o.cores > 1 ? wall.count() : cpu);
    if (r.fault) {
      printf("%s\n", r.fault->describe().c_str());
      return 1;
    }
  }
  std::sort(seconds.begin(), seconds.end());
  const double n = r.counters.totalThreadInsts(), s = seconds[4];
  printf("%.0f thread-instructions in %.4f s (%.4f-%.4f): %.3f G/s\n", n, s, seconds.front(), seconds.back(),
         n / s / 1e9);
  for (int cls = 1; cls < (int)Class::Count; ++cls)
    if (r.counters.warpInsts[cls])
      printf("  %-13s %llu\n", className((Class)cls), (unsigned long long)r.counters.warpInsts[cls]);
  printf("  shared wavefronts %llu ideal %llu, global sectors %llu distinct "
         "%llu\n",
         (unsigned long long)r.counters.sharedWavefronts, (unsigned long long)r.counters.sharedIdeal,
         (unsigned long long)r.counters.globalSectors, (unsigned long long)r.counters.distinctLoadSectors);
}
