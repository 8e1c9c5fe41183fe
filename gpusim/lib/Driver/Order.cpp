// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Order.h"

#include <algorithm>

using namespace gpusim;

void Clock::join(const Clock &o) {
  if (o.at.size() > at.size())
    at.resize(o.at.size());
  for (size_t n = 0; n < o.at.size(); ++n)
    at[n] = std::max(at[n], o.at[n]);
}

bool gpusim::overlap(const Ranges &a, const Ranges &b,
                     std::pair<uint64_t, uint64_t> &out) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    uint64_t lo = std::max(a[i].first, b[j].first);
    uint64_t hi = std::min(a[i].second, b[j].second);
    if (lo < hi) {
      out = {lo, hi};
      return true;
    }
    (a[i].second < b[j].second ? i : j)++;
  }
  return false;
}

/// Is every byte of `inner` in `outer`? Used to drop records that later ones
/// of the same stream stand for; saying no is always safe.
static bool covers(const Ranges &outer, const Ranges &inner) {
  size_t o = 0;
  for (const auto &r : inner) {
    while (o < outer.size() && outer[o].second < r.second)
      ++o;
    if (o == outer.size() || outer[o].first > r.first)
      return false;
  }
  return true;
}

static bool ordered(const Operation &a, const Operation &b) {
  return a.stream == b.stream || a.clock[b.stream] >= b.number ||
         b.clock[a.stream] >= a.number;
}

static std::string hexRange(std::pair<uint64_t, uint64_t> r,
                            const Allocation &a) {
  char text[120];
  snprintf(text, sizeof text, "bytes [%llu, %llu) at address 0x%llx",
           (unsigned long long)(r.first - a.base),
           (unsigned long long)(r.second - a.base),
           (unsigned long long)r.first);
  return text;
}

std::vector<std::string> RaceDetector::finish(const OperationRef &op) {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<std::string> reports;
  for (AccessSet &set : op->accesses) {
    std::vector<Record> &records = history[set.alloc.get()];
    for (const Record &r : records) {
      if (ordered(*r.op, *op))
        continue;
      std::pair<uint64_t, uint64_t> where;
      const char *how = nullptr;
      if (overlap(r.writes, set.writes, where))
        how = "both write";
      else if (overlap(r.writes, set.reads, where))
        how = "the first writes and the second reads";
      else if (overlap(r.reads, set.writes, where))
        how = "the first reads and the second writes";
      if (!how)
        continue;
      // The same two operations in a loop are one mistake.
      std::string key = r.op->what.substr(0, r.op->what.find(" (")) + "|" +
                        op->what.substr(0, op->what.find(" (")) + "|" +
                        std::to_string(set.alloc->id);
      if (!reported.insert(key).second)
        continue;
      reports.push_back(
          "unordered access: " + r.op->what + " and " + op->what +
          " are not ordered by a stream, an event or the host: " + how + " " +
          hexRange(where, *set.alloc) + " of " + set.alloc->describe());
    }
    // A later operation of the same stream that touches as much or more finds
    // every conflict that the earlier one would.
    records.erase(std::remove_if(records.begin(), records.end(),
                                 [&](const Record &r) {
                                   if (r.op->stream != op->stream)
                                     return false;
                                   return covers(set.writes, r.writes) &&
                                          (covers(set.reads, r.reads) ||
                                           covers(set.writes, r.reads));
                                 }),
                  records.end());
    records.push_back({op, std::move(set.reads), std::move(set.writes)});
  }
  op->accesses.clear();
  return reports;
}

void RaceDetector::prune(const Clock &host, bool idle) {
  if (!idle)
    return; // an operation under way may be older than what the host knows
  std::lock_guard<std::mutex> lock(mutex);
  for (auto it = history.begin(); it != history.end();) {
    auto &records = it->second;
    records.erase(std::remove_if(records.begin(), records.end(),
                                 [&](const Record &r) {
                                   return host[r.op->stream] >= r.op->number;
                                 }),
                  records.end());
    it = records.empty() ? history.erase(it) : std::next(it);
  }
}

void RaceDetector::forget(const AllocationRef &a) {
  std::lock_guard<std::mutex> lock(mutex);
  history.erase(a.get());
}
