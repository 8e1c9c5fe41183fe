// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ringconv/Target/Report.h"
#include "ringconv/Cost/Cost.h"

#include "llvm/Support/JSON.h"

using namespace ringconv;

void ringconv::writeReport(llvm::raw_ostream &os, llvm::StringRef entry, const FuncReport &report, bool costs) {
  llvm::json::OStream json(os, 2);
  json.object([&] {
    json.attribute("entry", entry);
    json.attributeArray("operations", [&] {
      for (const WindowReport &window : report.windows)
        json.object([&] {
          json.attribute("label", window.label);
          json.attribute("location", window.location);
          json.attribute("exchanges", window.exchanges);
          json.attributeArray("dims", [&] {
            for (const WindowDimReport &dim : window.dims)
              json.object([&] {
                json.attribute("dim", dim.dim);
                json.attributeArray("parts", [&] {
                  for (int64_t part = 0; part < dim.parts; ++part)
                    json.object([&] {
                      json.attribute("own", llvm::json::Array{dim.ownBegin.at(part), dim.ownEnd.at(part)});
                      json.attribute("need", llvm::json::Array{dim.needBegin.at(part), dim.needEnd.at(part)});
                    });
                });
              });
          });
        });
    });
    if (costs)
      cost::writeCost(json, report);
  });
  os << '\n';
}
