// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One HTML file: figures, remarks and pictures of a function. No scripts.
#include "Panel.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

using namespace ringconv;
using namespace ringconv::draw;
using llvm::StringRef;

static constexpr StringRef pageStyle = R"(
body{margin:0 auto;max-width:1000px;padding:1rem;background:var(--paper);color:var(--ink);
  font:15px/1.5 system-ui,"Segoe UI","DejaVu Sans",sans-serif}
h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.15rem;margin:2rem 0 .4rem}
.soft{color:var(--soft)}.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .7rem;text-align:right;border-bottom:1px solid var(--rule);white-space:nowrap}
th{font-weight:600}th.l,td.l{text-align:left}
a{color:var(--heat)}summary{cursor:pointer}
svg.ringconv{display:block;max-width:none}
)";

namespace {
class Page {
public:
  Page(llvm::raw_ostream &os, const FuncReport &report, const std::vector<Remark> &remarks,
       const std::vector<Event> &events)
      : os(os), report(report), remarks(remarks), events(events), panels(panelsOf(report)),
        ranks(halo::numRanks(report.extents)) {}

  void write(StringRef entry);

private:
  void writeSummary();
  void writePanel(size_t number, const Panel &panel);
  void writeRanks(const Panel &panel);
  void writeRankRow(const Operation &op, const Panel &panel, int64_t rank);
  void writeOtherRemarks();
  /// The number of the panel that shows the operation.
  size_t panelOf(size_t window) const {
    return llvm::find_if(panels, [&](const Panel &p) { return llvm::is_contained(p.windows, window); }) -
           panels.begin();
  }
  /// Microseconds that `rank` (-1: the slowest) computed the operation; -1: not known.
  double timeOf(size_t window, int64_t rank) const;
  void cell(const llvm::Twine &text, bool left = false) {
    os << (left ? "<td class=\"l\">" : "<td>") << escape(text.str()) << "</td>";
  }
  void timeCell(double microseconds) {
    os << "<td>";
    if (microseconds < 0)
      os << '-';
    else
      os << llvm::format("%.3f", microseconds / 1000);
    os << "</td>";
  }

  llvm::raw_ostream &os;
  const FuncReport &report;
  const std::vector<Remark> &remarks;
  const std::vector<Event> &events;
  std::vector<Panel> panels;
  int64_t ranks;
};
} // namespace

double Page::timeOf(size_t window, int64_t rank) const {
  std::vector<double> sums(ranks, -1);
  for (const Event &event : events)
    if (event.kind == "op" && event.id == int64_t(window) && event.rank >= 0 && event.rank < ranks)
      sums[event.rank] = std::max(sums[event.rank], 0.0) + event.duration;
  return rank >= 0 ? sums[rank] : *llvm::max_element(sums);
}

/// What travels for an operation, by rank.
static std::pair<int64_t, int64_t> trafficOf(const Operation &op, int64_t rank, int64_t halo::Message::*end) {
  std::pair<int64_t, int64_t> sum(0, 0);
  for (const halo::Message &message : op.messages)
    if (message.*end == rank)
      sum = {sum.first + 1, sum.second + op.bytes(message)};
  return sum;
}

void Page::writeSummary() {
  os << "<div class=\"scroll\"><table><tr><th class=\"l\">operation</th><th class=\"l\">place</th><th>messages</th>"
        "<th>bytes</th><th>most into a rank</th>"
     << (events.empty() ? "" : "<th>ms on the slowest rank</th>") << "</tr>\n";
  for (auto [i, window] : llvm::enumerate(report.windows)) {
    Operation op(report, window);
    int64_t bytes = 0;
    for (const halo::Message &message : op.messages)
      bytes += op.bytes(message);
    os << "<tr><td class=\"l\"><a href=\"#panel" << panelOf(i) << "\">" << escape(window.label) << "</a></td>";
    cell(window.location, true);
    cell(std::to_string(op.messages.size()));
    cell(bytesText(bytes));
    cell(bytesText(op.bytesInto(op.busiest())));
    if (!events.empty())
      timeCell(timeOf(i, -1));
    os << "</tr>\n";
  }
  os << "</table></div>\n";
}

