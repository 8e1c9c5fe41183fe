// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ringconv/Halo/Halo.h"

using namespace ringconv::halo;

/// Every rank holds all elements, so extended coordinates are the elements' own
/// and padding is what lies outside [0, size): no need, no clamping.
Plan ringconv::halo::planWhole(const Window &w, int64_t size, const std::vector<Interval> &outputs,
                               const std::vector<Interval> &taps) {
  Plan plan;
  std::vector<int64_t> offset, needBegin, needEnd, interiorEnd;
  for (size_t r = 0; r < outputs.size(); ++r) {
    Interval range = taps.empty() ? Interval{0, w.size} : taps[r];
    offset.push_back(outputs[r].begin * w.stride + range.begin * w.dilation - w.padLow);
    Need need = needOf(w, size, outputs[r], range);
    needBegin.push_back(need.elements.begin);
    needEnd.push_back(need.elements.end);
    interiorEnd.push_back(outputs[r].size());
  }
  auto same = [&](int64_t value) { return Table::of(std::vector<int64_t>(outputs.size(), value)); };
  plan.offset = Table::of(offset);
  plan.validBegin = plan.ownBegin = plan.interiorBegin = same(0);
  plan.validEnd = plan.ownEnd = same(size);
  plan.needBegin = Table::of(needBegin);
  plan.needEnd = Table::of(needEnd);
  plan.interiorEnd = Table::of(interiorEnd);
  return plan;
}
