// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The arithmetic of cut windows: which elements a rank needs, where it keeps
// them, and which messages bring them. No IR: plain integers, one dimension at
// a time; an exchange in several dimensions is the product of its dimensions.
//
// Words. A dimension of `size` elements is cut into parts; part r owns an
// interval of elements and computes an interval of outputs. A POSITION counts
// base-dilated input positions: element i stands at position i * baseDilation,
// what lies between is a hole that is never read. The RAW reach of a window may
// lie outside the dimension; padding is skipped, or mapped by the border mode.
//
// Where a rank keeps what it needs (the EXTENDED dimension):
//
//          0            low           low + own        low + own + high
//          |  low slab   |  own shard   |  high slab    |
//          +-------------+--------------+---------------+
//               [validBegin ........ validEnd)            elements, extended
//          ^ offset: position of the first tap of the first output
//
// Slab sizes are the same on every rank; what differs by rank are three
// numbers: offset, validBegin, validEnd. The content of the low slab ends at
// its end, that of the high slab begins at its beginning. The shard itself is
// never copied.
#ifndef RINGCONV_HALO_HALO_H
#define RINGCONV_HALO_HALO_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ringconv::halo {

/// Half open; empty if end <= begin.
struct Interval {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end > begin ? end - begin : 0; }
  bool empty() const { return end <= begin; }
  bool operator==(const Interval &o) const { return begin == o.begin && end == o.end; }
};
Interval intersect(Interval a, Interval b);

/// Floor and ceiling of a / b for b > 0 and any sign of a.
int64_t floorDiv(int64_t a, int64_t b);
int64_t ceilDiv(int64_t a, int64_t b);

/// A function of the part number as runs that are linear:
/// f(c) = base + slope * (c - begin) of the last run with begin <= c. The first
/// run begins at 0, runs are maximal, so equal functions have equal runs, and a
/// run of one value has slope 0.
struct Run {
  int64_t begin, base, slope;
  bool operator==(const Run &o) const { return begin == o.begin && base == o.base && slope == o.slope; }
};
struct Table {
  std::vector<Run> runs;
  static Table of(const std::vector<int64_t> &values);
  /// As `of`, where values at c with care[c] == false may be anything: the
  /// fewest runs are wanted, above all a constant.
  static Table of(const std::vector<int64_t> &values, const std::vector<bool> &care);
  int64_t at(int64_t c) const;
  std::optional<int64_t> constant() const;
  bool operator==(const Table &o) const { return runs == o.runs; }
};

/// How a dimension is cut: non-decreasing bounds from 0 to the size.
struct Cuts {
  std::vector<int64_t> bounds;
  int64_t parts() const { return static_cast<int64_t>(bounds.size()) - 1; }
  int64_t size() const { return bounds.back(); }
  Interval part(int64_t r) const { return {bounds[r], bounds[r + 1]}; }
  /// True if all parts have the same size.
  bool even() const;
  /// Sizes differ by at most one, larger first (rule 6).
  static Cuts balanced(int64_t size, int64_t parts);
  /// These cuts as they fall on elements [begin, begin + size), counted from begin.
  Cuts clipped(int64_t begin, int64_t size) const;
  /// One part that owns everything.
  static Cuts whole(int64_t size) { return {{0, size}}; }
  bool operator==(const Cuts &o) const { return bounds == o.bounds; }
};
/// Elements that change hands when a dimension cut as `from` is cut as `to`;
/// both have the same size and number of parts.
int64_t moved(const Cuts &from, const Cuts &to);
/// Why the bounds do not cut a dimension of `size` into `parts`, or nothing.
std::optional<std::string> checkCuts(const std::vector<int64_t> &bounds, int64_t size, int64_t parts);

enum class Border { Zero, Circular, Reflect, Replicate };

/// One window dimension. Padding counts positions and is signed: negative
/// padding crops after base dilation (rule 11).
struct Window {
  int64_t size = 1, stride = 1, dilation = 1, baseDilation = 1, padLow = 0, padHigh = 0;
  Border border = Border::Zero;
  /// d (k - 1) + 1; 0 for a window without taps.
  int64_t reach() const { return size == 0 ? 0 : dilation * (size - 1) + 1; }
};
/// Why the window cannot be used on a dimension of `size`, or nothing: sizes
/// that overflow, border modes with base dilation, reflect padding that is not
/// below the (cropped) size (rule 5).
std::optional<std::string> checkWindow(const Window &w, int64_t size);
/// M of the rules' symbols, with base dilation (rule 10).
int64_t numOutputs(const Window &w, int64_t size);

/// The first output whose window reads no element of a zero-bordered dimension,
/// if there is one.
std::optional<int64_t> firstEmptyWindow(const Window &w, int64_t size);

/// Cuts of the outputs that follow the cuts of the inputs (rules 6 and 10):
/// anchor clamp(padLow, 0, K - 1), ends forced. Upsampled dimensions
/// (baseDilation > 1) keep their scaled cuts by the same formula.
Cuts anchoredOutputs(const Window &w, const Cuts &inputs);
/// Cuts of the inputs that fit given cuts of the outputs: each inner cut is the
/// first element that the windows of the outputs from there on are anchored at.
Cuts anchoredInputs(const Window &w, int64_t size, const Cuts &outputs);

