// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of one operation's panel. Each draws from y = 0 down and returns
// its height.
#ifndef RINGCONV_LIB_DRAW_PANEL_H
#define RINGCONV_LIB_DRAW_PANEL_H

#include "Svg.h"
#include "ringconv/Draw/Draw.h"

namespace ringconv::draw {

inline constexpr double panelWidth = 640, margin = 16;

/// An operation on its mesh, with what the parts share.
struct Operation {
  Operation(const FuncReport &func, const WindowReport &window);

  const std::vector<int64_t> &extents;
  const WindowReport &window;
  std::vector<halo::Message> messages;

  int64_t ranks() const { return halo::numRanks(extents); }
  int64_t bytes(const halo::Message &message) const { return message.elements * window.exchangedBytes; }
  int64_t bytesInto(int64_t rank) const;
  /// The first of the ranks that most bytes travel to.
  int64_t busiest() const;
};

/// The colour of a part; neighbours in a plane of two dimensions differ.
int64_t colourOf(int64_t part, int64_t partBelow = 0);

/// One cut dimension: a row for each part with what it owns and reads.
double drawDimension(Svg &svg, const Operation &op, const WindowDimReport &dim);
/// Two cut dimensions: the shards, and around those of the busiest rank what it reads.
double drawPlane(Svg &svg, const Operation &op, const WindowDimReport &rows, const WindowDimReport &columns);
/// Bytes from each rank (row) to each (column).
double drawMessages(Svg &svg, const Operation &op);

/// All of these; locations are not part of it.
double drawOperation(Svg &svg, const Operation &op, const std::vector<std::string> &axes);

/// Operations that look the same, by their places in the report.
struct Panel {
  std::string label, elements;
  double height = 0;
  std::vector<size_t> windows;
};
std::vector<Panel> panelsOf(const FuncReport &report);

/// A row for each rank: when it computed, posted and waited.
void writeTimeline(llvm::raw_ostream &os, const std::vector<Event> &events, int64_t ranks);

} // namespace ringconv::draw

#endif
