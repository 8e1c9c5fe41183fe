// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which programs are valid, and the types of their values.
#include "Program.h"

#include <algorithm>
#include <set>

using namespace randprog;

bool randprog::fits(const Mesh &mesh, const Sharding &sharding, const Shape &shape) {
  if (sharding.size() != shape.size())
    return false;
  std::set<int> used;
  for (size_t d = 0; d < shape.size(); ++d) {
    for (int axis : sharding[d].axes)
      if (axis < 0 || axis >= int(mesh.extents.size()) || !used.insert(axis).second)
        return false;
    const std::vector<int64_t> &cuts = sharding[d].cuts;
    if (cuts.empty())
      continue;
    if (sharding[d].axes.empty() || int64_t(cuts.size()) != partsOf(mesh, sharding[d]) + 1 || cuts.front() != 0 ||
        cuts.back() != shape[d] || !std::is_sorted(cuts.begin(), cuts.end()))
      return false;
  }
  return true;
}

static bool isPermutation(Dims dims, int spatial, bool first, bool second) {
  std::sort(dims.begin(), dims.end());
  Dims expected;
  if (second)
    expected.push_back(kSecond);
  if (first)
    expected.push_back(kFirst);
  for (int n = 0; n < spatial; ++n)
    expected.push_back(n);
  return dims == expected;
}

/// Sizes by the numbers of `dims`.
static Shape spatialSizes(const Op &op, const Shape &input) {
  Shape sizes;
  for (size_t n = 0; n < op.windows.size(); ++n)
    sizes.push_back(outputs(op.windows[n], input[positionOf(op.inputDims, int(n))]));
  return sizes;
}

static bool validWindows(const Op &op, const Shape &input) {
  if (std::count(input.begin(), input.end(), 0))
    return false;
  for (size_t n = 0; n < op.windows.size(); ++n)
    if (!validWindow(op.windows[n], input[positionOf(op.inputDims, int(n))]))
      return false;
  return true;
}

static std::optional<Type> inferConv(const Op &op, const std::vector<Type> &types) {
  const Type &x = types[op.operands[0]], &w = types[op.operands[1]];
  int spatial = int(op.windows.size());
  if (x.shape.size() != op.inputDims.size() || w.shape.size() != op.filterDims.size() ||
      !isPermutation(op.inputDims, spatial, true, true) || !isPermutation(op.filterDims, spatial, true, true) ||
      !isPermutation(op.outputDims, spatial, true, true))
    return {};
  if (x.dtype != w.dtype || x.dtype == DType::I32 || (op.result != x.dtype && op.result != accumulation(x.dtype)))
    return {};
  int64_t batch = x.shape[positionOf(op.inputDims, kFirst)], features = x.shape[positionOf(op.inputDims, kSecond)];
  int64_t out = w.shape[positionOf(op.filterDims, kFirst)], in = w.shape[positionOf(op.filterDims, kSecond)];
  if (op.featureGroups < 1 || op.batchGroups < 1 || (op.featureGroups > 1 && op.batchGroups > 1) ||
      features != in * op.featureGroups || out % op.featureGroups || out % op.batchGroups || batch % op.batchGroups)
    return {};
  for (int n = 0; n < spatial; ++n)
    if (w.shape[positionOf(op.filterDims, n)] != op.windows[n].size)
      return {};
  if (!validWindows(op, x.shape) || count(w.shape) == 0)
    return {};
  Type type{op.result, {}};
  Shape sizes = spatialSizes(op, x.shape);
  for (int n : op.outputDims)
    type.shape.push_back(n >= 0 ? sizes[n] : n == kFirst ? batch / op.batchGroups : out);
  if (op.operands.size() > 2) {
    const Type &b = types[op.operands[2]];
    if (b.dtype != op.result || b.shape != Shape{out})
      return {};
  }
  return type;
}

/// An integer maximum needs an element in every window, dimension by dimension.
static bool windowsReadSomething(const Op &op, const Shape &input) {
  for (size_t n = 0; n < op.windows.size(); ++n) {
    int64_t size = input[positionOf(op.inputDims, int(n))];
    for (int64_t o = 0, m = outputs(op.windows[n], size); o < m; ++o) {
      bool any = false;
      for (int64_t t = 0; t < op.windows[n].size; ++t)
        any |= elementOf(op.windows[n], size, o, t) >= 0;
      if (!any)
        return false;
    }
  }
  return true;
}

