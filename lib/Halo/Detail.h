// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the files of this library share and nobody else needs.
#ifndef RINGCONV_LIB_HALO_DETAIL_H
#define RINGCONV_LIB_HALO_DETAIL_H

#include "ringconv/Halo/Halo.h"

namespace ringconv::halo::detail {

/// The values that a table may take at one part, both ends included.
struct Range {
  int64_t min, max;
  bool single() const { return min == max; }
};

/// A table with few runs whose value at c lies in allowed[c]: a constant if
/// there is one.
Table fit(const std::vector<Range> &allowed);

/// What is left of the dimension after negative padding cropped it; border
/// modes map onto this (rule 5). Base dilation 1.
Interval borderDomain(const Window &w, int64_t size);

/// Positions from the first tap of the first output to behind the last tap of
/// the last output (a and e of rules 10 and 13); {x, x} if there is nothing
/// to compute.
Interval rawReach(const Window &w, Interval out, Interval taps);

/// What one rank has to do and where it keeps what it needs.
struct Rank {
  Interval own, out, taps, reach;
  Need need;
  /// Extended coordinate of need.elements.begin.
  int64_t extended = 0;
};
/// Extended coordinates are not there yet.
Rank rankOf(const Window &w, int64_t size, Interval own, Interval out, const std::vector<Interval> &taps, int64_t r);

/// The smallest t >= 0 with a + t step a multiple of b (both positive), or -1.
int64_t firstMultiple(int64_t a, int64_t step, int64_t b);

/// Elements begin + j * step for 0 <= j < count.
struct Strip {
  int64_t begin, step, count;
  int64_t last() const { return begin + (count - 1) * step; }
};

/// The elements that a rank reads, raw, as strips that share no element: a
/// single one of step 1 where they leave no gap.
std::vector<Strip> readsOf(const Window &w, const Rank &rank);
/// What of the strips lies in the interval, in few strips, ascending.
std::vector<Strip> clip(const std::vector<Strip> &strips, Interval interval);
bool contains(const std::vector<Strip> &strips, int64_t element);

/// A piece of what one rank reads that comes from one owner in one stretch.
struct Segment {
  Side side;
  bool reverse;
  int64_t step;
  /// Part that sends minus part that receives; a circular dimension counts
  /// parts on through its periods. Reflected, the sender is as far behind the
  /// mirror as the receiver before it: their sum. Either way, one of the ends
  /// and the distance tell the other.
  int64_t distance;
  /// Counts a receiver's segments that have all of the above in common, from
  /// the shard outwards: what the end of a dimension cuts off is the last.
  int64_t ordinal;
  int64_t receiver, sender;
  int64_t extended; ///< first place at the receiver, extended
  int64_t size;     ///< elements
  int64_t source;   ///< lowest element at the sender
};

/// A copy that one rank makes; places are extended.
struct Copy {
  Side side, from;
  int64_t step, fromStep;
  bool ordered;
  int64_t ordinal, rank;
  int64_t extended, fromExtended, size;
};

/// What all ranks do along one dimension.
struct Exchange {
  std::vector<Segment> segments;
  std::vector<Copy> copies;
};

/// Adds what rank `r` reads; it owns part `self` of `inputs`.
void collectExchange(const Window &w, const Cuts &inputs, int64_t self, const Rank &rank, int64_t r, int64_t low,
                     Exchange &exchange);

/// Fills in pieces, fills, hops and readsAll.
void tabulateExchange(const Exchange &exchange, const std::vector<Rank> &ranks, bool circular, Plan &plan);

} // namespace ringconv::halo::detail

#endif
