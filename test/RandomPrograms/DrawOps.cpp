// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations, one at a time.
#include "Drawer.h"

#include <algorithm>

using namespace randprog;

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
    if (w.border == Border::Circular && size < 12 && r.chance(30))
      (r.chance(50) ? w.low : w.high) = r.between(size, 3 * size);
    int64_t m = outputs(w, size);
    if (validWindow(w, size) && m >= 1 && m <= std::max<int64_t>(48, size + 8))
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

/// A slice, a concatenation or a padding of one or two dimensions.
bool Drawer::drawMove() {
  const Shape shape = type().shape;
  Op op;
  op.result = dtype;
  op.operands = {current};
  op.kind = std::vector<Kind>{Kind::Slice, Kind::Concat, Kind::Pad}[r.below(3)];
  int64_t n = int64_t(shape.size());
  if (op.kind == Kind::Concat) {
    op.order = {int(r.below(n))};
    Shape other = shape;
    other[op.order[0]] = r.between(1, 3);
    std::optional<Sharding> cut;
    if (r.chance(50))
      cut = like(other);
    if (cut && !fits(p.mesh, *cut, other))
      return false;
    op.operands.push_back(addArgument(other, cut, 4));
    return addOp(op);
  }
  op.offsets.assign(n, 0);
  op.sizes = op.kind == Kind::Slice ? shape : Shape(n, 0);
  op.strides.assign(n, 1);
  for (int64_t changes = r.between(1, 2); changes > 0; --changes) {
    int64_t d = r.below(n);
    if (op.kind == Kind::Pad) {
      op.offsets[d] = r.between(0, 2);
      op.sizes[d] = r.between(0, 2);
      continue;
    }
    op.offsets[d] = r.below(shape[d]);
    op.strides[d] = r.chance(70) ? 1 : r.between(1, 3);
    op.sizes[d] = r.between(1, (shape[d] - op.offsets[d] - 1) / op.strides[d] + 1);
  }
  return addOp(op);
}

bool Drawer::drawOp() {
  switch (r.pick({50, 18, 10, 8, 10, 4, 8})) {
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
  case 6:
    return drawMove();
  default:
    return drawTranspose();
  }
}
