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

Box randprog::annotatedBox(const Program &p, const std::optional<Sharding> &sharding, const Shape &shape,
                           int64_t rank) {
  Box box{Shape(shape.size(), 0), shape};
  for (size_t d = 0; sharding && d < shape.size(); ++d) {
    auto [begin, end] = partOf(p.mesh, (*sharding)[d], shape[d], positionOfRank(p.mesh, rank));
    box.offsets[d] = begin;
    box.sizes[d] = end - begin;
  }
  return box;
}

namespace {
/// Indices along each dimension; the elements are their product.
using Reads = std::vector<std::set<int64_t>>;

std::set<int64_t> range(int64_t begin, int64_t size) {
  std::set<int64_t> all;
  for (int64_t i = begin; i < begin + size; ++i)
    all.insert(i);
  return all;
}

Reads whole(const Box &box) {
  Reads reads;
  for (size_t d = 0; d < box.sizes.size(); ++d)
    reads.push_back(range(box.offsets[d], box.sizes[d]));
  return reads;
}

/// Of the features and the batch of the input: those of the groups that the
/// output features belong to.
std::set<int64_t> groupedReads(const Op &op, const std::vector<Type> &types, const Box &out, int number) {
  const Shape &filter = types[op.operands[1]].shape;
  int64_t outs = filter[positionOf(op.filterDims, kFirst)], ins = filter[positionOf(op.filterDims, kSecond)];
  int f = positionOf(op.outputDims, kSecond), b = positionOf(op.outputDims, kFirst);
  std::set<int64_t> reads;
  for (int64_t feature : range(out.offsets[f], out.sizes[f])) {
    if (number == kSecond)
      reads.merge(range(feature / (outs / op.featureGroups) * ins, ins));
    else
      reads.merge(range(feature / (outs / op.batchGroups) * out.sizes[b] + out.offsets[b], out.sizes[b]));
  }
  return reads;
}

/// What the outputs in a box read of the input of a convolution or pool.
Reads windowReads(const Op &op, const std::vector<Type> &types, const Box &out) {
  Reads reads;
  const Shape &input = types[op.operands[0]].shape;
  for (size_t d = 0; d < input.size(); ++d) {
    int number = op.inputDims[d];
    if (number < 0 && op.kind == Kind::Conv) {
      reads.push_back(groupedReads(op, types, out, number));
      continue;
    }
    int o = positionOf(op.outputDims, number);
    if (number < 0) {
      reads.push_back(range(out.offsets[o], out.sizes[o]));
      continue;
    }
    std::set<int64_t> elements;
    for (int64_t i : range(out.offsets[o], out.sizes[o]))
      for (int64_t t = 0; t < op.windows[number].size; ++t)
        elements.insert(elementOf(op.windows[number], input[d], i, t));
    elements.erase(-1);
    reads.push_back(elements);
  }
  return reads;
}

/// Filter and bias: the output features of the box.
Reads parameterReads(const Op &op, const std::vector<Type> &types, size_t operand, const Box &out) {
  const Shape &shape = types[op.operands[operand]].shape;
  int f = positionOf(op.outputDims, kSecond);
  Reads reads = whole({Shape(shape.size(), 0), shape});
  reads[operand == 1 ? positionOf(op.filterDims, kFirst) : 0] = range(out.offsets[f], out.sizes[f]);
  return reads;
}

std::optional<Reads> readsOf(const Op &op, const std::vector<Type> &types, size_t operand, const Box &out) {
  switch (op.kind) {
  case Kind::Conv:
    return operand == 0 ? windowReads(op, types, out) : parameterReads(op, types, operand, out);
  case Kind::Pool:
    return windowReads(op, types, out);
  case Kind::Reshard:
  case Kind::Unary:
  case Kind::Binary:
    return whole(out);
  case Kind::Transpose: {
    Reads reads(out.sizes.size());
    for (size_t d = 0; d < out.sizes.size(); ++d)
      reads[op.order[d]] = range(out.offsets[d], out.sizes[d]);
    return reads;
  }
  default:
    return {};
  }
}

int64_t countIn(const Reads &reads, const Box &box) {
  int64_t elements = 1;
  for (size_t d = 0; d < reads.size(); ++d)
    elements *=
        std::distance(reads[d].lower_bound(box.offsets[d]), reads[d].lower_bound(box.offsets[d] + box.sizes[d]));
  return elements;
}

/// The boxes of all values whose cuts are known.
class Expectation {
public:
  Expectation(const Program &p, const std::vector<Type> &types, const std::vector<std::vector<Box>> &results)
      : p(p), types(types), boxes(types.size()), traffic(p.mesh.size()) {
    for (size_t a = 0; a < p.arguments.size(); ++a)
      for (int64_t r = 0; r < p.mesh.size(); ++r)
        boxes[a].push_back(annotatedBox(p, p.arguments[a].sharding, types[a].shape, r));
    for (size_t i = 0; i < results.size(); ++i) {
      std::vector<Box> &box = boxes[p.results[i].value];
      // A value that is returned with two cuts moves.
      complete &= isDirect(p.results[i]) && (box.empty() || box == results[i]);
      box = results[i];
    }
  }

