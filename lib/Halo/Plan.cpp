// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Everything about one dimension of a window operation on cut data.
#include "Detail.h"

#include <algorithm>

using namespace ringconv::halo;
using namespace ringconv::halo::detail;

Rank detail::rankOf(const Window &w, int64_t size, Interval own, Interval out, const std::vector<Interval> &taps,
                    int64_t r) {
  Rank rank;
  rank.own = own;
  rank.out = out;
  rank.taps = taps.empty() ? Interval{0, w.size} : taps[r];
  rank.reach = rawReach(w, rank.out, rank.taps);
  rank.need = needOf(w, size, rank.out, rank.taps);
  return rank;
}

/// The low slab holds what a rank needs below its own elements, the high slab
/// what it needs above; one size for all ranks.
///
/// Elements keep their distance to the shard where the need meets it: element x
/// stands at low + (x - i0). Where it does not, there may be any gap between,
/// which would be kept for nothing: the need then ends at the end of the low
/// slab or begins at the beginning of the high one.
static void placeNeeds(std::vector<Rank> &ranks, Plan &plan) {
  for (const Rank &rank : ranks) {
    Interval need = rank.need.elements;
    if (need.empty())
      continue;
    plan.low =
        std::max(plan.low, std::min(need.end, rank.own.begin) - need.begin);
    plan.high =
        std::max(plan.high, need.end - std::max(need.begin, rank.own.end));
  }
  for (Rank &rank : ranks) {
    Interval need = rank.need.elements;
    bool apart = need.end < rank.own.begin || need.begin > rank.own.end;
    if (!rank.out.empty() && (need.empty() || apart))
      plan.aligned = false;
    if (need.end <= rank.own.begin)
      rank.extended = plan.low - need.size();
    else if (need.begin >= rank.own.end)
      rank.extended = plan.low + rank.own.size();
    else
      rank.extended = plan.low + need.begin - rank.own.begin;
  }
}

/// Offset and valid elements. Elements below validBegin or from validEnd on are
/// skipped, so where no tap reaches below A validBegin may be less, down to 0,
/// and where none reaches to B or beyond validEnd may be more, up to the end of
/// the extended dimension. That freedom makes constants out of tables. Taps
/// reach below A only where A was clamped, that is ceil(a / b) < A, and to B or
/// beyond only where B was: ceil(e / b) > B.
///
/// A rank whose need is empty skips everything: validEnd = 0. If it has no
/// outputs either, its numbers are never used.
static void tabulateReads(const Window &w, const std::vector<Rank> &ranks,
                          Plan &plan) {
  std::vector<int64_t> offset;
  std::vector<bool> care;
  std::vector<Range> begin, end;
  for (const Rank &rank : ranks) {
    int64_t total = plan.low + rank.own.size() + plan.high;
    Interval need = rank.need.elements;
    care.push_back(!need.empty());
    offset.push_back(rank.extended * w.baseDilation + rank.need.start);
    if (need.empty()) {
      begin.push_back({0, total});
      end.push_back({0, rank.out.empty() ? total : 0});
      continue;
    }
    bool clampedLow = ceilDiv(rank.reach.begin, w.baseDilation) < need.begin;
    bool clampedHigh = ceilDiv(rank.reach.end, w.baseDilation) > need.end;
    int64_t last = rank.extended + need.size();
    begin.push_back({clampedLow ? rank.extended : 0, rank.extended});
    end.push_back({last, clampedHigh ? last : total});
  }
  plan.offset = Table::of(offset, care);
  plan.validBegin = fit(begin);
  plan.validEnd = fit(end);
}

//===----------------------------------------------------------------------===//
// Interior (rule 7)
//===----------------------------------------------------------------------===//

