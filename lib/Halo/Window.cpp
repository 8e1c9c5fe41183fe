// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One window, one dimension: sizes, cuts and needs.
#include "Detail.h"

#include <algorithm>

using namespace ringconv::halo;

/// Sums of up to seven numbers below this stay below 2^63, which is what the
/// formulas of this library need; checkWindow refuses anything above.
static constexpr int64_t kLimit = int64_t(1) << 60;

/// Of the elements that a border other than zero adds to one side: exchanges list
/// them one by one, and slabs hold them.
static constexpr int64_t kBorderLimit = int64_t(1) << 20;

Interval ringconv::halo::intersect(Interval a, Interval b) {
  return {std::max(a.begin, b.begin), std::min(a.end, b.end)};
}

int64_t ringconv::halo::floorDiv(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}
int64_t ringconv::halo::ceilDiv(int64_t a, int64_t b) {
  return a / b + (a % b > 0);
}

/// As std::clamp, but `high` wins if the bounds cross.
static int64_t clampTo(int64_t value, int64_t low, int64_t high) {
  return std::min(std::max(value, low), high);
}

//===----------------------------------------------------------------------===//
// Cuts
//===----------------------------------------------------------------------===//

bool Cuts::even() const {
  for (int64_t r = 1; r < parts(); ++r)
    if (part(r).size() != part(0).size())
      return false;
  return true;
}

Cuts Cuts::clipped(int64_t begin, int64_t size) const {
  Cuts cuts;
  for (int64_t bound : bounds)
    cuts.bounds.push_back(std::clamp<int64_t>(bound - begin, 0, size));
  return cuts;
}

int64_t ringconv::halo::moved(const Cuts &from, const Cuts &to) {
  int64_t count = 0;
  for (int64_t r = 0; r < to.parts(); ++r)
    count += to.part(r).size() - intersect(from.part(r), to.part(r)).size();
  return count;
}

Cuts Cuts::balanced(int64_t size, int64_t parts) {
  int64_t quotient = size / parts, larger = size % parts;
  Cuts cuts;
  cuts.bounds.reserve(parts + 1);
  for (int64_t c = 0; c <= parts; ++c)
    cuts.bounds.push_back(quotient * c + std::min(c, larger));
  return cuts;
}

