// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ringconv/Halo/Halo.h"

#include <algorithm>

using namespace ringconv::halo;

/// True if some tap of output `o` reads an element of [0, size).
static bool readsElement(const Window &w, int64_t size, int64_t o) {
  for (int64_t t = 0; t < w.size; ++t) {
    int64_t position = o * w.stride + t * w.dilation - w.padLow;
    if (position >= 0 && position % w.baseDilation == 0 &&
        position / w.baseDilation < size)
      return true;
  }
  return false;
}

/// Windows away from the ends repeat with a period of baseDilation outputs, so
/// that those that touch an end, and one period, decide.
std::optional<int64_t> ringconv::halo::firstEmptyWindow(const Window &w,
                                                        int64_t size) {
  int64_t outputs = numOutputs(w, size);
  int64_t head = ceilDiv(std::max<int64_t>(w.padLow, 0) + w.reach(), w.stride) +
                 w.baseDilation;
  int64_t tail =
      ceilDiv(std::max<int64_t>(w.padHigh, 0) + w.reach(), w.stride) +
      w.baseDilation;
  for (int64_t o = 0; o < std::min(head, outputs); ++o)
    if (!readsElement(w, size, o))
      return o;
  for (int64_t o = std::max(head, outputs - tail); o < outputs; ++o)
    if (!readsElement(w, size, o))
      return o;
  return std::nullopt;
}
