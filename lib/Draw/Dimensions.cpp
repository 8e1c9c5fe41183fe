// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the parts of cut dimensions own and read, to scale.
#include "Panel.h"

#include "llvm/ADT/STLExtras.h"
#include <algorithm>

using namespace ringconv;
using namespace ringconv::draw;
using halo::Interval;

namespace {
/// Elements of a dimension as lengths on paper.
struct Scale {
  double left, width;
  int64_t begin, end;

  double at(double element) const { return left + (element - begin) / std::max<double>(end - begin, 1) * width; }
  double length(Interval i) const { return at(i.end) - at(i.begin); }
};
} // namespace

static Interval ownOf(const WindowDimReport &dim, int64_t part) { return {dim.ownBegin.at(part), dim.ownEnd.at(part)}; }
static Interval needOf(const WindowDimReport &dim, int64_t part) {
  return {dim.needBegin.at(part), dim.needEnd.at(part)};
}
static std::string textOf(Interval i) {
  return i.empty() ? "nothing" : "[" + std::to_string(i.begin) + ", " + std::to_string(i.end) + ")";
}

/// The dimension and all that windows reach beyond it.
static Scale scaleOf(const WindowDimReport &dim, double left, double width) {
  int64_t begin = 0, end = dim.ownEnd.at(dim.parts - 1);
  for (int64_t part = 0; part < dim.parts; ++part)
    if (Interval need = needOf(dim, part); !need.empty()) {
      begin = std::min(begin, need.begin);
      end = std::max(end, need.end);
    }
  return {left, width, begin, end};
}

namespace {
/// The rows of one dimension.
class Rows {
public:
  Rows(Svg &svg, const Operation &op, const WindowDimReport &dim)
      : svg(svg), op(op), dim(dim), size(dim.ownEnd.at(dim.parts - 1)), height(dim.parts <= 8    ? 30
                                                                               : dim.parts <= 24 ? 18
                                                                                                 : 11),
        scale(scaleOf(dim, margin + 44, 360)) {}

  double draw() {
    svg.text(margin, 12,
             "Dim " + std::to_string(dim.dim) + ", " + std::to_string(size) +
                 " elements: bars are owned; framed is read from the owner of the colour",
             "soft");
    svg.text(textAt, 30, "owns", "soft");
    svg.text(textAt + 92, 30, "reads", "soft");
    for (int64_t element : {int64_t(0), size}) {
      svg.text(scale.at(element), 30, std::to_string(element), "soft small", "middle");
      svg.line(scale.at(element), 33, scale.at(element), top + dim.parts * height, "rule");
    }
    for (int64_t part = 0; part < dim.parts; ++part)
      drawRow(part);
    if (dim.parts <= 8)
      drawArrows();
    return top + dim.parts * height;
  }

private:
  static constexpr double top = 36, textAt = 440;
  double y(int64_t part) const { return top + part * height; }
  double bar() const { return dim.parts <= 8 ? height - 14 : height - 3; }

  void drawRow(int64_t part) {
    Interval own = ownOf(dim, part), need = needOf(dim, part);
    llvm::StringRef style = dim.parts <= 24 ? "" : "small";
    double base = y(part) + bar() / 2 + (dim.parts <= 24 ? 4.5 : 3);
    svg.text(margin + 36, base, std::to_string(part), style, "end");
    svg.text(textAt, base, textOf(own), style);
    svg.text(textAt + 92, base, textOf(need), style);
    box(part, own, "shard r" + std::to_string(colourOf(part)), "part " + std::to_string(part) + " owns " + textOf(own));
    for (int64_t owner = 0; owner < dim.parts; ++owner)
      if (Interval piece = halo::intersect(need, ownOf(dim, owner)); owner != part && !piece.empty())
        box(part, piece, "halo r" + std::to_string(colourOf(owner)),
            "part " + std::to_string(part) + " reads " + textOf(piece) + " of part " + std::to_string(owner));
    for (Interval beyond :
         {Interval{need.begin, std::min<int64_t>(need.end, 0)}, Interval{std::max(need.begin, size), need.end}})
      if (!beyond.empty())
        box(part, beyond, "border",
            "part " + std::to_string(part) + " reads " + textOf(beyond) + " through the border mode");
  }

  /// Thin halos would not be seen to scale: they get three units at least.
  void box(int64_t part, Interval elements, const llvm::Twine &style, const llvm::Twine &title) {
    if (elements.empty())
      return;
    double x = scale.at(elements.begin), width = scale.length(elements);
    if (width < 3) {
      x -= elements.begin < ownOf(dim, part).begin ? 3 - width : 0;
      width = 3;
    }
    svg.rect(x, y(part), width, bar(), style, title);
  }

  /// From the owner's row to the reader's, above or below it.
  void drawArrows() {
    for (const halo::ExchangeDim &exchanged : op.window.exchange)
      if (exchanged.dim == dim.dim && exchanged.axes == dim.axes)
        for (const halo::Piece &piece : exchanged.pieces)
          for (int64_t reader = 0; reader < dim.parts; ++reader)
            if (int64_t owner = piece.recvPeer.at(reader); owner >= 0 && owner != reader)
              drawArrow(piece, owner, reader);
  }

