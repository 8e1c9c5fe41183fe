// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Output o reads at tap t the position o s + t d - p, which is element i where
// it equals i b. Solved for each of the three numbers:
//
//   o s = i b + p - t d = i b + (k - 1 - t) d - (K - 1 - p)     K = (k - 1) d + 1
//   i b = t d + o s - p
//   t d = i b + (m - 1 - o) s - ((m - 1) s - p)               m outputs
//
// that is a window over outputs (dilated by s) with output i and tap k - 1 - t;
// one over elements (dilated by b) with output t and tap o; one over taps
// (dilated by d) with output m - 1 - o and tap i. High padding follows from the number of
// outputs n that are wanted: (dilated size) + low + high = (n - 1) stride + reach.
#include "ringconv/Halo/Gradient.h"
#include "Detail.h"

#include <algorithm>

using namespace ringconv::halo;

static int64_t spread(int64_t count, int64_t step) { return (count - 1) * step + 1; }

/// Sets the high padding so that there are `outputs` outputs over `size`.
static Window withOutputs(Window w, int64_t size, int64_t outputs) {
  w.padHigh = (outputs - 1) * w.stride + w.reach() - spread(size, w.baseDilation) - w.padLow;
  return w;
}

Window ringconv::halo::inputGradient(const Window &w, int64_t size) {
  Window g{w.size, w.baseDilation, w.dilation, w.stride, w.reach() - 1 - w.padLow, 0};
  return withOutputs(g, numOutputs(w, size), size);
}

Window ringconv::halo::filterGradient(const Window &w, int64_t size) {
  Window g{numOutputs(w, size), w.dilation, w.stride, w.baseDilation, w.padLow, 0};
  g = withOutputs(g, size, w.size);
  if (!mapsBorder(w))
    return g;
  g.border = w.border;
  g.padHigh = w.padHigh < 0 ? w.padHigh : std::max<int64_t>(g.padHigh, 0);
  return g;
}

Window ringconv::halo::swapOperands(const Window &w, int64_t size) {
  int64_t outputs = numOutputs(w, size);
  Window g{size, w.stride, w.baseDilation, w.dilation, (outputs - 1) * w.stride - w.padLow, 0};
  return withOutputs(g, w.size, outputs);
}

bool ringconv::halo::mapsBorder(const Window &w) { return w.border != Border::Zero && (w.padLow > 0 || w.padHigh > 0); }

/// y[o] = sum over t of x[(o + t d - p) mod N] w[t] for o in [0, N) is a sum
/// over a group, so its adjoint reads y[(i - t d + p) mod N].
bool ringconv::halo::wrapsAround(const Window &w, int64_t size) {
  return w.border == Border::Circular && w.stride == 1 && w.padLow >= 0 && w.padHigh >= 0 &&
         numOutputs(w, size) == size;
}

Window ringconv::halo::onExtended(const Window &w) {
  Window extended = w;
  extended.padLow = extended.padHigh = 0;
  extended.border = Border::Zero;
  return extended;
}

std::vector<int64_t> ringconv::halo::readingTaps(const Window &w, int64_t size) {
  std::vector<int64_t> counts(numOutputs(w, size), w.size);
  if (mapsBorder(w))
    return counts;
  for (size_t o = 0; o < counts.size(); ++o)
    for (int64_t t = 0; t < w.size; ++t) {
      int64_t position = int64_t(o) * w.stride + t * w.dilation - w.padLow;
      bool reads = position >= 0 && position % w.baseDilation == 0 && position / w.baseDilation < size;
      counts[o] -= !reads;
    }
  return counts;
}