/// Output o reaches from position x = o s + t0 d - p to x + K' - 1, where K' is
/// the reach of the rank's taps. It needs no neighbour if it lies behind the
/// last element before the shard and before the first element behind it:
///
///   x > (i0 - 1) b            <=>  o >= floor(((i0 - 1) b + p') / s) + 1
///   x + K' - 1 < i1 b         <=>  o <  floor((i1 b + p' - K') / s) + 1
///
/// with p' = p - t0 d. With a zero border there is nothing before element 0 and
/// behind the last, and windows that lie in padding altogether read nothing on
/// any rank: the longest of the three stretches is taken. Other borders put
/// what they map into slabs, on the owner too, so reaching over an end of the
/// dimension is no interior.
static Interval interiorOf(const Window &w, int64_t size, const Rank &rank) {
  if (rank.need.elements.empty())
    return rank.out;
  int64_t shift = w.padLow - rank.taps.begin * w.dilation;
  int64_t reach = (rank.taps.size() - 1) * w.dilation + 1, b = w.baseDilation;
  auto firstBehind = [&](int64_t position) {
    return floorDiv(position + shift, w.stride) + 1;
  };
  auto within = [&](int64_t begin, int64_t end) {
    begin = std::clamp(begin, rank.out.begin, rank.out.end);
    return Interval{begin, std::clamp(end, begin, rank.out.end)};
  };
  bool zero = w.border == Border::Zero;
  int64_t low = firstBehind((rank.own.begin - 1) * b),
          high = firstBehind(rank.own.end * b - reach);
  Interval best = within(zero && rank.own.begin == 0 ? rank.out.begin : low,
                         zero && rank.own.end == size ? rank.out.end : high);
  if (!zero)
    return best;
  for (Interval padding : {within(rank.out.begin, firstBehind(-reach)),
                           within(firstBehind((size - 1) * b), rank.out.end)})
    if (padding.size() > best.size())
      best = padding;
  return best;
}

static void tabulateReports(const Window &w, int64_t size,
                            const std::vector<Rank> &ranks, Plan &plan) {
  std::vector<int64_t> ownBegin, ownEnd, needBegin, needEnd, interiorBegin,
      interiorEnd;
  for (const Rank &rank : ranks) {
    Interval interior = interiorOf(w, size, rank);
    ownBegin.push_back(rank.own.begin);
    ownEnd.push_back(rank.own.end);
    needBegin.push_back(rank.need.elements.begin);
    needEnd.push_back(rank.need.elements.end);
    interiorBegin.push_back(interior.begin - rank.out.begin);
    interiorEnd.push_back(interior.end - rank.out.begin);
  }
  plan.ownBegin = Table::of(ownBegin);
  plan.ownEnd = Table::of(ownEnd);
  plan.needBegin = Table::of(needBegin);
  plan.needEnd = Table::of(needEnd);
  plan.interiorBegin = Table::of(interiorBegin);
  plan.interiorEnd = Table::of(interiorEnd);
}

/// `whole`: every rank owns all of `inputs`, which are one part.
static Plan planOf(const Window &w, const Cuts &inputs, bool whole, const std::vector<Interval> &outputs,
                   const std::vector<Interval> &taps) {
  Plan plan;
  std::vector<Rank> ranks;
  auto partOf = [&](size_t r) { return whole ? 0 : static_cast<int64_t>(r); };
  for (size_t r = 0; r < outputs.size(); ++r)
    ranks.push_back(rankOf(w, inputs.size(), inputs.part(partOf(r)), outputs[r], taps, static_cast<int64_t>(r)));
  placeNeeds(ranks, plan);
  tabulateReads(w, ranks, plan);
  tabulateReports(w, inputs.size(), ranks, plan);
  Exchange exchange;
  for (size_t r = 0; r < ranks.size(); ++r)
    collectExchange(w, inputs, partOf(r), ranks[r], static_cast<int64_t>(r), plan.low, exchange);
  tabulateExchange(exchange, ranks, w.border == Border::Circular, plan);
  return plan;
}

Plan ringconv::halo::planRanges(const Window &w, const Cuts &inputs, const std::vector<Interval> &outputs,
                                const std::vector<Interval> &taps) {
  return planOf(w, inputs, false, outputs, taps);
}

/// With a zero border, extended coordinates are the elements' own and padding
/// is what lies outside [0, size): no need, no clamping.
Plan ringconv::halo::planWhole(const Window &w, int64_t size, const std::vector<Interval> &outputs,
                               const std::vector<Interval> &taps) {
  Plan plan = planOf(w, Cuts::whole(size), true, outputs, taps);
  if (plan.needsExchange())
    return plan;
  std::vector<int64_t> offset;
  for (size_t r = 0; r < outputs.size(); ++r)
    offset.push_back(rawReach(w, outputs[r], taps.empty() ? Interval{0, w.size} : taps[r]).begin);
  plan.offset = Table::of(offset);
  plan.validBegin = Table::of(std::vector<int64_t>(outputs.size(), 0));
  plan.validEnd = Table::of(std::vector<int64_t>(outputs.size(), size));
  return plan;
}

Plan ringconv::halo::plan(const Window &w, const Cuts &inputs,
                          const Cuts &outputs,
                          const std::vector<Interval> &taps) {
  std::vector<Interval> ranges;
  ranges.reserve(outputs.parts());
  for (int64_t r = 0; r < outputs.parts(); ++r)
    ranges.push_back(outputs.part(r));
  return planRanges(w, inputs, ranges, taps);
}
