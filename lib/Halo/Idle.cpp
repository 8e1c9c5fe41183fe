// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Detail.h"

using namespace ringconv::halo;
using namespace ringconv::halo::detail;

Plan ringconv::halo::planIdle(const Cuts &inputs, const Cuts &outputs) {
  Plan plan;
  Exchange exchange;
  std::vector<Rank> ranks;
  for (int64_t i = 0; i < inputs.parts(); ++i)
    for (int64_t o = 0; o < outputs.parts(); ++o) {
      Interval own = inputs.part(i);
      int64_t r = static_cast<int64_t>(ranks.size());
      if (!own.empty() && !outputs.part(o).empty())
        exchange.segments.push_back({Side::Own, false, 1, 0, 0, r, r, 0, own.size(), 0});
      ranks.push_back({{0, own.size()}, {}, {}, {}, {}, 0});
    }
  tabulateExchange(exchange, ranks, false, plan);
  return plan;
}
