// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What stands outside is cut into stretches that the border maps in one piece:
//
//   circular   one per period:  position d0 + m L + j   to element d0 + j
//   reflect    one per end:     position d0 - j         to element d0 + j
//   replicate  one per end:     every position          to the outermost element
//
// [d0, d1) being the L elements that cropping leaves. Of each stretch a part
// receives what its elements get, and adds it:
//
//     first part, extended:  | outside |  own positions  |
//                                 \______________
//     part s, slab:                          | at .. at + size |
//     part s, result:      . . . . . . . . . . to .. to + targets
//
// With extended cuts that follow the elements' all positions below belong to the
// first part and all above to the last, so that a slab has one sender.
#include "ringconv/Halo/Fold.h"
#include "Detail.h"

#include <algorithm>

using namespace ringconv::halo;
using namespace ringconv::halo::detail;

Cuts ringconv::halo::foldCuts(const Window &extension, const Cuts &elements) {
  int64_t size = elements.size() + extension.padLow + extension.padHigh;
  Cuts cuts = elements;
  for (int64_t &bound : cuts.bounds)
    bound = std::clamp<int64_t>(bound + extension.padLow, 0, std::max<int64_t>(size, 0));
  cuts.bounds.front() = 0;
  cuts.bounds.back() = size;
  return cuts;
}

namespace {
/// Positions that are mapped in one piece: position x to element x - shift, or
/// pivot - x (reversed), or all to `element` (repeated).
struct Stretch {
  Side side;
  Interval positions;
  bool reversed, repeated;
  int64_t shift;
};

/// What one part gets of a stretch.
struct Share {
  Interval positions;
  int64_t target; ///< first of its elements
};

/// One value per part.
struct Column {
  std::vector<int64_t> values;
  explicit Column(size_t parts, int64_t value = 0) : values(parts, value) {}
  Table table() const { return Table::of(values); }
};
} // namespace

/// Below in ascending order, then above.
static std::vector<Stretch> stretchesOf(const Window &w, Interval domain, int64_t size) {
  std::vector<Stretch> stretches;
  if (w.border == Border::Zero) // what stands in padding is dropped
    return stretches;
  Interval low{-w.padLow, domain.begin}, high{domain.end, size + w.padHigh};
  for (auto [side, outside] : {std::pair{Side::Low, low}, std::pair{Side::High, high}}) {
    int64_t end = side == Side::Low ? domain.begin : domain.end - 1;
    while (!outside.empty()) {
      Stretch stretch{side, outside, w.border == Border::Reflect, w.border == Border::Replicate, 0};
      if (w.border == Border::Circular) {
        int64_t period = floorDiv(outside.begin - domain.begin, domain.size());
        stretch.shift = period * domain.size();
        stretch.positions.end = std::min(outside.end, domain.end + stretch.shift);
      } else {
        stretch.shift = stretch.reversed ? 2 * end : end;
      }
      stretches.push_back(stretch);
      outside.begin = stretch.positions.end;
    }
  }
  return stretches;
}

static Share shareOf(const Stretch &s, Interval elements) {
  if (elements.empty())
    return {{0, 0}, 0};
  if (s.repeated) {
    bool owns = elements.begin <= s.shift && s.shift < elements.end;
    return {owns ? s.positions : Interval{0, 0}, s.shift};
  }
  if (s.reversed) {
    Interval positions = intersect(s.positions, {s.shift - elements.end + 1, s.shift - elements.begin + 1});
    return {positions, s.shift - positions.end + 1};
  }
  Interval positions = intersect(s.positions, {elements.begin + s.shift, elements.end + s.shift});
  return {positions, positions.begin - s.shift};
}

/// What stays: positions of the domain, which are the rank's own.
static FoldPart ownPart(const Window &w, const Cuts &elements, const Cuts &extended, Interval domain) {
  size_t parts = elements.parts();
  Column at(parts), size(parts), to(parts);
  for (size_t r = 0; r < parts; ++r) {
    Interval own = intersect(elements.part(r), domain);
    if (own.empty())
      continue;
    at.values[r] = own.begin + w.padLow - extended.part(r).begin;
    size.values[r] = own.size();
    to.values[r] = own.begin - elements.part(r).begin;
  }
  return {Side::Own, false, at.table(), size.table(), to.table(), size.table()};
}

namespace {
/// The message that brings part `receiver` its share; `at`: in the slab.
struct Delivery {
  Share share;
  int64_t receiver, sender, at;
};
} // namespace

static Piece pieceOf(const Stretch &s, const Delivery &d, const Window &w, const Cuts &extended, int64_t low) {
  size_t parts = extended.parts();
  Column recvPeer(parts, -1), recvAt(parts), recvExtended(parts), recvSize(parts);
  Column sendPeer(parts, -1), sendAt(parts), sendSize(parts);
  recvPeer.values[d.receiver] = d.sender;
  recvAt.values[d.receiver] = d.at;
  recvExtended.values[d.receiver] = s.side == Side::Low ? d.at : low + extended.part(d.receiver).size() + d.at;
  recvSize.values[d.receiver] = d.share.positions.size();
  sendPeer.values[d.sender] = d.receiver;
  sendAt.values[d.sender] = d.share.positions.begin + w.padLow - extended.part(d.sender).begin;
  sendSize.values[d.sender] = d.share.positions.size();
  return {s.side,
          s.reversed,
          1,
          recvPeer.table(),
          recvAt.table(),
          recvExtended.table(),
          recvSize.table(),
          sendPeer.table(),
          sendAt.table(),
          sendSize.table()};
}

static FoldPart partOf(const Stretch &s, const std::vector<Delivery> &deliveries, const Cuts &elements) {
  size_t parts = elements.parts();
  Column at(parts), size(parts), to(parts), targets(parts);
  for (const Delivery &d : deliveries) {
    at.values[d.receiver] = d.at;
    size.values[d.receiver] = d.share.positions.size();
    to.values[d.receiver] = d.share.target - elements.part(d.receiver).begin;
    targets.values[d.receiver] = s.repeated ? 1 : d.share.positions.size();
  }
  return {s.side, s.repeated, at.table(), size.table(), to.table(), targets.table()};
}

FoldPlan ringconv::halo::planFold(const Window &w, const Cuts &elements) {
  Cuts extended = foldCuts(w, elements);
  Interval domain = borderDomain(w, elements.size());
  FoldPlan plan;
  plan.parts.push_back(ownPart(w, elements, extended, domain));
  std::vector<int64_t> filled[2];
  filled[0].resize(elements.parts());
  filled[1].resize(elements.parts());
  for (const Stretch &stretch : stretchesOf(w, domain, elements.size())) {
    bool high = stretch.side == Side::High;
    int64_t &slab = high ? plan.high : plan.low;
    std::vector<Delivery> deliveries;
    for (int64_t r = 0; r < elements.parts(); ++r) {
      Share share = shareOf(stretch, intersect(elements.part(r), domain));
      if (share.positions.empty())
        continue;
      deliveries.push_back({share, r, high ? elements.parts() - 1 : 0, filled[high][r]});
      filled[high][r] += share.positions.size();
      slab = std::max(slab, filled[high][r]);
    }
    for (const Delivery &d : deliveries)
      plan.pieces.push_back(pieceOf(stretch, d, w, extended, plan.low));
    plan.parts.push_back(partOf(stretch, deliveries, elements));
  }
  return plan;
}
