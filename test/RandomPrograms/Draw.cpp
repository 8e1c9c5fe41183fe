// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Draws a program. Values are numbered as they are made; at the end arguments
// move to the front, as in the text.
#include "Program.h"

#include <algorithm>
#include <cmath>

using namespace randprog;

namespace {
constexpr int64_t kMaxElements = 2500, kMaxCost = 60000;

class Drawer {
public:
  explicit Drawer(uint64_t seed) : r(seed) { p.seed = seed; }
  std::optional<Program> run();

private:
  void drawMesh();
  void drawFirst();
  bool drawOp();
  bool drawConv();
  bool drawPool();
  bool drawReshard();
  bool drawUnary();
  bool drawBinary();
  bool drawTranspose();
  void drawResults();
  Program renumber() const;

  Window drawWindow(int64_t size, int64_t most);
  void drawPads(Window &w, int64_t size);
  Dims drawLayout(int spatial, int64_t first = kFirst, int64_t second = kSecond);
  Sharding drawSharding(const Shape &shape, const std::vector<int> &weights, int uncut);
  std::vector<int64_t> drawCuts(int64_t size, int64_t parts);
  std::vector<int> weightsFor(const Dims &dims, int first, int second, int spatial) const;
  Sharding like(const Shape &shape);

  int addArgument(const Shape &shape, std::optional<Sharding> sharding, int64_t reach);
  bool addOp(const Op &op, bool small = true);
  const Type &type() const { return types[current]; }
  int64_t sizeOf(int number) const { return type().shape[positionOf(dims, number)]; }

