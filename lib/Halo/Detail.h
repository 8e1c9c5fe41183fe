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

/// A piece of what one rank reads that comes from one owner in one stretch.
struct Segment {
  Side side;
  Fill fill;
  /// Part that sends minus part that receives; a circular dimension counts
  /// parts on through its periods. Reflected, the sender is as far behind the
  /// mirror as the receiver before it: their sum. Either way, one of the ends
  /// and the distance tell the other.
  int64_t distance;
  /// Index of the window tap that alone reads it, from the rank's first tap;
  /// -1 if the segment is cut from the whole reach.
  int64_t tap;
  int64_t receiver, sender;
  int64_t raw;    ///< first raw element at the receiver
  int64_t size;   ///< elements at the receiver
  int64_t source; ///< lowest element at the sender
};

/// Appends the segments that rank `r` reads.
void collectSegments(const Window &w, const Cuts &inputs, const Rank &rank,
                     int64_t r, std::vector<Segment> &segments);

} // namespace ringconv::halo::detail

#endif
