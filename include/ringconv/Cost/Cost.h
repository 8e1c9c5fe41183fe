// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a partition costs, before a machine is there: a model, not a measurement.
// Work, memory traffic and messages are counted exactly, per operation and rank,
// from the partitioner's report; seconds come from a few figures of data sheets.
#ifndef RINGCONV_COST_COST_H
#define RINGCONV_COST_COST_H

#include "ringconv/Dialect/RingConv/Transforms/Report.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace ringconv::cost {

/// What one rank runs on.
struct Machine {
  double multiplyAdds; ///< of f32 per second, at most
  double memoryBytes;  ///< per second
  llvm::StringRef source;
};
/// What lies between any two ranks.
struct Link {
  double latency; ///< seconds of a message
  double bytes;   ///< per second and direction
  llvm::StringRef source;
};
struct System {
  llvm::StringRef name;
  const Machine *machine;
  const Link *link;
};
llvm::ArrayRef<System> systems();
/// By name; null: there is none.
const System *findSystem(llvm::StringRef name);

/// Of one rank in one step.
struct RankCost {
  double work = 0;      ///< multiply-adds, or else values computed
  double extraWork = 0; ///< beyond an equal share of the whole: uneven cuts, and what several ranks compute alike
  int64_t touched = 0;  ///< bytes of operands and results
  int64_t messages = 0, sent = 0, received = 0; ///< messages that it sends, bytes
  int64_t hops = 0;                             ///< to the farthest receiver: steps along the mesh's rings
};

struct Cost {
  std::vector<std::vector<RankCost>> steps; ///< as in the report, by rank
  std::vector<int64_t> memory;              ///< by rank: most bytes alive at once
};

Cost costOf(const FuncReport &report);

/// Seconds of one rank in a step: computing, or reading and writing, whichever
/// takes longer, and then the messages one after the other. Half of a machine's
/// multiply-adds are reached, and nothing is overlapped.
double secondsOf(const RankCost &cost, const System &system);
/// Of a step: the slowest rank's. Of a run: the sum over the steps.
double secondsOf(llvm::ArrayRef<RankCost> step, const System &system);
double secondsOf(const Cost &cost, const System &system);

/// The attribute "cost" of a report's object: systems with their sources and
/// seconds, memory, and by step and rank what it costs.
void writeCost(llvm::json::OStream &json, const FuncReport &report);
/// The same as one HTML file.
void writePage(llvm::raw_ostream &os, llvm::StringRef entry, const FuncReport &report);

} // namespace ringconv::cost

#endif
