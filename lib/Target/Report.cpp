// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ringconv/Target/Report.h"
#include "ringconv/Cost/Cost.h"

#include "llvm/Support/JSON.h"

#include <algorithm>

using namespace ringconv;

namespace {
/// What one rank sends and receives in the exchange of one operation.
struct Traffic {
  int64_t sent = 0, bytesSent = 0, received = 0, bytesReceived = 0, hops = 0, packed = 0;
};

class ReportWriter {
public:
  ReportWriter(llvm::json::OStream &json, const FuncReport &report) : json(json), report(report) {}

  void write(const WindowReport &window) {
    json.object([&] {
      json.attribute("label", window.label);
      json.attribute("location", window.location);
      json.attribute("exchanges", window.exchanges);
      json.attributeArray("dims", [&] {
        for (const WindowDimReport &dim : window.dims)
          writeDim(dim, window);
      });
      json.attributeArray("ranks", [&] { writeRanks(window); });
    });
  }

private:
  void writeDim(const WindowDimReport &dim, const WindowReport &window) {
    json.object([&] {
      json.attribute("dim", dim.dim);
      json.attributeArray("axes", [&] {
        for (int64_t axis : dim.axes)
          json.value(report.axes[axis]);
      });
      auto exchanged = llvm::find_if(window.exchange, [&](const auto &e) { return e.dim == dim.dim; });
      json.attribute("low", exchanged == window.exchange.end() ? 0 : exchanged->low);
      json.attribute("high", exchanged == window.exchange.end() ? 0 : exchanged->high);
      json.attributeArray("parts", [&] {
        for (int64_t part = 0; part < dim.parts; ++part)
          json.object([&] {
            json.attribute("own", llvm::json::Array{dim.ownBegin.at(part), dim.ownEnd.at(part)});
            json.attribute("need", llvm::json::Array{dim.needBegin.at(part), dim.needEnd.at(part)});
          });
      });
    });
  }

  int64_t hopsOf(const WindowReport &window, const halo::Message &message) {
    return halo::hopsOf(report.extents, window.input.dims, window.exchange, message.from, message.to);
  }

  std::vector<Traffic> trafficOf(const WindowReport &window) {
    std::vector<Traffic> ranks(halo::numRanks(report.extents));
    if (!window.exchanges)
      return ranks;
    for (const halo::Message &message : halo::messages(report.extents, window.input.dims, window.exchange)) {
      int64_t bytes = message.elements * window.exchangedBytes;
      Traffic &from = ranks[message.from], &to = ranks[message.to];
      ++from.sent;
      from.bytesSent += bytes;
      from.packed += message.packed ? bytes : 0;
      ++to.received;
      to.bytesReceived += bytes;
      to.hops = std::max(to.hops, hopsOf(window, message));
    }
    return ranks;
  }

  void writeRanks(const WindowReport &window) {
    for (auto [rank, traffic] : llvm::enumerate(trafficOf(window)))
      json.object([&, rank = int64_t(rank), traffic = traffic] {
        json.attribute("rank", rank);
        json.attribute("messages_sent", traffic.sent);
        json.attribute("bytes_sent", traffic.bytesSent);
        json.attribute("messages_received", traffic.received);
        json.attribute("bytes_received", traffic.bytesReceived);
        json.attribute("hops", traffic.hops);
        json.attributeObject("memory", [&] {
          int64_t shard = halo::shardElements(report.extents, window.input.dims, rank);
          int64_t slabs = halo::slabElements(report.extents, window.input.dims, window.exchange, rank);
          int64_t result = halo::shardElements(report.extents, window.result.dims, rank);
          json.attribute("shard", shard * window.exchangedBytes);
          json.attribute("slabs", slabs * window.exchangedBytes);
          json.attribute("packed", traffic.packed);
          json.attribute("result", result * window.result.elementBytes);
        });
      });
  }

  llvm::json::OStream &json;
  const FuncReport &report;
};
} // namespace

void ringconv::writeReport(llvm::raw_ostream &os, llvm::StringRef entry, const FuncReport &report, bool costs) {
  llvm::json::OStream json(os, 2);
  json.object([&] {
    json.attribute("entry", entry);
    json.attributeObject("mesh", [&] {
      for (auto [axis, extent] : llvm::zip(report.axes, report.extents))
        json.attribute(axis, extent);
    });
    json.attributeArray("operations", [&] {
      ReportWriter writer(json, report);
      for (const WindowReport &window : report.windows)
        writer.write(window);
    });
    if (costs)
      cost::writeCost(json, report);
  });
  os << '\n';
}
