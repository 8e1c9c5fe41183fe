// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Costs as JSON and as a page.
#include "ringconv/Cost/Cost.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"

using namespace ringconv;
using namespace ringconv::cost;
using llvm::StringRef;

static constexpr StringRef modelText =
    "A model, not a measurement. Work, bytes and messages are counted; seconds take half of a machine's multiply-adds "
    "or all of its memory's bytes, whichever takes longer, then the messages one after the other, and overlap nothing.";

template <typename Step> static void writeSeconds(llvm::json::OStream &json, const Step &step) {
  json.attributeObject("seconds", [&] {
    for (const System &system : systems())
      json.attribute(system.name, secondsOf(step, system));
  });
}

static void writeRank(llvm::json::OStream &json, int64_t rank, const RankCost &cost) {
  json.object([&] {
    json.attribute("rank", rank);
    json.attribute("work", cost.work);
    json.attribute("extra_work", cost.extraWork);
    json.attribute("bytes_touched", cost.touched);
    json.attribute("messages_sent", cost.messages);
    json.attribute("bytes_sent", cost.sent);
    json.attribute("bytes_received", cost.received);
    json.attribute("hops", cost.hops);
    writeSeconds(json, cost);
  });
}

void cost::writeCost(llvm::json::OStream &json, const FuncReport &report) {
  Cost cost = costOf(report);
  json.attributeObject("cost", [&] {
    json.attribute("model", modelText);
    json.attributeObject("sources", [&] {
      for (const System &system : systems())
        json.attribute(system.name, (system.machine->source + "; " + system.link->source).str());
    });
    writeSeconds(json, cost);
    json.attribute("memory", llvm::json::Array(cost.memory));
    json.attributeArray("steps", [&] {
      for (auto [step, ranks] : llvm::zip(report.steps, cost.steps))
        json.object([&, &step = step, &ranks = ranks] {
          json.attribute("label", step.label);
          json.attribute("location", step.location);
          writeSeconds(json, llvm::ArrayRef(ranks));
          json.attributeArray("ranks", [&] {
            for (auto [rank, one] : llvm::enumerate(ranks))
              writeRank(json, rank, one);
          });
        });
    });
  });
}

// ===--------------------------------------------------------------------=== //
// Page
// ===--------------------------------------------------------------------=== //

static constexpr StringRef pageStyle = R"(
body{margin:0 auto;max-width:1200px;padding:1rem;font:15px/1.5 system-ui,"Segoe UI","DejaVu Sans",sans-serif;
  color-scheme:light dark}
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}
th,td{padding:.2rem .7rem;text-align:right;border-bottom:1px solid #8884;white-space:nowrap}
th.l,td.l{text-align:left}summary{cursor:pointer}
)";

namespace {
class Page {
public:
  Page(llvm::raw_ostream &os, const FuncReport &report) : os(os), report(report), cost(costOf(report)) {}
  void write(StringRef entry);

private:
  void writeSystems();
  void writeRanks();
  void writeSteps();
  void writeStep(const StepReport &step, const std::vector<RankCost> &ranks);
  void text(StringRef value) { llvm::printHTMLEscaped(value, os << "<td class=\"l\">"); }
  void number(double value) { os << "<td>" << llvm::format("%.4g", value); }
  void heads(StringRef left) {
    os << "<tr><th class=\"l\">" << left << "<th>multiply-adds<th>extra<th>messages<th>bytes sent<th>hops";
    for (const System &system : systems())
      os << "<th>ms, " << system.name;
    os << '\n';
  }

  llvm::raw_ostream &os;
  const FuncReport &report;
  Cost cost;
};
} // namespace

void Page::writeSystems() {
  os << "<h2>Systems</h2><div class=\"scroll\"><table><tr><th class=\"l\">system<th>ms of a run<th class=\"l\">"
        "figures from\n";
  for (const System &system : systems()) {
    os << "<tr>";
    text(system.name);
    number(secondsOf(cost, system) * 1e3);
    text((system.machine->source + "; " + system.link->source).str());
    os << '\n';
  }
  os << "</table></div>\n";
}

void Page::writeRanks() {
  os << "<h2>Ranks</h2><div class=\"scroll\"><table><tr><th>rank<th>multiply-adds<th>extra<th>messages<th>bytes sent"
        "<th>bytes received<th>most bytes alive\n";
  for (auto [rank, memory] : llvm::enumerate(cost.memory)) {
    RankCost sum;
    for (const std::vector<RankCost> &step : cost.steps) {
      sum.work += step[rank].work;
      sum.extraWork += step[rank].extraWork;
      sum.messages += step[rank].messages;
      sum.sent += step[rank].sent;
      sum.received += step[rank].received;
    }
    os << "<tr><td>" << rank;
    number(sum.work);
    number(sum.extraWork);
    os << "<td>" << sum.messages << "<td>" << sum.sent << "<td>" << sum.received << "<td>" << memory << '\n';
  }
  os << "</table></div>\n";
}

void Page::writeStep(const StepReport &step, const std::vector<RankCost> &ranks) {
  os << "<details><summary>";
  llvm::printHTMLEscaped(step.label + " " + step.location, os);
  os << ": " << llvm::format("%.4g", secondsOf(llvm::ArrayRef(ranks), systems().front()) * 1e3) << " ms on "
     << systems().front().name << "</summary><div class=\"scroll\"><table>";
  heads("rank");
  for (auto [rank, one] : llvm::enumerate(ranks)) {
    os << "<tr>";
    text(std::to_string(rank));
    number(one.work);
    number(one.extraWork);
    os << "<td>" << one.messages << "<td>" << one.sent << "<td>" << one.hops;
    for (const System &system : systems())
      number(secondsOf(one, system) * 1e3);
    os << '\n';
  }
  os << "</table></div></details>\n";
}

void Page::writeSteps() {
  os << "<h2>Operations</h2>\n";
  for (auto [step, ranks] : llvm::zip(report.steps, cost.steps))
    writeStep(step, ranks);
}

void Page::write(StringRef entry) {
  os << "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>";
  llvm::printHTMLEscaped(entry, os);
  os << ": costs</title><style>" << pageStyle << "</style>\n<h1>";
  llvm::printHTMLEscaped(entry, os);
  os << " on " << cost.memory.size() << (cost.memory.size() == 1 ? " rank" : " ranks") << "</h1>\n<p>" << modelText
     << "</p>\n";
  writeSystems();
  writeRanks();
  writeSteps();
  os << "</html>\n";
}

void cost::writePage(llvm::raw_ostream &os, StringRef entry, const FuncReport &report) {
  Page(os, report).write(entry);
}
