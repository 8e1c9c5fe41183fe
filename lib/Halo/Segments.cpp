// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cuts what a rank reads into segments that each come from one owner, and into
// copies of what it has already.
#include "Detail.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>
#include <unordered_map>

using namespace ringconv::halo;
using namespace ringconv::halo::detail;

namespace {
/// Collects for one receiver, which is part `self` of the owners. A raw element x is mapped onto the domain
/// [d0, d1) by the border mode; [d0, d1) itself maps onto itself.
///
///            d0                 d1
///   . . . . .|------------------|. . . . .
///    left       identity          right
///
/// What is read within the domain comes from its owner. What is read beyond is
/// a copy where its element has a place already: in the shard, in the domain,
/// or at a place beyond that was looked at before. Only elements without a place
/// travel. Windows never leave [-padLow, size + padHigh), so the left region is
/// only met where d0 = 0, below every shard, and the right only where d1 = size,
/// above every shard: left of the domain is the low slab, right the high one.
class Collector {
public:
  Collector(const Window &w, const Cuts &inputs, int64_t self, const Rank &rank, int64_t r, int64_t low,
            Exchange &exchange)
      : w(w), inputs(inputs), self(self), rank(rank), r(r), low(low), exchange(exchange), reads(readsOf(w, rank)),
        domain(w.border == Border::Zero ? Interval{0, inputs.size()} : borderDomain(w, inputs.size())) {}

  void collect() {
    addDirect();
    addBeyond();
    addOwn();
  }

private:
  /// One element beyond the domain, and where it comes from.
  struct Element {
    int64_t at, from;               ///< raw
    int64_t owner = -1, period = 0; ///< of one that travels
    Side fromSide = Side::Own;      ///< of one that is copied
    int64_t fromExtended = 0;
  };

  void addDirect();
  void addBeyond();
  void addOwn();
  Element locate(int64_t x);
  Element copyOf(int64_t x, int64_t raw) const { return {x, raw, -1, 0, sideOf(raw), extendedOf(raw)}; }
  void addRuns(const std::vector<Element> &elements);
  void addCopy(const Element &first, int64_t step, int64_t fromStep, int64_t count);
  void addSegment(Side side, bool reverse, int64_t sender, int64_t period, int64_t extended, int64_t source,
                  int64_t step, int64_t count);

  int64_t mapped(int64_t x) const;
  int64_t ownerOf(int64_t element) const {
    return std::upper_bound(inputs.bounds.begin(), inputs.bounds.end(), element) - inputs.bounds.begin() - 1;
  }
  bool owns(int64_t element) const { return element >= rank.own.begin && element < rank.own.end; }
  Side sideOf(int64_t raw) const { return owns(raw) ? Side::Own : raw < rank.own.begin ? Side::Low : Side::High; }
  int64_t extendedOf(int64_t raw) const {
    return owns(raw) ? low + raw - rank.own.begin : rank.extended + raw - rank.need.elements.begin;
  }

  const Window &w;
  const Cuts &inputs;
  int64_t self;
  const Rank &rank;
  int64_t r, low;
  Exchange &exchange;
  std::vector<Strip> reads;
  Interval domain;
  std::unordered_map<int64_t, int64_t> placed; ///< element to its raw place beyond the domain
  std::vector<int64_t> ownBeyond;              ///< own elements that only the border reads
  std::map<std::tuple<Side, bool, int64_t, int64_t>, int64_t> segmentsLike;
  std::map<std::pair<Side, Side>, int64_t> copiesLike;
};
} // namespace

void Collector::addSegment(Side side, bool reverse, int64_t sender, int64_t period, int64_t extended, int64_t source,
                           int64_t step, int64_t count) {
  int64_t distance = reverse ? sender + r : sender + period * inputs.parts() - r;
  int64_t ordinal = segmentsLike[{side, reverse, step, distance}]++;
  exchange.segments.push_back({side, reverse, step, distance, ordinal, r, sender, extended, count, source});
}

/// Owners from the shard outwards, downwards and upwards.
void Collector::addDirect() {
  Interval hull = intersect(rank.need.elements, domain);
  auto add = [&](int64_t owner) {
    std::vector<Strip> strips = clip(reads, intersect(hull, inputs.part(owner)));
    Side side = owner < self ? Side::Low : Side::High;
    if (side == Side::Low)
      std::reverse(strips.begin(), strips.end());
    for (const Strip &strip : strips)
      addSegment(side, false, owner, 0, extendedOf(strip.begin), strip.begin, strip.step, strip.count);
  };
  if (hull.empty())
    return;
  for (int64_t owner = std::min(self - 1, ownerOf(hull.end - 1)); owner >= ownerOf(hull.begin); --owner)
    add(owner);
  for (int64_t owner = std::max(self + 1, ownerOf(hull.begin)); owner <= ownerOf(hull.end - 1); ++owner)
    add(owner);
}

