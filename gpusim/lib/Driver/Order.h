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
  uint64_t operator[](unsigned stream) const {
    return stream < at.size() ? at[stream] : 0;
  }
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
  std::string what;    ///< "kernel 'conv' (launch 3, stream 1)"
  std::vector<AccessSet> accesses;
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
  };
  std::mutex mutex;
  std::map<Allocation *, std::vector<Record>> history;
  std::set<std::string> reported;
};

/// First common byte range of two sorted lists; false if none.
bool overlap(const Ranges &a, const Ranges &b,
             std::pair<uint64_t, uint64_t> &out);

} // namespace gpusim

#endif // GPUSIM_DRIVER_ORDER_H
