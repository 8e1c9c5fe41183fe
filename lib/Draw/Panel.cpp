// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A panel's words, and its bytes from rank to rank.
#include "Panel.h"

#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace ringconv;
using namespace ringconv::draw;

Operation::Operation(const FuncReport &func, const WindowReport &window)
    : extents(func.extents), window(window),
      messages(halo::messages(func.extents, window.input.dims, window.exchange)) {}

int64_t Operation::bytesInto(int64_t rank) const {
  int64_t sum = 0;
  for (const halo::Message &message : messages)
    if (message.to == rank)
      sum += bytes(message);
  return sum;
}

int64_t Operation::busiest() const {
  int64_t best = 0, most = 0;
  for (int64_t rank = 0; rank < ranks(); ++rank)
    if (int64_t sum = bytesInto(rank); sum > most) {
      best = rank;
      most = sum;
    }
  return best;
}

int64_t draw::colourOf(int64_t part, int64_t partBelow) { return (part + 3 * partBelow) % numColours; }

/// `input 1x8x56x56 xf32: dim 3 cut in 4 over w`
static std::string describe(llvm::StringRef word, const TensorReport &tensor, const std::vector<int64_t> &extents,
                            const std::vector<std::string> &axes) {
  std::string text = word.str() + " ";
  llvm::raw_string_ostream os(text);
  llvm::interleave(tensor.shape, os, "x");
  os << ' ' << tensor.elementType << ": ";
  bool any = false;
  for (auto [d, dim] : llvm::enumerate(tensor.dims)) {
    if (dim.axes.empty())
      continue;
    os << (any ? "; dim " : "dim ") << d << " in " << halo::numParts(extents, dim.axes) << " over ";
    llvm::interleaveComma(dim.axes, os, [&](int64_t axis) { os << axes[axis]; });
    any = true;
  }
  return any ? text : text + "whole on every rank";
}

static std::string describeMessages(const Operation &op) {
  if (op.messages.empty())
    return "nothing travels: every rank has what it reads";
  int64_t bytes = 0;
  for (const halo::Message &message : op.messages)
    bytes += op.bytes(message);
  int64_t busiest = op.busiest();
  return plural(op.messages.size(), "message") + ", " + bytesText(bytes) + " in all; most into rank " +
         std::to_string(busiest) + ": " + bytesText(op.bytesInto(busiest));
}

double draw::drawMessages(Svg &svg, const Operation &op) {
  int64_t n = op.ranks(), most = 0;
  for (const halo::Message &message : op.messages)
    most = std::max(most, op.bytes(message));
  constexpr double top = 34, left = margin + 44;
  double cell = std::clamp((panelWidth - left - margin) / double(n), 5.0, 36.0);
  svg.text(margin, 12, "Bytes from rank (row) to rank (column)", "soft");
  bool numbers = cell >= 30;
  llvm::StringRef style = cell >= 14 ? "soft" : "soft small";
  int64_t step = cell >= 18 ? 1 : cell >= 9 ? 4 : 8;
  for (int64_t r = 0; r < n; r += step) {
    svg.text(left + (r + .5) * cell, top - 6, std::to_string(r), style, "middle");
    svg.text(left - 6, top + (r + .5) * cell + 4, std::to_string(r), style, "end");
  }
  svg.rect(left, top, n * cell, n * cell, "cell");
  for (int64_t r = 0; r < n; ++r)
    svg.rect(left + r * cell, top + r * cell, cell, cell, "lane");
  for (const halo::Message &message : op.messages) {
    double x = left + message.to * cell, y = top + message.from * cell;
    std::string title = "rank " + std::to_string(message.from) + " to rank " + std::to_string(message.to) + ": " +
                        std::to_string(op.bytes(message)) + " bytes";
    bool strong = 2 * op.bytes(message) > most;
    svg.rect(x, y, cell, cell, strong ? "heat" : "heat faint", title);
    if (numbers)
      svg.text(x + cell / 2, y + cell / 2 + 4, bytesText(op.bytes(message), true), strong ? "onheat" : "", "middle");
  }
  return top + n * cell + 8;
}

double draw::drawOperation(Svg &svg, const Operation &op, const std::vector<std::string> &axes) {
  const WindowReport &window = op.window;
  svg.text(margin, 12, describe("input", window.input, op.extents, axes), "");
  svg.text(margin, 29, describe("result", window.result, op.extents, axes), "");
  svg.text(margin, 46, describeMessages(op), "soft");
  double y = 64;
  auto add = [&](auto &&part) {
    Svg elements;
    double height = part(elements);
    svg.group(y, elements.elements());
    y += height + 12;
  };
  if (window.dims.size() >= 2)
    add([&](Svg &s) { return drawPlane(s, op, window.dims[0], window.dims[1]); });
  for (const WindowDimReport &dim : window.dims)
    add([&](Svg &s) { return drawDimension(s, op, dim); });
  if (!op.messages.empty())
    add([&](Svg &s) { return drawMessages(s, op); });
  return y;
}