static std::string boxOf(const std::vector<int64_t> &extents, const TensorReport &tensor, int64_t rank) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(
      tensor.dims, os, [&](const halo::MeshDim &dim) { os << dim.part(halo::partOf(extents, dim.axes, rank)).size(); },
      "x");
  return text;
}

void Page::writeRankRow(const Operation &op, const Panel &panel, int64_t rank) {
  auto [sent, bytesSent] = trafficOf(op, rank, &halo::Message::from);
  auto [received, bytesReceived] = trafficOf(op, rank, &halo::Message::to);
  os << "<tr>";
  cell(std::to_string(rank));
  cell(boxOf(op.extents, op.window.input, rank), true);
  cell(boxOf(op.extents, op.window.result, rank), true);
  cell(std::to_string(sent));
  cell(std::to_string(bytesSent));
  cell(std::to_string(received));
  cell(std::to_string(bytesReceived));
  if (!events.empty()) {
    double time = -1;
    for (size_t i : panel.windows)
      if (double one = timeOf(i, rank); one >= 0)
        time = std::max(time, 0.0) + one;
    timeCell(time);
  }
  os << "</tr>\n";
}

void Page::writeRanks(const Panel &panel) {
  Operation op(report, report.windows[panel.windows.front()]);
  os << "<details><summary>By rank</summary><div class=\"scroll\"><table><tr><th>rank</th><th class=\"l\">owns</th>"
        "<th class=\"l\">computes</th><th>sends</th><th>bytes</th><th>receives</th><th>bytes</th>"
     << (events.empty() ? "" : "<th>ms</th>") << "</tr>\n";
  for (int64_t rank = 0; rank < ranks; ++rank)
    writeRankRow(op, panel, rank);
  os << "</table></div></details>\n";
}

void Page::writePanel(size_t number, const Panel &panel) {
  os << "<h2 id=\"panel" << number << "\">" << escape(panel.label) << "</h2>\n<ul>\n";
  for (size_t i : panel.windows) {
    StringRef location = report.windows[i].location;
    os << "<li>" << escape(location);
    for (const Remark &remark : remarks)
      if (remark.location == location)
        os << "<br><span class=\"soft\">" << escape(remark.text) << "</span>";
    os << "</li>\n";
  }
  os << "</ul>\n<div class=\"scroll\">"
     << document(panelWidth, panel.height, panel.label + ": shards, halos and messages", panel.elements) << "</div>\n";
  writeRanks(panel);
}

void Page::writeOtherRemarks() {
  std::vector<const Remark *> others;
  for (const Remark &remark : remarks)
    if (llvm::none_of(report.windows, [&](const WindowReport &w) { return w.location == remark.location; }))
      others.push_back(&remark);
  if (others.empty())
    return;
  os << "<h2>Other remarks</h2>\n<ul>\n";
  for (const Remark *remark : others)
    os << "<li>" << escape(remark->location) << "<br><span class=\"soft\">" << escape(remark->text) << "</span></li>\n";
  os << "</ul>\n";
}

void Page::write(StringRef entry) {
  os << "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>"
     << escape(entry) << " on " << plural(ranks, "rank") << "</title>\n<style>\n"
     << colours(":root") << pageStyle.ltrim() << "</style></head><body>\n<h1>" << escape(entry) << " on "
     << plural(ranks, "rank") << "</h1>\n<p class=\"soft\">Mesh: ";
  for (auto [axis, extent] : llvm::zip(report.axes, report.extents))
    os << escape(axis) << " = " << extent << "; ";
  os << "ranks are row-major positions. Every exchange is counted as its operation alone makes it: merged exchanges "
        "send no more.</p>\n";
  writeSummary();
  if (!events.empty()) {
    os << "<h2>Timeline</h2>\n<div class=\"scroll\">";
    writeTimeline(os, events, ranks);
    os << "</div>\n";
  }
  for (auto [number, panel] : llvm::enumerate(panels))
    writePanel(number, panel);
  writeOtherRemarks();
  os << "</body></html>\n";
}

void draw::writePage(llvm::raw_ostream &os, StringRef entry, const FuncReport &report,
                     const std::vector<Remark> &remarks, const std::vector<Event> &events) {
  Page(os, report, remarks, events).write(entry);
}
