// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What one rank reads, exactly.
#include "Detail.h"

#include <algorithm>
#include <numeric>
#include <utility>

using namespace ringconv::halo;
using namespace ringconv::halo::detail;

/// Up to here elements are looked at one by one to find shorter descriptions.
static constexpr int64_t kFew = 4096;

static int64_t floorMod(int64_t a, int64_t b) { return a - floorDiv(a, b) * b; }

/// a + t step = 0 (mod b): with g = gcd(step, b) a solution exists if g divides
/// a, and t = (-a / g) (step / g)^-1 (mod b / g). The inverse comes from the
/// extended Euclidean algorithm: `x` keeps x * step = r (mod b).
int64_t detail::firstMultiple(int64_t a, int64_t step, int64_t b) {
  __extension__ typedef __int128 Wide;
  int64_t g = std::gcd(step, b), modulus = b / g;
  if (floorMod(a, g) != 0)
    return -1;
  int64_t r = modulus, next = (step / g) % modulus, x = 0, nextX = 1;
  while (next != 0) {
    int64_t quotient = r / next;
    std::swap(r -= quotient * next, next);
    std::swap(x -= quotient * nextX, nextX);
  }
  return static_cast<int64_t>(Wide(floorMod(-(a / g), modulus)) * floorMod(x, modulus) % modulus);
}

static int64_t countOf(const std::vector<Strip> &strips) {
  int64_t count = 0;
  for (const Strip &strip : strips)
    count += strip.count;
  return count;
}

static Strip clipOne(Strip strip, Interval interval) {
  int64_t skip = std::max<int64_t>(0, ceilDiv(interval.begin - strip.begin, strip.step));
  int64_t end = std::min(strip.count, ceilDiv(interval.end - strip.begin, strip.step));
  return {strip.begin + skip * strip.step, strip.step, end - skip};
}

/// The positions { j s + t d : 0 <= j < outs, 0 <= t < taps } follow each other.
static bool leavesNoGap(const Window &w, int64_t outs, int64_t taps) {
  if (outs == 1)
    return w.dilation == 1 || taps == 1;
  if (taps == 1)
    return w.stride == 1;
  return (w.stride == 1 && w.dilation <= outs) || (w.dilation == 1 && w.stride <= taps);
}

/// Tap t reads the positions a + t d + j s that are multiples of b. With
/// g = gcd(s, b) there are some if g divides a + t d; from the first on every
/// (b / g)-th output reads one, and the elements are s / g apart.
static std::vector<Strip> readsByTap(const Window &w, const Rank &rank) {
  int64_t outs = rank.out.size(), b = w.baseDilation, g = std::gcd(w.stride, b), period = b / g;
  Interval hull = rank.need.elements;
  // Taps of which some output reads within the hull.
  int64_t reach = (outs - 1) * w.stride;
  int64_t first = std::max<int64_t>(0, ceilDiv(hull.begin * b - rank.reach.begin - reach, w.dilation));
  int64_t last = std::min(rank.taps.size() - 1, floorDiv((hull.end - 1) * b - rank.reach.begin, w.dilation));
  std::vector<Strip> strips;
  for (int64_t t = first; t <= last; ++t) {
    int64_t position = rank.reach.begin + t * w.dilation, j = firstMultiple(position, w.stride, b);
    if (j < 0 || j >= outs)
      continue;
    Strip strip = clipOne({floorDiv(position + j * w.stride, b), w.stride / g, (outs - 1 - j) / period + 1}, hull);
    if (strip.count > 0)
      strips.push_back(strip);
  }
  return strips;
}

/// Strips of one step meet only where they agree modulo the step: those that
/// overlap or follow each other become one.
static std::vector<Strip> unite(std::vector<Strip> strips) {
  std::sort(strips.begin(), strips.end(), [](const Strip &a, const Strip &b) {
    int64_t p = floorMod(a.begin, a.step), q = floorMod(b.begin, b.step);
    return p != q ? p < q : a.begin < b.begin;
  });
  std::vector<Strip> united;
  for (const Strip &strip : strips) {
    Strip *previous = united.empty() ? nullptr : &united.back();
    if (previous && floorMod(previous->begin, strip.step) == floorMod(strip.begin, strip.step) &&
        strip.begin <= previous->last() + strip.step)
      previous->count = (std::max(previous->last(), strip.last()) - previous->begin) / strip.step + 1;
    else
      united.push_back(strip);
  }
  return united;
}

/// The same elements as stretches without gaps, where those are fewer.
static std::vector<Strip> asStretches(std::vector<Strip> strips) {
  if (strips.size() < 2 || countOf(strips) > kFew)
    return strips;
  std::vector<int64_t> elements;
  for (const Strip &strip : strips)
    for (int64_t j = 0; j < strip.count; ++j)
      elements.push_back(strip.begin + j * strip.step);
  std::sort(elements.begin(), elements.end());
  std::vector<Strip> stretches;
  for (int64_t element : elements)
    if (!stretches.empty() && stretches.back().last() + 1 == element)
      ++stretches.back().count;
    else
      stretches.push_back({element, 1, 1});
  return stretches.size() < strips.size() ? stretches : strips;
}

std::vector<Strip> detail::readsOf(const Window &w, const Rank &rank) {
  Interval hull = rank.need.elements;
  if (hull.empty())
    return {};
  if (leavesNoGap(w, rank.out.size(), rank.taps.size()))
    return {{hull.begin, 1, hull.size()}};
  std::vector<Strip> strips = unite(readsByTap(w, rank));
  if (strips.empty())
    return {};
  int64_t first = hull.end, last = hull.begin;
  for (const Strip &strip : strips) {
    first = std::min(first, strip.begin);
    last = std::max(last, strip.last());
  }
  if (countOf(strips) == last - first + 1)
    return {{first, 1, last - first + 1}};
  return strips;
}

std::vector<Strip> detail::clip(const std::vector<Strip> &strips, Interval interval) {
  std::vector<Strip> inside;
  for (const Strip &strip : strips)
    if (Strip part = clipOne(strip, interval); part.count > 0)
      inside.push_back(part);
  inside = asStretches(std::move(inside));
  for (Strip &strip : inside)
    if (strip.count == 1)
      strip.step = 1;
  std::sort(inside.begin(), inside.end(), [](const Strip &a, const Strip &b) { return a.begin < b.begin; });
  return inside;
}

bool detail::contains(const std::vector<Strip> &strips, int64_t element) {
  return std::any_of(strips.begin(), strips.end(), [&](const Strip &strip) {
    return element >= strip.begin && element <= strip.last() && (element - strip.begin) % strip.step == 0;
  });
}
