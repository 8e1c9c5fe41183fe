// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Meshes, shardings, the first argument, results.
#include "Drawer.h"

#include <algorithm>
#include <cmath>

using namespace randprog;

static constexpr int64_t kMaxElements = 6000, kMaxCost = 100000;

void Drawer::drawMesh() {
  static const char *names[] = {"x", "y", "z", "sp", "dp", "model axis"};
  int axes = 1 + r.pick({50, 37, 13});
  do {
    p.mesh.extents.clear();
    for (int a = 0; a < axes; ++a)
      p.mesh.extents.push_back(axes == 1 ? r.between(1, 8) : r.between(1, axes == 2 ? 4 : 2));
  } while (p.mesh.size() > 8 || (p.mesh.size() < 2 && r.chance(80)));
  std::vector<std::string> all(names, names + 6);
  r.shuffle(all);
  p.mesh.names.assign(all.begin(), all.begin() + axes);
  if (!r.chance(25))
    return;
  for (int64_t i = 0; i < p.mesh.size(); ++i)
    p.mesh.deviceIds.push_back(i);
  r.shuffle(p.mesh.deviceIds);
}

std::vector<int64_t> Drawer::drawCuts(int64_t size, int64_t parts) {
  std::vector<int64_t> cuts{0};
  bool empty = r.chance(45);
  for (int64_t i = 1; i < parts; ++i)
    cuts.push_back(empty && r.chance(50) ? cuts[r.below(i)] : r.between(0, size));
  cuts.push_back(size);
  std::sort(cuts.begin(), cuts.end());
  return cuts;
}

/// Gives each mesh axis to a dimension by weight, or to none.
Sharding Drawer::drawSharding(const Shape &shape, const std::vector<int> &weights, int uncut) {
  Sharding sharding(shape.size());
  std::vector<int> axes;
  for (size_t a = 0; a < p.mesh.extents.size(); ++a)
    axes.push_back(int(a));
  r.shuffle(axes);
  std::vector<int> all = weights;
  all.push_back(uncut);
  for (int axis : axes)
    if (int d = r.pick(all); d < int(shape.size()))
      sharding[d].axes.push_back(axis);
  for (size_t d = 0; d < shape.size(); ++d)
    if (!sharding[d].axes.empty() && r.chance(35))
      sharding[d].cuts = drawCuts(shape[d], partsOf(p.mesh, sharding[d]));
  return sharding;
}

std::vector<int> Drawer::weightsFor(const Dims &layout, int first, int second, int spatial) const {
  std::vector<int> weights;
  for (int n : layout)
    weights.push_back(n == kFirst ? first : n == kSecond ? second : spatial);
  return weights;
}

/// The current value's likely sharding for a value of other dimensions: the
/// same axes on the same roles.
Sharding Drawer::like(const Shape &shape) {
  Sharding sharding(shape.size());
  for (size_t d = 0; d < dims.size() && d < shape.size(); ++d) {
    int from = positionOf(lastDims, dims[d]);
    if (from < 0 || from >= int(lastSharding.size()) || lastSharding[from].axes.empty())
      continue;
    sharding[d].axes = lastSharding[from].axes;
    if (r.chance(30))
      sharding[d].cuts = drawCuts(shape[d], partsOf(p.mesh, sharding[d]));
  }
  return sharding;
}

Dims Drawer::drawLayout(int spatial, int64_t first, int64_t second) {
  Dims layout;
  int kind = r.pick({40, 30, 30});
  layout.push_back(int(first));
  if (kind == 0)
    layout.push_back(int(second));
  for (int n = 0; n < spatial; ++n)
    layout.push_back(n);
  if (kind != 0)
    layout.push_back(int(second));
  if (kind == 2)
    r.shuffle(layout);
  return layout;
}

int Drawer::addArgument(const Shape &shape, std::optional<Sharding> sharding, int64_t reach) {
  Argument a{dtype, shape, std::move(sharding), r.chance(35), fill, reach};
  nodes.push_back({true, p.arguments.size()});
  p.arguments.push_back(a);
  p.arguments.back().wantsGrad = p.gradient && r.chance(60);
  types.push_back({dtype, shape});
  return int(types.size()) - 1;
}

bool Drawer::addOp(const Op &op, bool small) {
  std::optional<Type> result = inferOp(p.mesh, op, types);
  if (!result || (small && count(result->shape) > kMaxElements))
    return false;
  nodes.push_back({false, p.ops.size()});
  p.ops.push_back(op);
  types.push_back(*result);
  return true;
}

