// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Panel.h"

#include "llvm/Support/Format.h"
#include <algorithm>

using namespace ringconv;
using namespace ringconv::draw;

static std::string timeText(double microseconds) {
  std::string text;
  llvm::raw_string_ostream os(text);
  bool milli = microseconds >= 1000;
  os << llvm::format("%.3g", milli ? microseconds / 1000 : microseconds) << (milli ? " ms" : " us");
  return text;
}

static double sumOf(const std::vector<Event> &events, int64_t rank, llvm::StringRef kind) {
  double sum = 0;
  for (const Event &event : events)
    if (event.rank == rank && event.kind == kind)
      sum += event.duration;
  return sum;
}

void draw::writeTimeline(llvm::raw_ostream &os, const std::vector<Event> &events, int64_t ranks) {
  constexpr double width = 960, left = margin + 40, right = 250, top = 40, row = 18;
  double end = 1;
  for (const Event &event : events)
    end = std::max(end, event.begin + event.duration);
  double scale = (width - left - right) / end;
  Svg svg;
  struct Key {
    llvm::StringRef kind, text;
    double x;
  };
  for (const Key &key : {Key{"op", "computes", left}, Key{"post", "posts messages", left + 90},
                         Key{"wait", "waits for halos", left + 215}}) {
    svg.rect(key.x, 8, 10, 10, key.kind);
    svg.text(key.x + 15, 17, key.text, "");
  }
  svg.text(left, 34, "0", "soft small");
  svg.text(width - right, 34, timeText(end), "soft small", "end");
  svg.text(width - right + 12, 34, "computes, waits", "soft");
  for (int64_t rank = 0; rank < ranks; ++rank) {
    double y = top + rank * row;
    svg.text(left - 8, y + 12, std::to_string(rank), "", "end");
    svg.rect(left, y, end * scale, row - 3, "lane");
    svg.text(width - right + 12, y + 12,
             timeText(sumOf(events, rank, "op")) + ", " + timeText(sumOf(events, rank, "wait")), "");
  }
  for (const Event &event : events)
    if (event.rank >= 0 && event.rank < ranks)
      svg.rect(left + event.begin * scale, top + event.rank * row, std::max(event.duration * scale, .6), row - 3,
               event.kind, event.name + ", rank " + std::to_string(event.rank) + ": " + timeText(event.duration));
  os << document(width, top + ranks * row + 8, "What each rank did when", svg.elements());
}
