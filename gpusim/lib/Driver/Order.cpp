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

/// Calls f(lo, hi) for the common byte ranges of two sorted lists until it
/// returns true. False if there is none.
template <typename F> static bool forCommon(const Ranges &a, const Ranges &b, F f) {
  bool any = false;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const uint64_t lo = std::max(a[i].first, b[j].first);
    const uint64_t hi = std::min(a[i].second, b[j].second);
    if (lo < hi) {
      any = true;
      if (f(lo, hi))
        break;
    }
    (a[i].second < b[j].second ? i : j)++;
  }
  return any;
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
  return a.stream == b.stream || a.clock[b.stream] >= b.number || b.clock[a.stream] >= a.number;
}

std::string Operation::place(const Toucher &t) const {
  const uint64_t blocks = (uint64_t)grid[0] * grid[1] * grid[2];
  char at[160];
  snprintf(at, sizeof at, " at PTX line %u (%s), block ", kernel->code[t.inst].line, kernel->text[t.inst].c_str());
  std::string text = at;
  if (blocks <= 1ull << 32)
    snprintf(at, sizeof at, "(%u,%u,%u)", t.block % grid[0], t.block / grid[0] % grid[1], t.block / grid[0] / grid[1]);
  else // the linear index was cut
    snprintf(at, sizeof at, "unknown");
  text += at;
  snprintf(at, sizeof at, ", thread (%u,%u,%u)", t.thread % block[0], t.thread / block[0] % block[1],
           t.thread / block[0] / block[1]);
  return text + at;
}

namespace {

/// One side of two conflicting operations.
struct Side {
  const Operation &op;
  const Ranges &ranges;
  std::shared_ptr<const TouchMap> map;

  TouchMap::Found find(uint64_t offset, Toucher &t) const {
    return !op.kernel ? TouchMap::Exact // a copy has no threads
           : map      ? map->find(offset, t)
                      : TouchMap::Nobody;
  }
  std::string describe(TouchMap::Found found, const Toucher &t) const {
    if (!op.kernel || found == TouchMap::Nobody)
      return op.what;
    if (found == TouchMap::Exact)
      return op.what + op.place(t);
    return op.what + " (its first access to these 64 bytes was" + op.place(t) + ")";
  }
};

/// Words for the common bytes of two sides, empty if there are none. It names
/// the first byte for which both threads are known best.
std::string conflict(const Side &a, const Side &b, const char *how, const Allocation &alloc) {
  struct {
    TouchMap::Found a, b;
    Toucher byA, byB;
    uint64_t at = 0, lo, hi;
  } best;
  int known = -1;
  unsigned tries = 1 << 16;
  const bool any = forCommon(a.ranges, b.ranges, [&](uint64_t lo, uint64_t hi) {
    for (uint64_t at = lo; at < hi && tries && known < 4; ++at, --tries) {
      Toucher byA, byB;
      const TouchMap::Found foundA = a.find(at - alloc.base, byA), foundB = b.find(at - alloc.base, byB);
      if (foundA + foundB <= known)
        continue;
      known = foundA + foundB;
      best = {foundA, foundB, byA, byB, at, lo, hi};
    }
    return known == 4 || !tries; // 4: both exactly
  });
  if (!any)
    return "";
  char text[160];
  snprintf(text, sizeof text, " address 0x%llx, in bytes [%llu, %llu) of ", (unsigned long long)best.at,
           (unsigned long long)(best.lo - alloc.base), (unsigned long long)(best.hi - alloc.base));
  return "unordered access: " + a.describe(best.a, best.byA) + " and " + b.describe(best.b, best.byB) +
         " are not ordered by a stream, an event or the host: " + how + text + alloc.describe();
}

} // namespace

/// Keeps a map for later reports, within a bound on memory.
void RaceDetector::keep(const std::shared_ptr<const TouchMap> &map, const Ranges &touched) {
  constexpr uint64_t most = 256 << 20;
  if (!map || touched.empty())
    return;
  uint64_t bytes = 0;
  for (const auto &r : touched)
    bytes += TouchMap::memory(r.second - r.first);
  maps.push_back({map, bytes});
  mapBytes += bytes;
  while (mapBytes > most && maps.size() > 1) {
    mapBytes -= maps.front().second;
    maps.pop_front();
  }
}

std::vector<std::string> RaceDetector::finish(const OperationRef &op) {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<std::string> reports;
  for (AccessSet &set : op->accesses) {
    std::vector<Record> &records = history[set.alloc.get()];
    const Side writes{*op, set.writes, set.writeMap}, reads{*op, set.reads, set.readMap};
    for (const Record &r : records) {
      if (ordered(*r.op, *op))
        continue;
      const Side written{*r.op, r.writes, r.writeMap.lock()}, read{*r.op, r.reads, r.readMap.lock()};
      const Allocation &a = *set.alloc;
      std::string text = conflict(written, writes, "both write", a);
      if (text.empty())
        text = conflict(written, reads, "the first writes and the second reads", a);
      if (text.empty())
        text = conflict(read, writes, "the first reads and the second writes", a);
      // The same two operations in a loop are one mistake.
      std::string key = r.op->what.substr(0, r.op->what.find(" (")) + "|" + op->what.substr(0, op->what.find(" (")) +
                        "|" + std::to_string(set.alloc->id);
      if (!text.empty() && reported.insert(key).second)
        reports.push_back(text);
    }
    // A later operation of the same stream that touches as much or more finds
    // every conflict that the earlier one would.
    records.erase(std::remove_if(records.begin(), records.end(),
                                 [&](const Record &r) {
                                   if (r.op->stream != op->stream)
                                     return false;
                                   return covers(set.writes, r.writes) &&
                                          (covers(set.reads, r.reads) || covers(set.writes, r.reads));
                                 }),
                  records.end());
    keep(set.readMap, set.reads);
    keep(set.writeMap, set.writes);
    records.push_back({op, std::move(set.reads), std::move(set.writes), set.readMap, set.writeMap});
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
                                 [&](const Record &r) { return host[r.op->stream] >= r.op->number; }),
                  records.end());
    it = records.empty() ? history.erase(it) : std::next(it);
  }
  if (history.empty()) {
    maps.clear();
    mapBytes = 0;
  }
}

void RaceDetector::forget(const AllocationRef &a) {
  std::lock_guard<std::mutex> lock(mutex);
  history.erase(a.get());
}
