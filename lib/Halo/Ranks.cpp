// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ringconv/Halo/Halo.h"

using namespace ringconv::halo;

/// Ranks from one coordinate of an axis to the next.
static int64_t strideOf(const std::vector<int64_t> &extents, int64_t axis) {
  int64_t stride = 1;
  for (size_t a = axis + 1; a < extents.size(); ++a)
    stride *= extents[a];
  return stride;
}

std::vector<Digit> ringconv::halo::digitsOfPart(const std::vector<int64_t> &extents, const std::vector<int64_t> &axes) {
  std::vector<Digit> digits(axes.size());
  int64_t factor = 1;
  for (size_t i = axes.size(); i-- > 0; factor *= extents[axes[i]])
    digits[i] = {strideOf(extents, axes[i]), extents[axes[i]], factor};
  return digits;
}

Table ringconv::halo::ranksOfParts(const std::vector<int64_t> &extents, const std::vector<int64_t> &axes) {
  std::vector<Digit> digits = digitsOfPart(extents, axes);
  int64_t parts = 1;
  for (const Digit &digit : digits)
    parts *= digit.modulus;
  std::vector<int64_t> ranks(parts, 0);
  for (int64_t part = 0; part < parts; ++part)
    for (const Digit &digit : digits)
      ranks[part] += part / digit.factor % digit.modulus * digit.divisor;
  return Table::of(ranks);
}