static std::optional<Type> inferPool(const Op &op, const std::vector<Type> &types) {
  const Type &x = types[op.operands[0]];
  int spatial = int(op.windows.size());
  bool first = positionOf(op.inputDims, kFirst) >= 0, second = positionOf(op.inputDims, kSecond) >= 0;
  if (x.shape.size() != op.inputDims.size() || !isPermutation(op.inputDims, spatial, first, second) ||
      !isPermutation(op.outputDims, spatial, first, second) || op.result != x.dtype || !validWindows(op, x.shape))
    return {};
  bool average = op.pool == Pool::Avg || op.pool == Pool::AvgPadding;
  if (!isFloat(x.dtype) && (average || (op.pool == Pool::Max && !windowsReadSomething(op, x.shape))))
    return {};
  Type type{op.result, {}};
  Shape sizes = spatialSizes(op, x.shape);
  for (int n : op.outputDims)
    type.shape.push_back(n >= 0 ? sizes[n] : x.shape[positionOf(op.inputDims, n)]);
  return type;
}

std::optional<Type> randprog::inferOp(const Mesh &mesh, const Op &op, const std::vector<Type> &types) {
  for (int operand : op.operands)
    if (operand < 0 || operand >= int(types.size()))
      return {};
  switch (op.kind) {
  case Kind::Conv:
    return inferConv(op, types);
  case Kind::Pool:
    return inferPool(op, types);
  case Kind::Reshard:
    if (!fits(mesh, op.sharding, types[op.operands[0]].shape))
      return {};
    return types[op.operands[0]];
  case Kind::Unary: {
    const Type &x = types[op.operands[0]];
    bool integers = op.word == "relu" || op.word == "neg";
    if (!isFloat(x.dtype) && !integers)
      return {};
    return x;
  }
  case Kind::Binary: {
    const Type &a = types[op.operands[0]], &b = types[op.operands[1]];
    if (a.dtype != b.dtype || a.shape != b.shape)
      return {};
    return a;
  }
  case Kind::Splat:
    return Type{op.result, op.splatShape};
  case Kind::Transpose: {
    const Type &x = types[op.operands[0]];
    if (op.order.size() != x.shape.size())
      return {};
    Type type{x.dtype, {}};
    for (int d : op.order)
      type.shape.push_back(x.shape[d]);
    return type;
  }
  case Kind::Broadcast: {
    // Operand 1 gives the shape.
    const Type &x = types[op.operands[0]], &like = types[op.operands[1]];
    if (op.order.size() != x.shape.size() || x.dtype != like.dtype || x.shape.size() >= like.shape.size())
      return {};
    for (size_t d = 0; d < op.order.size(); ++d)
      if (op.order[d] >= int(like.shape.size()) || like.shape[op.order[d]] != x.shape[d])
        return {};
    return like;
  }
  case Kind::Slice: {
    const Type &x = types[op.operands[0]];
    if (op.offsets.size() != x.shape.size())
      return {};
    for (size_t d = 0; d < x.shape.size(); ++d)
      if (op.sizes[d] < 1 || op.offsets[d] + (op.sizes[d] - 1) * op.strides[d] >= x.shape[d])
        return {};
    return Type{x.dtype, op.sizes};
  }
  case Kind::Concat: {
    const Type &a = types[op.operands[0]], &b = types[op.operands[1]];
    if (a.dtype != b.dtype || a.shape.size() != b.shape.size() || op.order.size() != 1 ||
        op.order[0] >= int(a.shape.size()))
      return {};
    Type type = a;
    for (int d = 0; d < int(a.shape.size()); ++d)
      if (d == op.order[0])
        type.shape[d] += b.shape[d];
      else if (a.shape[d] != b.shape[d])
        return {};
    return type;
  }
  case Kind::Pad: {
    Type type = types[op.operands[0]];
    if (op.offsets.size() != type.shape.size())
      return {};
    for (size_t d = 0; d < type.shape.size(); ++d)
      type.shape[d] += op.offsets[d] + op.sizes[d];
    return type;
  }
  }
  return {};
}

std::optional<std::vector<Type>> randprog::infer(const Program &p) {
  std::vector<Type> types;
  for (const Argument &a : p.arguments) {
    if (std::count(a.shape.begin(), a.shape.end(), 0) || (a.sharding && !fits(p.mesh, *a.sharding, a.shape)))
      return {};
    types.push_back({a.type, a.shape});
  }
  for (const Op &op : p.ops) {
    std::optional<Type> type = inferOp(p.mesh, op, types);
    if (!type)
      return {};
    types.push_back(*type);
  }
  if (p.results.empty())
    return {};
  for (const Result &r : p.results)
    if (r.value >= int(types.size()) || (r.sharding && !fits(p.mesh, *r.sharding, types[r.value].shape)))
      return {};
  return types;
}

int64_t randprog::cost(const Program &p, const std::vector<Type> &types) {
  int64_t sum = 0;
  for (size_t i = 0; i < p.ops.size(); ++i) {
    const Op &op = p.ops[i];
    int64_t n = count(types[p.arguments.size() + i].shape);
    for (const Window &w : op.windows)
      n *= w.size;
    if (op.kind == Kind::Conv)
      n *= types[op.operands[1]].shape[positionOf(op.filterDims, kSecond)];
    sum += n;
  }
  return sum;
}
