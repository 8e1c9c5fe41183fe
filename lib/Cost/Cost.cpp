// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ringconv/Cost/Cost.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include <algorithm>
#include <cstdlib>

using namespace ringconv;
using namespace ringconv::cost;

static halo::Interval intervalOf(const FuncReport &report, const TensorReport &tensor, size_t d, int64_t rank) {
  return tensor.dims[d].part(halo::partOf(report.extents, tensor.dims[d].axes, rank));
}

static int64_t elementsOf(const FuncReport &report, const TensorReport &tensor, int64_t rank) {
  int64_t elements = 1;
  for (size_t d = 0; d < tensor.dims.size(); ++d)
    elements *= intervalOf(report, tensor, d, rank).size();
  return elements;
}

static int64_t bytesOf(const FuncReport &report, const TensorReport &tensor, int64_t rank) {
  return elementsOf(report, tensor, rank) * tensor.elementBytes;
}

/// Steps from rank to rank along the rings of the mesh's axes.
static int64_t distance(const FuncReport &report, int64_t from, int64_t to) {
  int64_t sum = 0;
  for (size_t axis = 0; axis < report.extents.size(); ++axis) {
    int64_t n = report.extents[axis];
    int64_t d = std::abs(halo::partOf(report.extents, {int64_t(axis)}, from) -
                         halo::partOf(report.extents, {int64_t(axis)}, to));
    sum += std::min(d, n - d);
  }
  return sum;
}

namespace {
/// Adds to the costs of one step.
class StepCosts {
public:
  StepCosts(const FuncReport &report, std::vector<RankCost> &ranks) : report(report), ranks(ranks) {}

  void addMessage(int64_t from, int64_t to, int64_t bytes) {
    ++ranks[from].messages;
    ranks[from].sent += bytes;
    ranks[to].received += bytes;
    ranks[from].hops = std::max(ranks[from].hops, distance(report, from, to));
  }
  void addWindow(const WindowReport &window) {
    for (const halo::Message &m : halo::messages(report.extents, window.input.dims, window.exchange))
      addMessage(m.from, m.to, m.elements * window.exchangedBytes);
  }
  void addMove(const MoveReport &move);
  void addReduction(const StepReport &step);
  void addWork(const StepReport &step);

private:
  /// Bytes of what `from` owns before and `to` owns after.
  int64_t common(const MoveReport &move, int64_t from, int64_t to);
  /// The share of the work that a rank does: that of the tensor that is cut most.
  double shareOf(const StepReport &step, int64_t rank);

  const FuncReport &report;
  std::vector<RankCost> &ranks;
};
} // namespace

int64_t StepCosts::common(const MoveReport &move, int64_t from, int64_t to) {
  int64_t elements = 1;
  for (size_t d = 0; d < move.from.dims.size(); ++d) {
    halo::Interval a = intervalOf(report, move.from, d, from), b = intervalOf(report, move.to, d, to);
    elements *= halo::intersect(a, b).size();
  }
  return elements * move.from.elementBytes;
}

/// Each rank gets what it lacks from the first rank that has it.
void StepCosts::addMove(const MoveReport &move) {
  for (int64_t to = 0; to < int64_t(ranks.size()); ++to) {
    std::vector<std::vector<halo::Interval>> taken;
    for (int64_t from = 0; from < int64_t(ranks.size()); ++from) {
      std::vector<halo::Interval> box;
      for (size_t d = 0; d < move.from.dims.size(); ++d)
        box.push_back(intervalOf(report, move.from, d, from));
      int64_t bytes = common(move, from, to);
      if (bytes == 0 || llvm::is_contained(taken, box))
        continue;
      bool own = llvm::all_of(llvm::seq<size_t>(0, box.size()),
                              [&](size_t d) { return box[d] == intervalOf(report, move.from, d, to); });
      if (!own)
        addMessage(from, to, bytes);
      taken.push_back(std::move(box));
    }
  }
}

/// By a ring: each of n ranks sends 2 (n - 1) messages of an n-th.
void StepCosts::addReduction(const StepReport &step) {
  int64_t n = halo::numParts(report.extents, step.reduceAxes);
  if (n == 1)
    return;
  for (int64_t rank = 0; rank < int64_t(ranks.size()); ++rank) {
    int64_t bytes = 0;
    for (const TensorReport &result : llvm::ArrayRef(step.tensors).take_back(step.results))
      bytes += bytesOf(report, result, rank);
    RankCost &cost = ranks[rank];
    cost.messages += 2 * (n - 1);
    cost.sent += 2 * (n - 1) * bytes / n;
    cost.received += 2 * (n - 1) * bytes / n;
    cost.hops = std::max<int64_t>(cost.hops, 1);
  }
}

double StepCosts::shareOf(const StepReport &step, int64_t rank) {
  double share = 1;
  for (const TensorReport &tensor : step.tensors) {
    double whole = 1;
    for (int64_t size : tensor.shape)
      whole *= double(size);
    if (whole > 0)
      share = std::min(share, double(elementsOf(report, tensor, rank)) / whole);
  }
  return share;
}

void StepCosts::addWork(const StepReport &step) {
  for (int64_t rank = 0; rank < int64_t(ranks.size()); ++rank) {
    ranks[rank].work = step.work * shareOf(step, rank);
    ranks[rank].extraWork = std::max(0.0, ranks[rank].work - step.work / double(ranks.size()));
    for (const TensorReport &tensor : step.tensors)
      ranks[rank].touched += bytesOf(report, tensor, rank);
  }
}

/// Bytes of values that are alive at each step, the most.
static int64_t memoryOf(const FuncReport &report, int64_t rank) {
  int64_t steps = report.steps.size();
  std::vector<int64_t> change(steps + 1);
  for (const ValueReport &value : report.values) {
    int64_t bytes = bytesOf(report, value.tensor, rank);
    change[std::clamp<int64_t>(value.begin, 0, steps)] += bytes;
    if (value.end < steps)
      change[value.end + 1] -= bytes;
  }
  int64_t alive = 0, most = 0;
  for (int64_t c : change)
    most = std::max(most, alive += c);
  return most;
}

Cost cost::costOf(const FuncReport &report) {
  int64_t ranks = halo::numRanks(report.extents);
  Cost cost;
  for (const StepReport &step : report.steps) {
    StepCosts costs(report, cost.steps.emplace_back(ranks));
    costs.addWork(step);
    for (const MoveReport &move : step.moves)
      costs.addMove(move);
    if (step.window >= 0)
      costs.addWindow(report.windows[step.window]);
    costs.addReduction(step);
  }
  for (int64_t rank = 0; rank < ranks; ++rank)
    cost.memory.push_back(memoryOf(report, rank));
  return cost;
}
