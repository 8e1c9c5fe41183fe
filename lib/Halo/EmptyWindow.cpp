// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Detail.h"

#include <algorithm>

using namespace ringconv::halo;

/// True if some tap of output `o` reads an element of [0, size): the taps whose
/// positions lie within the elements' are an interval.
static bool readsElement(const Window &w, int64_t size, int64_t o) {
  int64_t a = o * w.stride - w.padLow;
  int64_t first = std::max<int64_t>(0, ceilDiv(-a, w.dilation));
  int64_t last = std::min(w.size - 1, floorDiv((size - 1) * w.baseDilation - a, w.dilation));
  if (first > last)
    return false;
  int64_t more = detail::firstMultiple(a + first * w.dilation, w.dilation, w.baseDilation);
  return more >= 0 && first + more <= last;
}

/// Without gaps in a window, and with no hole as large, only windows that end
/// before the first element or begin behind the last read nothing. Else windows
/// away from the ends repeat with a period of baseDilation outputs, so that
/// those that touch an end, and one period, decide.
std::optional<int64_t> ringconv::halo::firstEmptyWindow(const Window &w, int64_t size) {
  int64_t outputs = numOutputs(w, size);
  if (outputs <= 0)
    return std::nullopt;
  if (!readsElement(w, size, 0))
    return 0;
  if (w.dilation == 1 && w.size >= w.baseDilation) {
    int64_t behind = floorDiv((size - 1) * w.baseDilation + w.padLow, w.stride) + 1;
    return behind < outputs ? std::optional(behind) : std::nullopt;
  }
  int64_t head = ceilDiv(std::max<int64_t>(w.padLow, 0) + w.reach(), w.stride) + w.baseDilation;
  int64_t tail = ceilDiv(std::max<int64_t>(w.padHigh, 0) + w.reach(), w.stride) + w.baseDilation;
  for (int64_t o = 0; o < std::min(head, outputs); ++o)
    if (!readsElement(w, size, o))
      return o;
  for (int64_t o = std::max(head, outputs - tail); o < outputs; ++o)
    if (!readsElement(w, size, o))
      return o;
  return std::nullopt;
}
