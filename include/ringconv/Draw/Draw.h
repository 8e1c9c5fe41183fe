// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The partition of a function, for people: a picture (SVG) and a page (HTML).
// Both follow the reader's light or dark mode and need no other file.
#ifndef RINGCONV_DRAW_DRAW_H
#define RINGCONV_DRAW_DRAW_H

#include "ringconv/Dialect/RingConv/Transforms/Report.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <string>
#include <vector>

namespace ringconv::draw {

/// More ranks than this are no picture.
inline constexpr int64_t maxRanks = 64;

/// Something that a rank did: computing an operation, posting an exchange, or
/// waiting for one. Microseconds since the start of the trace.
struct Event {
  std::string name, kind; ///< kind: op, post or wait
  int64_t rank = 0, id = -1;
  double begin = 0, duration = 0;
};
/// The events of a file that `--trace` wrote; nothing, and why, if it is none.
std::optional<std::vector<Event>> readTrace(llvm::StringRef json, std::string &error);

/// What the compiler said about the operation at `location` (file:line:col).
struct Remark {
  std::string location, text;
};

/// A panel for each windowed operation: the parts of each cut dimension and
/// what they read, shards and one rank's halo where two are cut, bytes from
/// rank to rank. Operations that differ only in their place share a panel.
void writePicture(llvm::raw_ostream &os, const FuncReport &report);

/// The picture, remarks and figures by operation and rank; with events, what
/// each operation took and when.
void writePage(llvm::raw_ostream &os, llvm::StringRef entry, const FuncReport &report,
               const std::vector<Remark> &remarks, const std::vector<Event> &events);

} // namespace ringconv::draw

#endif
