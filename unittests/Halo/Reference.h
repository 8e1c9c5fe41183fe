// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows by their definition: the padded dimension is built element by
// element and a window is moved over it. Shares no formula with lib/Halo.
#ifndef RINGCONV_UNITTESTS_HALO_REFERENCE_H
#define RINGCONV_UNITTESTS_HALO_REFERENCE_H

#include "ringconv/Halo/Halo.h"

#include <ostream>
#include <random>
#include <string>
#include <vector>

namespace ringconv::halo::test {

/// The dimension after base dilation, cropping and padding: at each position
/// the index of an element, or -1 for a hole or padding.
std::vector<int64_t> paddedDimension(const Window &w, int64_t size);

/// By sliding: how often the window fits.
int64_t countOutputs(const Window &w, int64_t size);

/// Raw positions (with element 0 at 0) that output o reads with tap t.
inline int64_t tapPosition(const Window &w, int64_t o, int64_t t) {
  return o * w.stride + t * w.dilation - w.padLow;
}

/// One dimension of a test: who owns, computes and reads what.
struct Dim {
  Window window;
  Cuts inputs;
  std::vector<Interval> outputs;
  std::vector<Interval> taps; ///< one for each part, never empty

  int64_t parts() const { return inputs.parts(); }
  int64_t size() const { return inputs.size(); }
  bool computes(int64_t r) const {
    return !outputs[r].empty() && !taps[r].empty();
  }
  std::string str() const;
};

using Random = std::mt19937_64;
/// Between the two, both included.
int64_t draw(Random &random, int64_t low, int64_t high);
Cuts drawCuts(Random &random, int64_t size, int64_t parts);

struct DrawOptions {
  int64_t maxSize = 24, maxParts = 6, maxTaps = 6, maxOutputs = 1 << 20;
};
/// A window that checkWindow accepts, with random cuts (even, balanced,
/// anchored, random), at times with cut taps.
Dim drawDim(Random &random, const DrawOptions &options = {});

std::vector<Interval> intervalsOf(const Cuts &cuts);

} // namespace ringconv::halo::test

#endif
