// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Svg.h"

#include "llvm/Support/Format.h"
#include <cmath>

using namespace ringconv;
using llvm::StringRef;
using llvm::Twine;

std::string draw::escape(StringRef text) {
  std::string out;
  for (char c : text)
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  return out;
}

/// Tenths of a unit are enough, and short.
static std::string number(double v) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.1f", v);
  if (StringRef(text).ends_with(".0"))
    text.resize(text.size() - 2);
  return text;
}

std::string draw::bytesText(double bytes, bool brief) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 4; ++unit)
    bytes /= 1024;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format(bytes < 10 && bytes != std::floor(bytes) ? "%.1f" : "%.0f", bytes);
  if (!brief)
    os << ' ' << units[unit];
  else if (unit)
    os << units[unit][0];
  return text;
}

std::string draw::plural(int64_t count, StringRef noun) {
  return std::to_string(count) + " " + noun.str() + (count == 1 ? "" : "s");
}

void draw::Svg::rect(double x, double y, double width, double height, const Twine &styles, const Twine &title) {
  os << "<rect x=\"" << number(x) << "\" y=\"" << number(y) << "\" width=\"" << number(width) << "\" height=\""
     << number(height) << "\" class=\"" << styles << '"';
  std::string text = title.str();
  if (text.empty())
    os << "/>\n";
  else
    os << "><title>" << escape(text) << "</title></rect>\n";
}

void draw::Svg::line(double x1, double y1, double x2, double y2, StringRef styles) {
  os << "<line x1=\"" << number(x1) << "\" y1=\"" << number(y1) << "\" x2=\"" << number(x2) << "\" y2=\"" << number(y2)
     << "\" class=\"" << styles << "\"/>\n";
}

void draw::Svg::arrow(double x1, double y1, double x2, double y2, bool faint) {
  double length = std::hypot(x2 - x1, y2 - y1), dx = (x2 - x1) / length, dy = (y2 - y1) / length;
  constexpr double head = 6, half = 3;
  double bx = x2 - head * dx, by = y2 - head * dy;
  line(x1, y1, bx, by, faint ? "arrow far" : "arrow");
  os << "<path d=\"M" << number(x2) << ' ' << number(y2) << 'L' << number(bx - half * dy) << ' '
     << number(by + half * dx) << 'L' << number(bx + half * dy) << ' ' << number(by - half * dx)
     << "Z\" class=\"head\"/>\n";
}

void draw::Svg::text(double x, double y, const Twine &text, StringRef styles, StringRef anchor) {
  os << "<text x=\"" << number(x) << "\" y=\"" << number(y) << "\" class=\"" << styles << '"';
  if (anchor != "start")
    os << " text-anchor=\"" << anchor << '"';
  os << '>' << escape(text.str()) << "</text>\n";
}

void draw::Svg::group(double y, StringRef elements) {
  os << "<g transform=\"translate(0 " << number(y) << ")\">\n" << elements << "</g>\n";
}

std::string draw::colours(StringRef selector) {
  std::string light = "--paper:#ffffff;--card:#f6f7f9;--ink:#16181d;--soft:#5b6270;--rule:#d5d9e0;--heat:#1f6feb;"
                      "--wait:#d1495b;--post:#8a8f9a;--need:#16181d";
  std::string dark = "--paper:#14161a;--card:#1c1f25;--ink:#e8eaee;--soft:#9aa2b1;--rule:#363b45;--heat:#5aa2ff;"
                     "--wait:#ff7b8a;--post:#7c8494;--need:#f4f5f7";
  return (selector + "{" + light + "}\n@media (prefers-color-scheme: dark){" + selector + "{" + dark + "}}\n").str();
}

/// Black text stands on every rank colour in both modes.
static constexpr StringRef styleSheet = R"(
.ringconv{font-family:system-ui,"Segoe UI","DejaVu Sans",sans-serif;font-size:12px;background:var(--paper)}
.ringconv .paper{fill:var(--paper)}
.ringconv text{fill:var(--ink)}
.ringconv .h{font-size:15px;font-weight:600}
.ringconv .soft{fill:var(--soft)}
.ringconv .small{font-size:9px}
.ringconv .on{fill:#14161a}
.ringconv .onheat{fill:var(--paper)}
.ringconv .rule{stroke:var(--rule);stroke-width:1}
.ringconv .arrow{stroke:var(--ink);stroke-width:1.4}
.ringconv .far{stroke-dasharray:1 3}
.ringconv .head{fill:var(--ink)}
.ringconv .r0{fill:#f08a80}.ringconv .r1{fill:#7fb2f0}.ringconv .r2{fill:#e6d35c}.ringconv .r3{fill:#8fcf7e}
.ringconv .r4{fill:#f2b66d}.ringconv .r5{fill:#a99bf0}.ringconv .r6{fill:#6cc9c1}.ringconv .r7{fill:#e79bd1}
.ringconv .halo{stroke:var(--need);stroke-width:1;fill-opacity:.62}
.ringconv .border{fill:url(#hatch);stroke:var(--soft);stroke-width:.7;stroke-dasharray:2 2}
.ringconv .need{fill:none;stroke:var(--need);stroke-width:2;stroke-dasharray:5 3}
.ringconv .shard{stroke:var(--paper);stroke-width:1}
.ringconv .cell{fill:var(--card);stroke:var(--paper);stroke-width:1}
.ringconv .heat{fill:var(--heat);stroke:var(--paper);stroke-width:1}
.ringconv .faint{fill-opacity:.45}
.ringconv .op{fill:var(--heat)}
.ringconv .wait{fill:var(--wait)}
.ringconv .post{fill:var(--post)}
.ringconv .lane{fill:var(--card)}
)";

std::string draw::document(double width, double height, StringRef title, StringRef elements) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ringconv\" viewBox=\"0 0 " << number(width) << ' '
     << number(height) << "\" width=\"" << number(width) << "\" height=\"" << number(height)
     << "\" role=\"img\">\n<title>" << escape(title) << "</title>\n<style>\n"
     << colours(".ringconv") << styleSheet.ltrim() << "</style>\n"
     << "<defs><pattern id=\"hatch\" width=\"5\" height=\"5\" patternUnits=\"userSpaceOnUse\" "
        "patternTransform=\"rotate(45)\"><line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"5\" stroke=\"#8a8f9a\" "
        "stroke-width=\"1.5\"/></pattern></defs>\n"
     << "<rect class=\"paper\" width=\"" << number(width) << "\" height=\"" << number(height) << "\"/>\n"
     << elements << "</svg>\n";
  return text;
}
