// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ringconv/Halo/Halo.h"

#include <algorithm>

using namespace ringconv::halo;

/// The interior of rank r is [begin, end) of its outputs, so that what all ranks
/// can compute without halos lies behind the largest begin and before the
/// smallest rest.
std::optional<Edges> ringconv::halo::commonEdges(const Plan &plan, const std::vector<Interval> &outputs) {
  if (!plan.aligned)
    return std::nullopt;
  Edges edges;
  edges.outputs = outputs.empty() ? 0 : outputs[0].size();
  for (size_t r = 0; r < outputs.size(); ++r) {
    edges.low = std::max(edges.low, plan.interiorBegin.at(r));
    edges.high = std::max(edges.high, outputs[r].size() - plan.interiorEnd.at(r));
    edges.outputs = std::min(edges.outputs, outputs[r].size());
  }
  if (edges.low + edges.high > edges.outputs)
    return std::nullopt;
  return edges;
}