/// Rule 5.
int64_t Collector::mapped(int64_t x) const {
  switch (w.border) {
  case Border::Zero:
    break;
  case Border::Circular:
    return x - floorDiv(x - domain.begin, domain.size()) * domain.size();
  case Border::Reflect: // does not repeat the outermost element
    return x < domain.begin ? 2 * domain.begin - x : 2 * (domain.end - 1) - x;
  case Border::Replicate:
    return x < domain.begin ? domain.begin : domain.end - 1;
  }
  return x;
}

/// A circular dimension repeats itself: what stands one period nearer is the
/// same, and one copy serves all periods.
Collector::Element Collector::locate(int64_t x) {
  int64_t element = mapped(x);
  if (w.border == Border::Circular) {
    int64_t nearer = x < domain.begin ? x + domain.size() : x - domain.size();
    if (contains(reads, nearer))
      return copyOf(x, nearer);
  }
  if (owns(element)) {
    if (!contains(reads, element))
      ownBeyond.push_back(element);
    return copyOf(x, element);
  }
  if (contains(reads, element))
    return copyOf(x, element);
  auto [place, isNew] = placed.insert({element, x});
  if (!isNew)
    return copyOf(x, place->second);
  int64_t period = w.border == Border::Circular ? floorDiv(x - domain.begin, domain.size()) : 0;
  return {x, element, ownerOf(element), period};
}

/// Places beyond the domain, outwards: above first.
void Collector::addBeyond() {
  Interval hull = rank.need.elements;
  auto add = [&](Interval beyond, bool outwardsIsDown) {
    std::vector<int64_t> places;
    for (const Strip &strip : clip(reads, intersect(hull, beyond)))
      for (int64_t j = 0; j < strip.count; ++j)
        places.push_back(strip.begin + j * strip.step);
    std::sort(places.begin(), places.end());
    if (outwardsIsDown)
      std::reverse(places.begin(), places.end());
    std::vector<Element> elements;
    for (int64_t x : places)
      elements.push_back(locate(x));
    addRuns(elements);
  };
  if (reads.empty() || w.border == Border::Zero)
    return;
  add({std::max(hull.begin, domain.end), hull.end}, false);
  add({hull.begin, std::min(hull.end, domain.begin)}, true);
}

/// Runs of elements at regular distances that come from one place. A single
/// element is a run like those of its border, so that ranks have like runs.
void Collector::addRuns(const std::vector<Element> &elements) {
  bool reflects = w.border == Border::Reflect, repeats = w.border == Border::Replicate;
  for (size_t begin = 0, end; begin < elements.size(); begin = end) {
    const Element &first = elements[begin];
    int64_t step = first.at < domain.begin ? -1 : 1, fromStep = reflects ? -step : repeats ? 0 : step;
    auto source = [](const Element &e) { return e.owner < 0 ? e.fromExtended : e.from; };
    for (end = begin + 1; end < elements.size(); ++end) {
      const Element &next = elements[end], &previous = elements[end - 1];
      if (next.owner != first.owner || next.period != first.period || next.fromSide != first.fromSide)
        break;
      int64_t there = next.at - previous.at, here = source(next) - source(previous);
      if (end == begin + 1) {
        if (here != there && here != -there && (here != 0 || first.owner >= 0))
          break;
        step = there;
        fromStep = here;
      } else if (there != step || here != fromStep) {
        break;
      }
    }
    int64_t count = static_cast<int64_t>(end - begin);
    if (first.owner < 0) {
      addCopy(first, step, fromStep, count);
      continue;
    }
    const Element &last = elements[end - 1];
    addSegment(sideOf(first.at), reflects, first.owner, first.period, extendedOf(std::min(first.at, last.at)),
               std::min(first.from, last.from), std::abs(step), count);
  }
}

/// Boxes are copied upwards where the direction does not matter.
void Collector::addCopy(const Element &first, int64_t step, int64_t fromStep, int64_t count) {
  int64_t extended = extendedOf(first.at), from = first.fromExtended;
  Side side = sideOf(first.at);
  int64_t reach = (count - 1) * std::abs(step);
  bool ordered = side == first.fromSide && std::abs(extended - from) <= reach && fromStep != 0;
  if (step == fromStep && step < 0 && !ordered) {
    step = fromStep = -step;
    extended -= reach;
    from -= reach;
  }
  int64_t ordinal = copiesLike[{side, first.fromSide}]++;
  exchange.copies.push_back({side, first.fromSide, step, fromStep, ordered, ordinal, r, extended, from, count});
}

/// What is read of the shard, by windows within the domain or by the border.
void Collector::addOwn() {
  std::vector<Strip> strips = reads;
  std::sort(ownBeyond.begin(), ownBeyond.end());
  ownBeyond.erase(std::unique(ownBeyond.begin(), ownBeyond.end()), ownBeyond.end());
  for (int64_t element : ownBeyond)
    strips.push_back({element, 1, 1});
  for (const Strip &strip : clip(strips, rank.own))
    addSegment(Side::Own, false, r, 0, extendedOf(strip.begin), strip.begin, strip.step, strip.count);
}

void detail::collectExchange(const Window &w, const Cuts &inputs, int64_t self, const Rank &rank, int64_t r,
                             int64_t low, Exchange &exchange) {
  Collector(w, inputs, self, rank, r, low, exchange).collect();
}