  void drawArrow(const halo::Piece &piece, int64_t owner, int64_t reader) {
    int64_t at = ownOf(dim, owner).begin + piece.sendAt.at(owner);
    Interval source{at, at + (piece.sendSize.at(owner) - 1) * piece.step + 1}, need = needOf(dim, reader);
    double from = scale.at((source.begin + source.end) / 2.0), to = from;
    if (halo::intersect(source, need).empty())
      to = scale.at(piece.side == halo::Side::Low ? need.begin / 2.0 : (need.end + size) / 2.0);
    bool down = reader > owner;
    svg.arrow(from, y(owner) + (down ? bar() : 0), to, y(reader) + (down ? -1 : bar() + 1), from != to);
  }

  Svg &svg;
  const Operation &op;
  const WindowDimReport &dim;
  int64_t size;
  double height;
  Scale scale;
};

/// Shards as boxes of two dimensions. Where more axes cut the tensor, those
/// ranks are shown that share the other coordinates of the busiest.
class Plane {
public:
  Plane(Svg &svg, const Operation &op, const WindowDimReport &rows, const WindowDimReport &columns)
      : svg(svg), op(op), rows(rows), columns(columns), focus(op.busiest()) {
    x = scaleOf(columns, margin + 44, 360);
    y = scaleOf(rows, 0, 0);
    double ratio = double(y.end - y.begin) / std::max<double>(x.end - x.begin, 1);
    y.left = top;
    y.width = std::clamp(x.width * ratio, 90.0, 360.0);
  }

  double draw() {
    svg.text(margin, 12,
             "Dims " + std::to_string(rows.dim) + " (down) and " + std::to_string(columns.dim) +
                 " (across): shards by rank, and what rank " + std::to_string(focus) + " reads",
             "soft");
    for (int64_t r = 0; r < rows.parts; ++r)
      for (int64_t c = 0; c < columns.parts; ++c)
        drawShard(r, c);
    drawNeed();
    return std::max(y.at(y.end), top + drawList());
  }

private:
  static constexpr double top = 24;

  int64_t rankAt(int64_t row, int64_t column) const {
    int64_t rank = halo::rankAt(op.extents, rows.axes, focus, row);
    return halo::rankAt(op.extents, columns.axes, rank, column);
  }
  std::string style(int64_t row, int64_t column) const { return "r" + std::to_string(colourOf(column, row)); }
  void box(Interval down, Interval across, const llvm::Twine &styles, const llvm::Twine &title) {
    if (!down.empty() && !across.empty())
      svg.rect(x.at(across.begin), y.at(down.begin), x.length(across), y.length(down), styles, title);
  }

  void drawShard(int64_t r, int64_t c) {
    Interval down = ownOf(rows, r), across = ownOf(columns, c);
    if (down.empty() || across.empty())
      return;
    std::string rank = std::to_string(rankAt(r, c));
    box(down, across, "shard " + style(r, c), "rank " + rank + " owns " + textOf(down) + " x " + textOf(across));
    if (std::min(x.length(across), y.length(down)) >= 12)
      svg.text(x.at((across.begin + across.end) / 2.0), y.at((down.begin + down.end) / 2.0) + 4, rank, "on", "middle");
  }

  void drawNeed() {
    int64_t r = halo::partOf(op.extents, rows.axes, focus), c = halo::partOf(op.extents, columns.axes, focus);
    Interval down = needOf(rows, r), across = needOf(columns, c);
    for (int64_t i = 0; i < rows.parts; ++i)
      for (int64_t j = 0; j < columns.parts; ++j)
        if (i != r || j != c)
          box(halo::intersect(down, ownOf(rows, i)), halo::intersect(across, ownOf(columns, j)), "halo " + style(i, j),
              "read by rank " + std::to_string(focus));
    box(down, across, "need", "rank " + std::to_string(focus) + " reads " + textOf(down) + " x " + textOf(across));
  }

  /// What the busiest rank gets, beside the plane.
  double drawList() {
    double at = 12;
    for (const halo::Message &message : op.messages) {
      if (message.to != focus || at > 300)
        continue;
      svg.text(440, top + at,
               std::to_string(message.from) + " to " + std::to_string(focus) + ": " + bytesText(op.bytes(message)), "");
      at += 17;
    }
    return at;
  }

  Svg &svg;
  const Operation &op;
  const WindowDimReport &rows, &columns;
  int64_t focus;
  Scale x{}, y{};
};
} // namespace

double draw::drawDimension(Svg &svg, const Operation &op, const WindowDimReport &dim) {
  return Rows(svg, op, dim).draw();
}

double draw::drawPlane(Svg &svg, const Operation &op, const WindowDimReport &rows, const WindowDimReport &columns) {
  return Plane(svg, op, rows, columns).draw();
}