/// What one rank reads for outputs `out` with window taps `taps`
/// (rules 1, 10, 13; border modes rule 5).
struct Need {
  /// Elements, raw: with a zero border inside [0, size); with the others the
  /// raw reach, to be mapped. Empty: every tap is padding, or nothing to do.
  Interval elements;
  /// Position of the first tap of the first output, relative to the position
  /// of elements.begin; <= 0 with zero border (padding first).
  int64_t start = 0;
};
Need needOf(const Window &w, int64_t size, Interval out, Interval taps);

enum class Side { Low, Own, High };

/// One kind of piece of a dimension's messages: what rank r gets from one
/// neighbour at a fixed distance (reflect: at the mirrored place) into one
/// side. The same kind at both ends, so that the product over dimensions pairs
/// sends with receives. All tables are functions of the part number; -1 as a
/// peer: this rank takes no part, and its sizes and places mean nothing.
struct Piece {
  Side side;
  bool reverse; ///< laid out in reverse order (reflect)
  int64_t step; ///< from one element to the next, at both ends
  /// Receiver's view: part that sends; where its first element goes, in the
  /// slab of its side (Side::Own: in the shard) and in the extended dimension;
  /// how many elements.
  Table recvPeer, recvAt, recvExtended, recvSize;
  /// Sender's view: part that receives; from where in the own shard; how many.
  Table sendPeer, sendAt, sendSize;
};

/// One kind of copy within a rank, once all pieces are there: a border mode
/// maps several places onto one element, which travels once. Place at + j step
/// of `side` becomes what stands at fromAt + j fromStep of `from`, for j = 0, 1,
/// ... in this order.
struct Fill {
  Side side, from;
  int64_t step, fromStep;
  /// Some rank reads what the same fill wrote: a period that repeats.
  bool ordered;
  /// Places within the sides and within the extended dimension; size 0 where a
  /// rank has nothing to copy.
  Table at, extended, fromAt, fromExtended, size;
  /// One copy of a box does it.
  bool isBox() const { return step == fromStep && !ordered; }
};

/// Everything about one dimension of a window operation on cut data.
struct Plan {
  int64_t low = 0, high = 0; ///< slab sizes
  Table offset, validBegin, validEnd;
  /// True if every rank with outputs keeps what it needs at its natural distance
  /// to the shard: offset - low * baseDilation is then a position in the shard.
  bool aligned = true;
  /// Side::Own comes first (what a rank reads of its own shard, a piece for
  /// itself; absent if no rank reads any), then by side and distance. No element
  /// of another rank comes twice.
  std::vector<Piece> pieces;
  /// In the order in which they are to be made.
  std::vector<Fill> fills;
  /// Parts that a message passes at most, itself included: along the shorter
  /// way where the border is circular.
  int64_t hops = 0;
  /// False if some rank reads not all of its shard.
  bool readsAll = true;
  /// Reports: owned elements and raw reach.
  Table ownBegin, ownEnd, needBegin, needEnd;
  /// Outputs (relative to the rank's first) that read nothing but the own
  /// shard and padding (rule 7); empty intervals are [x, x). Elements that a
  /// border mode maps onto are in slabs, so reading them is no interior even
  /// where the rank owns them. Everything, where the rank reads nothing.
  Table interiorBegin, interiorEnd;
  /// True if some rank gets something in a slab.
  bool needsExchange() const { return low > 0 || high > 0; }
};
/// inputs, outputs: cuts with the same number of parts; taps: window range of
/// each part (rule 13), or empty: all taps on every part. `size` is
/// inputs.size(). One dimension that is not cut but has a border mode is
/// planned with Cuts::whole on both sides.
///
/// Messages carry exactly what is read, each element once: where strides or
/// dilations leave gaps, the elements between them stay where they are.
Plan plan(const Window &w, const Cuts &inputs, const Cuts &outputs, const std::vector<Interval> &taps = {});
/// The same for outputs that are no cuts: where a window dimension is cut, every
/// part computes (a partial sum of) all outputs (rule 13).
Plan planRanges(const Window &w, const Cuts &inputs, const std::vector<Interval> &outputs,
                const std::vector<Interval> &taps = {});

/// For a dimension that every part holds whole, while `outputs` (and `taps`)
/// differ: no messages along it; the pieces are what each part reads, and what a
/// border mode maps is copied.
Plan planWhole(const Window &w, int64_t size, const std::vector<Interval> &outputs,
               const std::vector<Interval> &taps = {});

/// For a dimension without a window, of which part c of a + c of b (counted a
/// major) reads its part of `inputs` if its part of `outputs`, a dimension of the
/// result alone, is not empty: nothing travels along it.
Plan planIdle(const Cuts &inputs, const Cuts &outputs);

/// Outputs at either end that some rank cannot compute before its halos are
/// there: one pair for all ranks, so that all run one program. `outputs` is the
/// fewest that a rank has.
struct Edges {
  int64_t low = 0, high = 0, outputs = 0;
};
/// Nothing where a rank has too few outputs for both edges, or the plan is not
/// aligned: the interior reads the shard by its own coordinates.
std::optional<Edges> commonEdges(const Plan &plan, const std::vector<Interval> &outputs);

} // namespace ringconv::halo

#endif