  struct Node {
    bool argument;
    size_t index;
  };
  Random r;
  Program p;
  std::vector<Node> nodes;
  std::vector<Type> types;
  int current = 0;
  Dims dims;             ///< what the dimensions of the current value are
  Sharding lastSharding; ///< a likely sharding of the current value
  Dims lastDims;         ///< ... of these dimensions
  DType dtype = DType::F32;
  Argument::Fill fill = Argument::Integers;
};

void Drawer::drawMesh() {
  static const char *names[] = {"x", "y", "z", "sp", "dp", "model axis"};
  int axes = 1 + r.pick({55, 33, 12});
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
  dtype = kinds[r.pick({44, 13, 13, 13, 17})];
  int spatial = r.pick({7, 25, 34, 18, 8, 8});
  if (isFloat(dtype))
    fill = Argument::Fill(r.pick({75, 20, 5}));
  dims = drawLayout(spatial);
  Shape shape;
  static const int64_t channels[] = {1, 2, 3, 4, 6, 8, 16};
  for (int n : dims)
    shape.push_back(n == kFirst    ? r.between(1, spatial > 3 ? 2 : 4)
                    : n == kSecond ? channels[r.pick({15, 20, 15, 20, 12, 10, spatial > 2 ? 0 : 8})]
                                   : r.between(r.chance(85) ? (most[spatial] + 1) / 2 : 1, most[spatial]));
  Sharding sharding = drawSharding(shape, weightsFor(dims, 12, 12, spatial ? 90 / spatial : 1), 14);
  lastSharding = sharding;
  lastDims = dims;
  current = addArgument(shape, r.chance(93) ? std::optional<Sharding>(sharding) : std::nullopt,
                        dtype == DType::F16 || dtype == DType::BF16 ? 2 : 4);
}

// ===--------------------------------------------------------------------=== //
// Windows
// ===--------------------------------------------------------------------=== //

void Drawer::drawPads(Window &w, int64_t size) {
  int64_t reach = (w.size - 1) * w.dilation + 1;
  switch (r.pick({30, 15, 25, 12, 10, 8})) {
  case 0:
    w.low = (reach - 1) / 2;
    w.high = reach - 1 - w.low;
    break;
  case 1:
    break;
  case 2:
    w.low = r.between(0, reach);
    w.high = r.between(0, reach);
    break;
  case 3:
    w.low = -r.between(0, 2);
    w.high = -r.between(0, 2);
    break;
  case 4:
    w.low = r.between(-2, reach + 3);
    w.high = r.between(-2, reach + 3);
    break;
  case 5:
    w.low = w.high = r.between(0, size + reach);
  }
}

Window Drawer::drawWindow(int64_t size, int64_t most) {
  for (int tries = 0; tries < 30; ++tries) {
    Window w;
    w.size = std::min(most, r.chance(12) ? r.between(1, 7) : 1 + r.pick({18, 22, 40, 12, 8}));
    w.stride = 1 + r.pick({60, 25, 9, 4, 2});
    w.dilation = w.size > 1 || r.chance(5) ? 1 + r.pick({70, 18, 9, 3}) : 1;
    w.base = 1 + r.pick({84, 11, 5});
    w.reverse = r.chance(8);
    drawPads(w, size);
    if (w.base == 1 && r.chance(28))
      w.border = Border(r.between(1, 3));
    int64_t m = outputs(w, size);
    if (validWindow(w, size) && m >= 1 && m <= 48)
      return w;
  }
  return {};
}

bool Drawer::drawConv() {
  Op op;
  op.kind = Kind::Conv;
  op.inputDims = dims;
  if (positionOf(dims, kFirst) < 0 || positionOf(dims, kSecond) < 0 || r.chance(3)) {
    if (dims.size() < 2)
      return false;
    op.inputDims = drawLayout(int(dims.size()) - 2);
  }
  int spatial = int(op.inputDims.size()) - 2;
  op.outputDims = r.chance(70) ? op.inputDims : drawLayout(spatial);
  const Shape shape = type().shape;
  int64_t features = shape[positionOf(op.inputDims, kSecond)], batch = shape[positionOf(op.inputDims, kFirst)];
  static const int64_t mostTaps[] = {1, 9, 5, 3, 2, 2};
  for (int n = 0; n < spatial; ++n)
    op.windows.push_back(drawWindow(shape[positionOf(op.inputDims, n)], mostTaps[std::min(spatial, 5)]));
  int64_t outs = r.chance(15) ? 8 * r.between(1, 2) + r.below(2) : r.between(1, 4), ins = features;
  if (batch > 1 && r.chance(18)) {
    std::vector<int64_t> divisors;
    for (int64_t g = 2; g <= batch; ++g)
      if (batch % g == 0)
        divisors.push_back(g);
    op.batchGroups = divisors[r.below(int64_t(divisors.size()))];
    outs = op.batchGroups * r.between(1, 3);
  } else if (features > 1 && r.chance(30)) {
    std::vector<int64_t> divisors;
    for (int64_t g = 2; g <= features; ++g)
      if (features % g == 0)
        divisors.push_back(g);
    op.featureGroups = r.chance(40) ? features : divisors[r.below(int64_t(divisors.size()))];
    ins = features / op.featureGroups;
    outs = op.featureGroups * r.between(1, 2);
  }
  op.filterDims = drawLayout(spatial);
  Shape filter;
  for (int n : op.filterDims)
    filter.push_back(n == kFirst ? outs : n == kSecond ? ins : op.windows[n].size);
  op.result = r.chance(70) ? accumulation(dtype) : dtype;
  if (r.chance(40) && dtype != DType::I8)
    op.result = dtype;
  std::optional<Sharding> cut;
  if (r.chance(30))
    cut = drawSharding(filter, weightsFor(op.filterDims, 30, 30, spatial ? 40 / spatial : 1), 25);
  bool narrow = dtype == DType::F16 || dtype == DType::BF16;
  op.operands = {current, addArgument(filter, cut, narrow ? 1 : 2)};
  if (r.chance(35)) {
    DType keep = dtype;
    dtype = op.result;
    std::optional<Sharding> biasCut;
    if (r.chance(25))
      biasCut = drawSharding({outs}, {60}, 40);
    op.operands.push_back(addArgument({outs}, biasCut, 8));
    dtype = keep;
  }
  if (!addOp(op))
    return false;
  dims = op.outputDims;
  dtype = op.result;
  return true;
}

bool Drawer::drawPool() {
  Op op;
  op.kind = Kind::Pool;
  op.inputDims = dims;
  if (r.chance(15) && !dims.empty()) {
    // All dimensions, or all but one letter, become window dimensions.
    op.inputDims.clear();
    for (int n = 0; n < int(dims.size()); ++n)
      op.inputDims.push_back(n);
    r.shuffle(op.inputDims);
    if (r.chance(50))
      for (int &n : op.inputDims)
        n = n == int(dims.size()) - 1 ? (r.chance(50) ? kFirst : kSecond) : n;
  }
  int spatial = int(std::count_if(op.inputDims.begin(), op.inputDims.end(), [](int n) { return n >= 0; }));
  if (spatial == 0)
    return false;
  static const int64_t mostTaps[] = {1, 6, 4, 3, 2, 2, 2, 2};
  for (int n = 0; n < spatial; ++n)
    op.windows.push_back(drawWindow(type().shape[positionOf(op.inputDims, n)], mostTaps[spatial]));
  op.outputDims = op.inputDims;
  if (r.chance(20))
    r.shuffle(op.outputDims);
  op.pool = isFloat(dtype) ? Pool(r.pick({34, 22, 24, 20})) : Pool(r.pick({60, 40}));
  op.result = dtype;
  op.operands = {current};
  if (!addOp(op))
    return false;
  dims = op.outputDims;
  return true;
}

// ===--------------------------------------------------------------------=== //
// The rest
// ===--------------------------------------------------------------------=== //

bool Drawer::drawReshard() {
  Op op;
  op.kind = Kind::Reshard;
  op.result = dtype;
  op.operands = {current};
  op.sharding = drawSharding(type().shape, weightsFor(dims, 25, 25, dims.size() > 2 ? 60 / int(dims.size()) : 20), 25);
  lastSharding = op.sharding;
  lastDims = dims;
  return addOp(op);
}

bool Drawer::drawUnary() {
  static const char *words[] = {"relu", "neg", "absf", "tanh", "expneg", "sqrtabs"};
  Op op;
  op.kind = Kind::Unary;
  op.result = dtype;
  op.operands = {current};
  op.word = words[r.pick({40, 20, 12, 12, 8, 8})];
  return addOp(op);
}

bool Drawer::drawBinary() {
  static const char *words[] = {"add", "sub", "mul", "max", "min", "linalg.add"};
  Op op;
  op.kind = Kind::Binary;
  op.result = dtype;
  op.word = words[r.pick({30, 18, 14, 13, 10, 15})];
  const Shape shape = type().shape;
  int mine = current, other = -1;
  int source = r.pick({30, 35, 20, 15});
  if (source == 0)
    for (int v = int(types.size()) - 1; v >= 0; --v)
      if (v != mine && types[v].dtype == dtype && types[v].shape == shape)
        other = v;
  if (source == 2) {
    Op splat;
    splat.kind = Kind::Splat;
    splat.result = dtype;
    splat.number = double(r.between(-3, 3));
    splat.splatShape = shape;
    if (addOp(splat))
      other = int(types.size()) - 1;
  }
  if (source == 3 && shape.size() > 1) {
    Op broadcast;
    broadcast.kind = Kind::Broadcast;
    broadcast.result = dtype;
    int d = int(r.below(int64_t(shape.size())));
    broadcast.order = {d};
    std::optional<Sharding> cut;
    if (r.chance(30))
      cut = drawSharding({shape[d]}, {60}, 40);
    broadcast.operands = {addArgument({shape[d]}, cut, 3), mine};
    if (addOp(broadcast))
      other = int(types.size()) - 1;
  }
  if (other < 0) {
    std::optional<Sharding> cut;
    if (r.chance(70))
      cut = r.chance(50) ? like(shape) : drawSharding(shape, std::vector<int>(shape.size(), 30), 30);
    other = addArgument(shape, cut, 4);
  }
  op.operands = {mine, other};
  if (r.chance(50))
    std::swap(op.operands[0], op.operands[1]);
  return addOp(op);
}

bool Drawer::drawTranspose() {
  Op op;
  op.kind = Kind::Transpose;
  op.result = dtype;
  op.operands = {current};
  Dims now;
  for (int d = 0; d < int(dims.size()); ++d)
    op.order.push_back(d);
  r.shuffle(op.order);
  for (int d : op.order)
    now.push_back(dims[d]);
  if (!addOp(op))
    return false;
  dims = now;
  return true;
}

bool Drawer::drawOp() {
  switch (r.pick({50, 18, 10, 8, 10, 4})) {
  case 0:
    return drawConv();
  case 1:
    return drawPool();
  case 2:
    return drawReshard();
  case 3:
    return drawUnary();
  case 4:
    return drawBinary();
  default:
    return drawTranspose();
  }
}

void Drawer::drawResults() {
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
  p.twice = r.chance(15);
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
} // namespace

Program randprog::draw(uint64_t seed) {
  for (uint64_t attempt = 0;; ++attempt)
    if (auto program = Drawer(seed + attempt * 0x5851f42d4c957f2du).run()) {
      program->seed = seed;
      return *program;
    }
}
