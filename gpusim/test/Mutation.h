// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the fuzz tests of PTX share: mutations of a text, and the run of
// whatever is left of it.
#ifndef GPUSIM_TEST_MUTATION_H
#define GPUSIM_TEST_MUTATION_H

#include <random>
#include <string>

namespace gpusim {

using Random = std::mt19937_64;

/// Swaps, drops, doubles or replaces bytes, tokens and lines. Some come from
/// `other`.
std::string mutate(std::string text, const std::string &other, Random &rng);

/// How texts and their kernels ended.
struct Tally {
  unsigned refused = 0; ///< texts
  unsigned faulted = 0, ran = 0;
};

/// Loads the text and runs every kernel on small blocks, with valid pointers
/// for parameters. It must never crash, hang or touch memory that is not its own.
void runAll(const std::string &ptx, Random &rng, Tally &tally);

} // namespace gpusim

#endif // GPUSIM_TEST_MUTATION_H
