// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Messages.h"

#include <algorithm>
#include <set>

using namespace randprog;

int64_t randprog::positionOfRank(const Mesh &mesh, int64_t rank) {
  if (mesh.deviceIds.empty())
    return rank;
  return std::find(mesh.deviceIds.begin(), mesh.deviceIds.end(), rank) - mesh.deviceIds.begin();
}

/// One operation on an argument, its other operands whole, its result as it
/// comes: nothing but halos travels.
static bool onlyHalos(const Program &p) {
  if (p.ops.size() != 1 || p.results.size() != 1 || p.results[0].sharding || p.results[0].value == 0)
    return false;
  const Op &op = p.ops[0];
  if ((op.kind != Kind::Conv && op.kind != Kind::Pool) || op.operands[0] != 0 || op.batchGroups != 1 ||
      !p.arguments[0].sharding)
    return false;
  for (size_t i = 1; i < op.operands.size(); ++i)
    if (p.arguments[op.operands[i]].sharding)
      return false;
  if (op.kind == Kind::Conv && !(*p.arguments[0].sharding)[positionOf(op.inputDims, kSecond)].axes.empty())
    return false;
  for (const Window &w : op.windows)
    if (w.dilation > 1 || w.base > 1 || w.stride > w.size ||
        (w.border != Border::Zero && (w.low > 0 || w.high > 0) && op.windows.size() > 1))
      return false;
  return true;
}

/// The elements of each input dimension that the outputs of a box read. A
/// dimension that is not cut travels whole: rows are sent as they are.
static std::vector<std::set<int64_t>> readBy(const Op &op, const Mesh &mesh, const Sharding &sharding,
                                             const Shape &input, const Box &out) {
  std::vector<std::set<int64_t>> read(input.size());
  for (size_t d = 0; d < input.size(); ++d) {
    int number = op.inputDims[d];
    if (partsOf(mesh, sharding[d]) == 1) {
      for (int64_t i = 0; i < input[d]; ++i)
        read[d].insert(i);
      continue;
    }
    int o = positionOf(op.outputDims, number);
    for (int64_t i = out.offsets[o]; i < out.offsets[o] + out.sizes[o]; ++i) {
      if (number < 0)
        read[d].insert(i);
      for (int64_t t = 0; number >= 0 && t < op.windows[number].size; ++t)
        if (int64_t e = elementOf(op.windows[number], input[d], i, t); e >= 0)
          read[d].insert(e);
    }
  }
  return read;
}

/// Ranks that hold copies send to those with their own coordinates.
static bool sameReplica(const Program &p, const Sharding &sharding, int64_t a, int64_t b) {
  for (int axis = 0; axis < int(p.mesh.extents.size()); ++axis) {
    bool cuts = std::any_of(sharding.begin(), sharding.end(),
                            [&](const DimCut &d) { return std::count(d.axes.begin(), d.axes.end(), axis) > 0; });
    if (!cuts && p.mesh.coordinate(a, axis) != p.mesh.coordinate(b, axis))
      return false;
  }
  return true;
}

std::optional<std::vector<Traffic>> randprog::expectedTraffic(const Program &p, const std::vector<Type> &types,
                                                              const std::vector<Box> &results) {
  if (!onlyHalos(p))
    return {};
  static const int64_t bytesOf[] = {8, 4, 2, 2, 1, 4};
  const Op &op = p.ops[0];
  const Shape &input = types[0].shape;
  const Sharding &sharding = *p.arguments[0].sharding;
  int64_t ranks = p.mesh.size();
  std::vector<Traffic> traffic(ranks);
  for (int64_t rank = 0; rank < ranks; ++rank) {
    int64_t here = positionOfRank(p.mesh, rank);
    // Ranks without outputs may take part in dimensions in which they have some.
    if (count(results[rank].sizes) == 0)
      return {};
    std::vector<std::set<int64_t>> read = readBy(op, p.mesh, sharding, input, results[rank]);
    for (int64_t other = 0; other < ranks; ++other) {
      int64_t there = positionOfRank(p.mesh, other);
      if (other == rank || !sameReplica(p, sharding, here, there))
        continue;
      int64_t elements = 1;
      for (size_t d = 0; d < input.size(); ++d) {
        auto [begin, end] = partOf(p.mesh, sharding[d], input[d], there);
        elements *= std::distance(read[d].lower_bound(begin), read[d].lower_bound(std::max(begin, end)));
      }
      traffic[rank].messages += elements > 0;
      traffic[rank].bytes += elements * bytesOf[int(types[0].dtype)];
    }
  }
  return traffic;
}
