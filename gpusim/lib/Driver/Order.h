// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Happens-before between operations in streams. Every operation gets a vector
// clock when it is issued, from its stream, the host and the events waited
// for; real time plays no part. When it has run, what it touched is compared
// with what unordered operations touched.
//
// All host threads count as one: a wait by any of them orders what any of them
// issues later. That hides some mistakes between threads but never invents one.
#ifndef GPUSIM_DRIVER_ORDER_H
#define GPUSIM_DRIVER_ORDER_H

#include "Exec.h"

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace gpusim {

/// Component per stream: how many of its operations are known to be over.
struct Clock {
  std::vector<uint64_t> at;
  uint64_t operator[](unsigned stream) const { return stream < at.size() ? at[stream] : 0; }
  void set(unsigned stream, uint64_t value) {
    if (stream >= at.size())
      at.resize(stream + 1);
    at[stream] = value;
  }
  void join(const Clock &o);
};

/// One operation in a stream.
struct Operation {
  unsigned stream = 0;
  uint64_t number = 0; ///< within its stream, from 1
  Clock clock;         ///< what happens before it
  std::string what;    ///< "kernel 'conv' (operation 3 of stream 1)"
  std::vector<AccessSet> accesses;
  /// Of a launch: what names the threads of its accesses.
  std::shared_ptr<const Kernel> kernel;
  unsigned grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};

  /// " at PTX line 7 (ld.global.f32), block (0,1,0), thread (3,0,0)"
  std::string place(const Toucher &t) const;
};
using OperationRef = std::shared_ptr<Operation>;

class RaceDetector {
public:
  /// Compares a finished operation with all unordered ones; returns reports.
  std::vector<std::string> finish(const OperationRef &op);
  /// Forgets operations that every later one comes after.
  void prune(const Clock &host, bool idle);
  void forget(const AllocationRef &a);

private:
  struct Record {
    OperationRef op;
    Ranges reads, writes;
    std::weak_ptr<const TouchMap> readMap, writeMap;
  };
  void keep(const std::shared_ptr<const TouchMap> &map, const Ranges &touched);

  std::mutex mutex;
  /// Touch maps of finished launches, oldest first. Only so many are kept
  /// alive; a report about an older launch names no thread.
  std::deque<std::pair<std::shared_ptr<const TouchMap>, uint64_t>> maps;
  uint64_t mapBytes = 0;
  std::map<Allocation *, std::vector<Record>> history;
  std::set<std::string> reported;
};

} // namespace gpusim

#endif // GPUSIM_DRIVER_ORDER_H