void Drawer::drawFirst() {
  static const DType kinds[] = {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I8};
  static const int64_t most[] = {1, 40, 14, 7, 5, 4};
  dtype = kinds[r.pick({44, 13, 13, 13, p.gradient ? 0 : 17})];
  int spatial = r.pick({7, 25, 34, 18, 8, 8});
  if (isFloat(dtype))
    fill = Argument::Fill(r.pick({75, 20, p.gradient ? 0 : 5}));
  dims = drawLayout(spatial);
  Shape shape;
  static const int64_t channels[] = {1, 2, 3, 4, 6, 8, 16};
  for (int n : dims)
    shape.push_back(n == kFirst    ? r.between(1, spatial > 3 ? 2 : 4)
                    : n == kSecond ? channels[r.pick({15, 20, 15, 20, 12, 10, spatial > 2 ? 0 : 8})]
                                   : r.between(r.chance(85) ? (most[spatial] + 1) / 2 : 1, most[spatial]));
  // Many columns, for the tiles of the vectorised form.
  if (spatial == 1 && r.chance(10)) {
    shape[positionOf(dims, 0)] = r.between(200, 600);
    shape[positionOf(dims, kFirst)] = 1;
    shape[positionOf(dims, kSecond)] = r.between(1, 3);
  }
  Sharding sharding = drawSharding(shape, weightsFor(dims, 12, 12, spatial ? 90 / spatial : 1), 14);
  // An axis for each of several spatial dimensions: halos with corners.
  if (spatial > 1 && p.mesh.extents.size() > 1 && r.chance(45)) {
    sharding.assign(shape.size(), {});
    for (int a = 0; a < int(p.mesh.extents.size()); ++a)
      sharding[positionOf(dims, a % spatial)].axes.push_back(a);
    for (size_t d = 0; d < shape.size(); ++d)
      if (!sharding[d].axes.empty() && r.chance(25))
        sharding[d].cuts = drawCuts(shape[d], partsOf(p.mesh, sharding[d]));
  }
  lastSharding = sharding;
  lastDims = dims;
  current = addArgument(shape, r.chance(93) ? std::optional<Sharding>(sharding) : std::nullopt,
                        dtype == DType::F16 || dtype == DType::BF16 ? 2 : 4);
}

void Drawer::drawResults() {
  // Every value is a result, so that its cuts are known and messages counted.
  if (p.ops.size() > 1 && r.chance(25)) {
    p.merge = false;
    for (int value = 0; value < int(types.size()); ++value)
      if (!nodes[value].argument && p.ops[nodes[value].index].kind != Kind::Splat)
        p.results.push_back({value, std::nullopt});
    return;
  }
  auto result = [&](int value) {
    const Shape &shape = types[value].shape;
    int kind = value == current ? r.pick({45, 25, 30}) : r.pick({0, 50, 50});
    if (kind == 2)
      return Result{value, std::nullopt};
    return Result{value, kind == 0 ? like(shape) : drawSharding(shape, std::vector<int>(shape.size(), 30), 30)};
  };
  p.results.push_back(result(current));
  if (r.chance(15)) {
    int value = int(r.below(int64_t(types.size())));
    if (!nodes[value].argument || r.chance(30))
      p.results.push_back(result(value));
  }
}

Program Drawer::renumber() const {
  Program out = p;
  auto number = [&](int value) {
    const Node &node = nodes[value];
    return int(node.argument ? node.index : p.arguments.size() + node.index);
  };
  for (Op &op : out.ops)
    for (int &operand : op.operands)
      operand = number(operand);
  for (Result &result : out.results)
    result.value = number(result.value);
  return out;
}

std::optional<Program> Drawer::run() {
  p.vectorize = r.chance(50);
  p.overlap = r.chance(80);
  p.merge = r.chance(80);
  p.alwaysOverlap = p.overlap && r.chance(60);
  p.twice = r.chance(15);
  p.single = r.chance(8);
  drawMesh();
  drawFirst();
  int wanted = r.chance(70) ? int(r.between(2, 5)) : 1;
  for (int made = 0, tries = 0; made < wanted && tries < 20; ++tries) {
    Drawer saved = *this;
    if (made == 0 ? (r.chance(75) ? drawConv() : drawPool()) : drawOp()) {
      current = int(types.size()) - 1;
      ++made;
      continue;
    }
    Random now = r;
    *this = saved;
    r = now;
  }
  if (p.ops.empty())
    return {};
  drawResults();
  Program program = renumber();
  auto all = infer(program);
  if (!all || cost(program, *all) > kMaxCost)
    return {};
  // Rounding to infinity depends on the last bit.
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < program.arguments.size(); ++i)
    inputs.push_back(makeInput(program, int(i)));
  for (const Tensor &t : evaluate(program, inputs))
    for (double v : t.values)
      if (t.type.dtype == DType::F16 && std::isfinite(v) && std::fabs(v) > 30000)
        return {};
  return program;
}

Program randprog::draw(uint64_t seed, bool gradient) {
  for (uint64_t attempt = 0;; ++attempt)
    if (auto program = Drawer(seed + attempt * 0x5851f42d4c957f2du, gradient).run()) {
      program->seed = seed;
      program->quick = seed % 4 != 0; // code as users get it takes twice the time
      return *program;
    }
}
