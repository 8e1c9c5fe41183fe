// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Panels one below the other; equal ones once.
#include "Panel.h"

#include "llvm/ADT/STLExtras.h"

using namespace ringconv;
using namespace ringconv::draw;

std::vector<Panel> draw::panelsOf(const FuncReport &report) {
  std::vector<Panel> panels;
  for (auto [i, window] : llvm::enumerate(report.windows)) {
    Svg svg;
    double height = drawOperation(svg, Operation(report, window), report.axes);
    auto found = llvm::find_if(panels, [&, &label = window.label](const Panel &panel) {
      return panel.label == label && panel.elements == svg.elements();
    });
    if (found == panels.end())
      found = panels.insert(found, Panel{window.label, svg.elements(), height, {}});
    found->windows.push_back(i);
  }
  return panels;
}

/// The first place, and how many more there are.
static std::string placesOf(const FuncReport &report, const Panel &panel) {
  std::string text = report.windows[panel.windows.front()].location;
  if (size_t more = panel.windows.size() - 1)
    text += " and " + plural(more, "more operation");
  return text;
}

void draw::writePicture(llvm::raw_ostream &os, const FuncReport &report) {
  Svg svg;
  double y = 8;
  for (const Panel &panel : panelsOf(report)) {
    Svg framed;
    framed.text(margin, 18, panel.label, "h");
    framed.text(panelWidth - margin, 18, placesOf(report, panel), "soft", "end");
    framed.group(30, panel.elements);
    svg.group(y, framed.elements());
    y += 30 + panel.height;
    svg.line(margin, y, panelWidth - margin, y, "rule");
    y += 10;
  }
  if (report.windows.empty()) {
    svg.text(margin, 28, "no operation with a window", "");
    y = 48;
  }
  os << document(panelWidth, y, "How the function is cut over " + plural(halo::numRanks(report.extents), "rank"),
                 svg.elements());
}