  std::optional<std::vector<Traffic>> run() {
    if (!complete)
      return {};
    for (size_t i = 0; i < p.ops.size(); ++i)
      if (!add(p.ops[i], int(p.arguments.size() + i)))
        return {};
    return traffic;
  }

private:
  /// Computed at the cuts of its annotation: windows and batches are cut as in
  /// the input, or only in the result; output features as in the filter, or only
  /// in the result.
  bool isDirect(const Result &result) const {
    if (!result.sharding)
      return true;
    if (result.value < int(p.arguments.size()))
      return false;
    const Op &op = p.ops[result.value - p.arguments.size()];
    if ((op.kind != Kind::Conv && op.kind != Kind::Pool) || op.operands[0] >= int(p.arguments.size()))
      return false;
    for (size_t d = 0; d < result.sharding->size(); ++d) {
      int number = op.outputDims[d];
      bool ofFilter = number == kSecond && op.kind == Kind::Conv;
      int operand = op.operands[ofFilter];
      DimCut cut = (*result.sharding)[d], source;
      int from = ofFilter ? positionOf(op.filterDims, kFirst) : positionOf(op.inputDims, number);
      if (operand >= int(p.arguments.size()))
        return false;
      if (p.arguments[operand].sharding)
        source = (*p.arguments[operand].sharding)[from];
      // A bias that is cut otherwise makes the result move.
      if (ofFilter && op.operands.size() > 2 && op.operands[2] < int(p.arguments.size()) &&
          p.arguments[op.operands[2]].sharding && (*p.arguments[op.operands[2]].sharding)[0].axes != cut.axes)
        return false;
      bool same = cut.axes == source.axes && (number >= 0 || cut.cuts == source.cuts);
      if ((!same && (!source.axes.empty() || usesAny(op, cut.axes))) || (ofFilter && cutsInsideGroup(op, cut, result)))
        return false;
    }
    return true;
  }

  /// Cuts lie between groups: others are made by moving results.
  bool cutsInsideGroup(const Op &op, const DimCut &cut, const Result &result) const {
    int64_t outs = types[result.value].shape[positionOf(op.outputDims, kSecond)];
    std::vector<int64_t> bounds = boundsOf(p.mesh, cut, outs);
    bool grouped = op.featureGroups > 1 || op.batchGroups > 1;
    return grouped && std::any_of(bounds.begin(), bounds.end(),
                                  [&](int64_t b) { return b % (outs / op.featureGroups / op.batchGroups); });
  }

  bool usesAny(const Op &op, const std::vector<int> &axes) const {
    for (int operand : op.operands)
      if (operand < int(p.arguments.size()) && p.arguments[operand].sharding)
        for (const DimCut &cut : *p.arguments[operand].sharding)
          for (int axis : cut.axes)
            if (std::count(axes.begin(), axes.end(), axis))
              return true;
    return false;
  }

  bool add(const Op &op, int value) {
    // Splats are made where they are needed.
    if (op.kind == Kind::Splat)
      return true;
    if (boxes[value].empty() || cutsGroups(op))
      return false;
    bool idle = false, moves = false;
    for (int64_t r = 0; r < p.mesh.size(); ++r) {
      idle |= count(boxes[value][r].sizes) == 0;
      for (size_t i = 0; i < op.operands.size(); ++i) {
        const Op *source =
            op.operands[i] < int(p.arguments.size()) ? nullptr : &p.ops[op.operands[i] - p.arguments.size()];
        if (source && source->kind == Kind::Splat)
          continue;
        auto reads = readsOf(op, types, i, boxes[value][r]);
        if (!reads || boxes[op.operands[i]].empty())
          return false;
        bool received = receive(r, *reads, op.operands[i]);
        moves |= received && i > 0 && op.kind == Kind::Conv;
      }
    }
    // Parameters are cut as a whole, for ranks without outputs too.
    return !idle || !moves;
  }

  /// Inside a group, or over several: the input is cut otherwise first.
  bool cutsGroups(const Op &op) const {
    auto isCut = [&](int number) {
      const std::vector<Box> &input = boxes[op.operands[0]];
      int d = positionOf(op.inputDims, number);
      return std::any_of(input.begin(), input.end(),
                         [&](const Box &b) { return b.sizes[d] != types[op.operands[0]].shape[d]; });
    };
    return op.kind == Kind::Conv && !boxes[op.operands[0]].empty() &&
           ((op.featureGroups > 1 && isCut(kSecond)) || (op.batchGroups > 1 && isCut(kFirst)));
  }

  /// The boxes of an operand that differ share no element: each is one owner's.
  bool receive(int64_t rank, const Reads &reads, int operand) {
    static const int64_t bytesOf[] = {8, 4, 2, 2, 1, 4};
    std::vector<Box> seen{boxes[operand][rank]};
    bool any = false;
    for (const Box &box : boxes[operand]) {
      if (std::count(seen.begin(), seen.end(), box))
        continue;
      seen.push_back(box);
      int64_t elements = countIn(reads, box);
      traffic[rank].messages += elements > 0;
      traffic[rank].bytes += elements * bytesOf[int(types[operand].dtype)];
      any |= elements > 0;
    }
    return any;
  }

  const Program &p;
  const std::vector<Type> &types;
  std::vector<std::vector<Box>> boxes; ///< by value, by rank; empty: not known
  std::vector<Traffic> traffic;
  bool complete = true;
};
} // namespace

std::optional<std::vector<Traffic>> randprog::expectedTraffic(const Program &p, const std::vector<Type> &types,
                                                              const std::vector<std::vector<Box>> &results) {
  // What is exchanged at one point may travel together.
  if (p.merge && p.ops.size() > 1)
    return {};
  return Expectation(p, types, results).run();
}
