// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of the part number as linear runs.
#include "Detail.h"

#include <algorithm>
#include <limits>

using namespace ringconv::halo;
using detail::Range;

namespace {
/// Wide enough for any product and sum of two 64-bit numbers.
__extension__ typedef __int128 Wide;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

/// The values base + slope * (c - begin) for begin <= c < begin + length.
struct Stretch {
  Wide base = 0, slope = 0;
  size_t length = 0;
};
} // namespace

/// The longest constant from `begin`: the allowed ranges keep a common value.
/// Of the common values the lowest is taken, 0 if there is no lowest.
static Stretch constantFrom(const std::vector<Range> &allowed, size_t begin) {
  int64_t low = kMin, high = kMax;
  size_t end = begin;
  for (; end < allowed.size(); ++end) {
    int64_t nextLow = std::max(low, allowed[end].min);
    int64_t nextHigh = std::min(high, allowed[end].max);
    if (nextLow > nextHigh)
      break;
    low = nextLow;
    high = nextHigh;
  }
  int64_t value = low != kMin ? low : std::min<int64_t>(high, 0);
  return {value, 0, end - begin};
}

/// The longest line from `begin` through the first two parts c0 < c1 whose
/// values are fixed. It has an integer slope or no length.
static Stretch lineFrom(const std::vector<Range> &allowed, size_t begin,
                        size_t c0, size_t c1) {
  Wide rise = Wide(allowed[c1].min) - allowed[c0].min;
  Wide run = Wide(c1 - c0);
  if (rise % run != 0)
    return {};
  Stretch line;
  line.slope = rise / run;
  line.base = allowed[c0].min - line.slope * Wide(c0 - begin);
  for (size_t c = begin; c < allowed.size(); ++c, ++line.length) {
    Wide value = line.base + line.slope * Wide(c - begin);
    if (value < allowed[c].min || value > allowed[c].max)
      break;
  }
  return line;
}

/// Greedy: from every part on the longer of the two stretches, a constant if
/// they are equal. Each part is looked at a bounded number of times, since the
/// shorter stretch is never looked at beyond the longer.
Table detail::fit(const std::vector<Range> &allowed) {
  size_t parts = allowed.size();
  std::vector<size_t> nextSingle(parts + 1, parts);
  for (size_t c = parts; c-- > 0;)
    nextSingle[c] = allowed[c].single() ? c : nextSingle[c + 1];

  std::vector<int64_t> values;
  values.reserve(parts);
  while (values.size() < parts) {
    size_t begin = values.size();
    Stretch best = constantFrom(allowed, begin);
    size_t c0 = nextSingle[begin];
    size_t c1 = c0 < parts ? nextSingle[c0 + 1] : parts;
    if (c1 < parts && best.length < parts - begin) {
      Stretch line = lineFrom(allowed, begin, c0, c1);
      if (line.length > best.length)
        best = line;
    }
    for (size_t i = 0; i < best.length; ++i)
      values.push_back(static_cast<int64_t>(best.base + best.slope * Wide(i)));
  }
  return Table::of(values);
}

/// Every part of a linear run is a linear run, so cutting as late as possible
/// gives the fewest runs, and one result for one function.
Table Table::of(const std::vector<int64_t> &values) {
  Table table;
  for (size_t begin = 0, end; begin < values.size(); begin = end) {
    end = begin + 1;
    Run run{static_cast<int64_t>(begin), values[begin], 0};
    int64_t slope;
    if (end < values.size() &&
        !__builtin_sub_overflow(values[end], values[begin], &slope)) {
      run.slope = slope;
      Wide expected = Wide(values[begin]) + slope;
      for (; end < values.size() && values[end] == expected; ++end)
        expected += slope;
    }
    table.runs.push_back(run);
  }
  return table;
}

Table Table::of(const std::vector<int64_t> &values,
                const std::vector<bool> &care) {
  std::vector<Range> allowed;
  allowed.reserve(values.size());
  for (size_t c = 0; c < values.size(); ++c)
    allowed.push_back(c >= care.size() || care[c] ? Range{values[c], values[c]}
                                                  : Range{kMin, kMax});
  return detail::fit(allowed);
}

int64_t Table::at(int64_t c) const {
  auto after = std::upper_bound(
      runs.begin(), runs.end(), c,
      [](int64_t part, const Run &run) { return part < run.begin; });
  if (after == runs.begin())
    return 0;
  const Run &run = *(after - 1);
  return run.base + run.slope * (c - run.begin);
}

std::optional<int64_t> Table::constant() const {
  if (runs.size() != 1 || runs.front().slope != 0)
    return std::nullopt;
  return runs.front().base;
}