std::optional<std::string>
ringconv::halo::checkCuts(const std::vector<int64_t> &bounds, int64_t size,
                          int64_t parts) {
  if (parts < 1)
    return "a dimension is cut into at least 1 part, not " +
           std::to_string(parts);
  if (static_cast<int64_t>(bounds.size()) - 1 != parts)
    return std::to_string(parts) + " parts need " + std::to_string(parts + 1) +
           " cuts, but there are " + std::to_string(bounds.size());
  if (bounds.front() != 0)
    return "the first cut must be 0, not " + std::to_string(bounds.front());
  for (int64_t r = 0; r < parts; ++r)
    if (bounds[r] > bounds[r + 1])
      return "part " + std::to_string(r) + " begins at " +
             std::to_string(bounds[r]) + " but ends at " +
             std::to_string(bounds[r + 1]);
  if (bounds.back() != size)
    return "the last cut must be the size " + std::to_string(size) + ", not " +
           std::to_string(bounds.back());
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

Interval detail::borderDomain(const Window &w, int64_t size) {
  return {std::max<int64_t>(0, -w.padLow),
          size - std::max<int64_t>(0, -w.padHigh)};
}

/// (count - 1) * step + 1, or nothing if that is no size we can count with.
static std::optional<int64_t> spread(int64_t count, int64_t step) {
  int64_t result;
  if (count <= 0)
    return 0;
  if (__builtin_mul_overflow(count - 1, step, &result) || result >= kLimit)
    return std::nullopt;
  return result + 1;
}

static std::optional<std::string> checkMagnitudes(const Window &w,
                                                  int64_t size) {
  auto tooLarge = [](int64_t value) {
    return value > kLimit || value < -kLimit;
  };
  std::string limit = " must stay below 2^60";
  for (int64_t step : {w.stride, w.dilation, w.baseDilation})
    if (tooLarge(step))
      return "strides and dilations" + limit + ", not " + std::to_string(step);
  for (int64_t pad : {w.padLow, w.padHigh})
    if (tooLarge(pad))
      return "padding" + limit + ", not " + std::to_string(pad);
  if (!spread(w.size, w.dilation))
    return "the reach of a window" + limit + ", not " + std::to_string(w.size) +
           " taps dilated by " + std::to_string(w.dilation);
  if (!spread(size, w.baseDilation))
    return "the dilated size" + limit + ", not " + std::to_string(size) +
           " elements dilated by " + std::to_string(w.baseDilation);
  return std::nullopt;
}

static std::optional<std::string> checkNumbers(const Window &w, int64_t size) {
  if (size < 0)
    return "a dimension has no negative size " + std::to_string(size);
  if (w.size < 0)
    return "a window has no negative size " + std::to_string(w.size);
  if (w.stride < 1)
    return "the stride must be positive, not " + std::to_string(w.stride);
  if (w.dilation < 1)
    return "the window dilation must be positive, not " +
           std::to_string(w.dilation);
  if (w.baseDilation < 1)
    return "the base dilation must be positive, not " +
           std::to_string(w.baseDilation);
  return checkMagnitudes(w, size);
}

/// Rule 5: what a border maps onto must exist, and a reflection does not go
/// beyond the other end.
static std::optional<std::string> checkBorder(const Window &w, int64_t size) {
  if (w.border == Border::Zero)
    return std::nullopt;
  if (w.baseDilation != 1)
    return "a border other than zero needs a base dilation of 1, not " +
           std::to_string(w.baseDilation);
  int64_t left = detail::borderDomain(w, size).size();
  int64_t pad = std::max(w.padLow, w.padHigh);
  if (pad > kBorderLimit)
    return "a border other than zero adds at most " + std::to_string(kBorderLimit) + " elements to a side, not " +
           std::to_string(pad);
  if (pad > 0 && left == 0)
    return "a border other than zero needs elements, but cropping leaves 0 "
           "of " +
           std::to_string(size);
  if (w.border == Border::Reflect && pad > 0 && pad >= left)
    return "reflect padding must be below the cropped size " +
           std::to_string(left) + ", not " + std::to_string(pad);
  return std::nullopt;
}

std::optional<std::string> ringconv::halo::checkWindow(const Window &w,
                                                       int64_t size) {
  if (auto why = checkNumbers(w, size))
    return why;
  return checkBorder(w, size);
}

/// Defensive: windows that checkWindow refuses for their numbers have none.
int64_t ringconv::halo::numOutputs(const Window &w, int64_t size) {
  if (size <= 0 || checkNumbers(w, size))
    return 0;
  int64_t padded = *spread(size, w.baseDilation) + w.padLow + w.padHigh;
  return padded <= 0 || padded < w.reach()
             ? 0
             : (padded - w.reach()) / w.stride + 1;
}

//===----------------------------------------------------------------------===//
// Anchored cuts (rules 6 and 10)
//===----------------------------------------------------------------------===//

static int64_t anchorOf(const Window &w) {
  return clampTo(w.padLow, 0, std::max<int64_t>(0, w.reach() - 1));
}

/// The anchor of output o is its position o s - p + a, some place within the
/// reach of its window. Part c computes the outputs whose anchors lie at or
/// behind its first element and before that of part c + 1:
///
///   o s - p + a >= i_c b   <=>   o >= (i_c b + p - a) / s.
///
/// Ends are forced: outputs anchored in padding belong to the outer parts.
Cuts ringconv::halo::anchoredOutputs(const Window &w, const Cuts &inputs) {
  int64_t outputs = numOutputs(w, inputs.size()),
          shift = w.padLow - anchorOf(w);
  Cuts cuts = inputs;
  for (int64_t &bound : cuts.bounds)
    bound =
        clampTo(ceilDiv(bound * w.baseDilation + shift, w.stride), 0, outputs);
  cuts.bounds.front() = 0;
  cuts.bounds.back() = outputs;
  return cuts;
}

/// The same relation read the other way: the first element at or behind the
/// anchor of output o_c is ceil((o_c s - p + a) / b). A rank then reaches at
/// most ceil(a / b) elements to its left and ceil((K - 1 - a) / b) to its
/// right, because ceil(x + y) <= ceil(x) + ceil(y) and clamping moves no two
/// numbers apart.
Cuts ringconv::halo::anchoredInputs(const Window &w, int64_t size,
                                    const Cuts &outputs) {
  int64_t shift = anchorOf(w) - w.padLow;
  Cuts cuts = outputs;
  for (int64_t &bound : cuts.bounds)
    bound = clampTo(ceilDiv(bound * w.stride + shift, w.baseDilation), 0, size);
  cuts.bounds.front() = 0;
  cuts.bounds.back() = size;
  return cuts;
}

//===----------------------------------------------------------------------===//
// Needs (rules 1, 10, 13)
//===----------------------------------------------------------------------===//

Interval detail::rawReach(const Window &w, Interval out, Interval taps) {
  int64_t a = out.begin * w.stride + taps.begin * w.dilation - w.padLow;
  if (out.empty() || taps.empty())
    return {a, a};
  return {a, (out.end - 1) * w.stride + (taps.end - 1) * w.dilation - w.padLow +
                 1};
}

/// Element i stands at position i b, so the first element at or behind position
/// a is ceil(a / b), and the first behind e - 1 is ceil(e / b). The first tap
/// stands a - A b behind element A: 0 or some holes before it, or further
/// before it where A was clamped, that is in padding.
Need ringconv::halo::needOf(const Window &w, int64_t size, Interval out,
                            Interval taps) {
  Interval reach = detail::rawReach(w, out, taps);
  if (w.border != Border::Zero)
    return {reach, 0};
  int64_t first = clampTo(ceilDiv(reach.begin, w.baseDilation), 0, size);
  int64_t last = clampTo(ceilDiv(reach.end, w.baseDilation), 0, size);
  if (reach.empty() || first >= last)
    return {{first, first}, 0};
  return {{first, last}, reach.begin - first * w.baseDilation};
}
