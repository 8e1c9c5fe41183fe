// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mutated PTX must be answered by an error or run.
//   gpusim-fuzz COUNT SEED FILE.ptx...
#include "Mutation.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace gpusim;

static std::string contents(const char *path) {
  std::stringstream s;
  s << std::ifstream(path).rdbuf();
  return s.str();
}

int main(int argc, char **argv) {
  if (argc < 4)
    return 2;
  const int count = atoi(argv[1]);
  const uint64_t seed = strtoull(argv[2], nullptr, 10);
  std::vector<std::string> texts;
  for (int n = 3; n < argc; ++n)
    texts.push_back(contents(argv[n]));
  Tally tally;
  for (int n = 0; n < count; ++n) {
    Random rng(seed * 1000003 + n);
    const std::string &from = texts[rng() % texts.size()];
    std::string ptx = mutate(from, texts[rng() % texts.size()], rng);
    // So that a crash can be repeated.
    if (getenv("GPUSIM_FUZZ_LOG")) {
      std::ofstream(getenv("GPUSIM_FUZZ_LOG")) << ptx;
      fprintf(stderr, "%d\r", n);
    }
    runAll(ptx, rng, tally);
  }
  printf("%d mutations: %u refused; kernels: %u faulted, %u ran\n", count, tally.refused, tally.faulted, tally.ran);
  // Both outcomes must be common, or the test tests little.
  bool good = tally.refused > (unsigned)count / 20 && tally.ran > (unsigned)count / 20;
  printf("%d passed, %d failed\n", good, !good);
  return !good;
}
