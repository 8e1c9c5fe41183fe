// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts what a rank reads into segments that each come from one owner.
#include "Detail.h"

#include <algorithm>

using namespace ringconv::halo;
using namespace ringconv::halo::detail;

namespace {
/// Collects for one receiver. A raw element x is mapped onto the domain
/// [d0, d1) by the border mode; [d0, d1) itself maps onto itself.
///
///            d0                 d1
///   . . . . .|------------------|. . . . .
///    left       identity          right
///
/// Windows never leave [-padLow, size + padHigh), so the left region is only
/// met where d0 = 0, below every shard, and the right only where d1 = size,
/// above every shard: left of the domain is the low slab, right the high one.
class Collector {
public:
  Collector(const Window &w, const Cuts &inputs, const Rank &rank, int64_t r,
            std::vector<Segment> &segments)
      : w(w), inputs(inputs), rank(rank), r(r),
        domain(borderDomain(w, inputs.size())), segments(segments) {}

  void collect(Interval raw, int64_t tapIndex);

private:
  void copy(Interval raw, int64_t period);
  void circular(Interval raw);
  void reverse(Interval raw, int64_t pivot);
  void repeat(Interval raw, int64_t element);

  template <typename Visit>
  void forEachOwner(Interval elements, Visit visit) const;
  int64_t ownerOf(int64_t element) const;
  void add(Side side, Fill fill, int64_t period, int64_t sender, Interval raw,
           int64_t source);

  const Window &w;
  const Cuts &inputs;
  const Rank &rank;
  int64_t r;
  Interval domain;
  int64_t tap = -1;
  std::vector<Segment> &segments;
};
} // namespace

int64_t Collector::ownerOf(int64_t element) const {
  return std::upper_bound(inputs.bounds.begin(), inputs.bounds.end(), element) -
         inputs.bounds.begin() - 1;
}

/// Visits the owners of some elements in ascending order, empty parts never.
template <typename Visit>
void Collector::forEachOwner(Interval elements, Visit visit) const {
  while (!elements.empty()) {
    int64_t owner = ownerOf(elements.begin);
    int64_t end = std::min(elements.end, inputs.bounds[owner + 1]);
    visit(owner, Interval{elements.begin, end});
    elements.begin = end;
  }
}

void Collector::add(Side side, Fill fill, int64_t period, int64_t sender,
                    Interval raw, int64_t source) {
  int64_t distance =
      fill == Fill::Reverse ? sender + r : sender + period * inputs.parts() - r;
  segments.push_back(
      {side, fill, distance, tap, r, sender, raw.begin, raw.size(), source});
}

/// Raw elements of the period-th copy of the domain, 0 being the domain itself.
void Collector::copy(Interval raw, int64_t period) {
  int64_t shift = period * domain.size();
  forEachOwner({raw.begin - shift, raw.end - shift},
               [&](int64_t owner, Interval source) {
                 Interval at{source.begin + shift, source.end + shift};
                 Side side = at.begin < rank.own.begin ? Side::Low : Side::High;
                 if (owner == r && period == 0)
                   side = Side::Own;
                 add(side, Fill::Copy, period, owner, at, source.begin);
               });
}

/// f(x) = d0 + (x - d0) mod (d1 - d0); the reach may pass several periods.
void Collector::circular(Interval raw) {
  while (!raw.empty()) {
    int64_t period = floorDiv(raw.begin - domain.begin, domain.size());
    int64_t end = std::min(raw.end, domain.end + period * domain.size());
    copy({raw.begin, end}, period);
    raw.begin = end;
  }
}

/// f(x) = pivot - x, so raw [u, v) reads elements [pivot - v + 1, pivot - u +
/// 1) downwards.
void Collector::reverse(Interval raw, int64_t pivot) {
  if (raw.empty())
    return;
  Side side = raw.begin < domain.begin ? Side::Low : Side::High;
  forEachOwner({pivot - raw.end + 1, pivot - raw.begin + 1},
               [&](int64_t owner, Interval source) {
                 add(side, Fill::Reverse, 0, owner,
                     {pivot - source.end + 1, pivot - source.begin + 1},
                     source.begin);
               });
}

void Collector::repeat(Interval raw, int64_t element) {
  if (!raw.empty())
    add(raw.begin < domain.begin ? Side::Low : Side::High, Fill::Repeat, 0,
        ownerOf(element), raw, element);
}

void Collector::collect(Interval raw, int64_t tapIndex) {
  tap = tapIndex;
  if (raw.empty())
    return;
  Interval left{raw.begin, std::min(raw.end, domain.begin)};
  Interval right{std::max(raw.begin, domain.end), raw.end};
  switch (w.border) {
  case Border::Zero:
    return copy(intersect(raw, {0, inputs.size()}), 0);
  case Border::Circular:
    return circular(raw);
  case Border::Reflect: // does not repeat the outermost element
    reverse(left, 2 * domain.begin);
    reverse(right, 2 * (domain.end - 1));
    break;
  case Border::Replicate:
    repeat(left, domain.begin);
    repeat(right, domain.end - 1);
    break;
  }
  copy(intersect(raw, domain), 0);
}

/// The reach [A, B), or one interval for each tap t,
///
///   [a + t d, a + t d + (outs - 1) s + 1),
///
/// where that is less: where these leave gaps, d > (outs - 1) s + 1 (rule 1).
void detail::collectSegments(const Window &w, const Cuts &inputs,
                             const Rank &rank, int64_t r,
                             std::vector<Segment> &segments) {
  if (rank.need.elements.empty())
    return;
  Collector collector(w, inputs, rank, r, segments);
  int64_t span = (rank.out.size() - 1) * w.stride + 1;
  if (w.baseDilation != 1 || w.dilation <= span || rank.taps.size() == 1)
    return collector.collect(rank.need.elements, -1);
  for (int64_t t = 0; t < rank.taps.size(); ++t) {
    int64_t begin = rank.reach.begin + t * w.dilation;
    collector.collect({begin, begin + span}, t);
  }
}
