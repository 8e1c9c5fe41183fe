// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The uncut program by plain loops over doubles. Beside each value stands a
// bound on what a correct computation may differ by. It is 0, so that equality
// is asked for, where sums are of integers small enough for every partial sum
// to be exact, and where an operation is rounded correctly.
#include "Program.h"

#include <algorithm>
#include <cmath>

using namespace randprog;

namespace {
/// Counts through all indices of a shape, the last fastest.
class Counter {
public:
  explicit Counter(const Shape &shape) : shape(shape), index(shape.size(), 0), left(count(shape)) {}
  bool done() const { return left == 0; }
  void next() {
    --left;
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d])
        return;
      index[d] = 0;
    }
  }
  const Shape &operator*() const { return index; }

private:
  Shape shape, index;
  int64_t left;
};

int64_t linear(const Shape &shape, const Shape &index) {
  int64_t at = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    at = at * shape[d] + index[d];
  return at;
}

/// A sum and what is known of its error.
struct Sum {
  double value = 0, magnitude = 0, error = 0;
  int64_t terms = 0;
  bool integers = true;

  void add(double v, double e) {
    value += v;
    magnitude += std::fabs(v);
    error += e;
    integers &= v == std::floor(v);
    ++terms;
  }
  /// Adds what any order of additions in `type` may lose.
  void finish(DType type) {
    double limit = type == DType::F64 ? 0x1p53 : 0x1p24;
    if (isFloat(type) && (!integers || error > 0 || !(magnitude <= limit)))
      error += (terms + 2) * epsilon(type) * magnitude;
  }
};

void set(Tensor &t, int64_t at, double value, double bound, DType through) {
  DType type = t.type.dtype;
  double v = roundTo(type, isFloat(type) ? roundTo(through, value) : value);
  if (!std::isfinite(v))
    bound = 0;
  else if (bound > 0)
    bound += epsilon(type) * std::fabs(v) + (type == DType::F16 ? 0x1p-24 : 0);
  t.values[at] = v;
  t.bounds[at] = bound;
}

Tensor makeTensor(const Type &type) {
  size_t n = size_t(count(type.shape));
  return {type, std::vector<double>(n), std::vector<double>(n)};
}

/// Where the dimensions with a spatial number stand.
Shape spatialPart(const Op &op, const Dims &dims, const Shape &index) {
  Shape part;
  for (size_t n = 0; n < op.windows.size(); ++n)
    part.push_back(index[positionOf(dims, int(n))]);
  return part;
}

Shape tapShape(const Op &op) {
  Shape shape;
  for (const Window &w : op.windows)
    shape.push_back(w.size);
  return shape;
}

/// Sets the spatial entries of `index` to what the taps read; false if one
/// reads nothing.
bool readAt(const Op &op, const Shape &input, const Shape &out, const Shape &taps, Shape &index) {
  for (size_t n = 0; n < op.windows.size(); ++n) {
    int d = positionOf(op.inputDims, int(n));
    index[d] = elementOf(op.windows[n], input[d], out[n], taps[n]);
    if (index[d] < 0)
      return false;
  }
  return true;
}

void conv(const Op &op, const std::vector<Tensor> &env, Tensor &y) {
  const Tensor &x = env[op.operands[0]], &w = env[op.operands[1]];
  const Shape &xs = x.type.shape, &ws = w.type.shape;
  int64_t outs = ws[positionOf(op.filterDims, kFirst)], ins = ws[positionOf(op.filterDims, kSecond)];
  int yb = positionOf(op.outputDims, kFirst), yf = positionOf(op.outputDims, kSecond);
  int xb = positionOf(op.inputDims, kFirst), xf = positionOf(op.inputDims, kSecond);
  int64_t batch = y.type.shape[yb];
  DType acc = accumulation(x.type.dtype);
  for (Counter o(y.type.shape); !o.done(); o.next()) {
    int64_t feature = (*o)[yf];
    int64_t featureGroup = feature / (outs / op.featureGroups), batchGroup = feature / (outs / op.batchGroups);
    Shape at = spatialPart(op, op.outputDims, *o), xi(xs.size()), wi(ws.size());
    Sum sum;
    xi[xb] = batchGroup * batch + (*o)[yb];
    wi[positionOf(op.filterDims, kFirst)] = feature;
    for (Counter t(tapShape(op)); !t.done(); t.next()) {
      if (!readAt(op, xs, at, *t, xi))
        continue;
      for (size_t n = 0; n < op.windows.size(); ++n)
        wi[positionOf(op.filterDims, int(n))] = op.windows[n].reverse ? op.windows[n].size - 1 - (*t)[n] : (*t)[n];
      for (int64_t i = 0; i < ins; ++i) {
        xi[xf] = featureGroup * ins + i;
        wi[positionOf(op.filterDims, kSecond)] = i;
        int64_t a = linear(xs, xi), b = linear(ws, wi);
        double u = x.values[a], v = w.values[b], eu = x.bounds[a], ev = w.bounds[b];
        sum.add(u * v, eu > 0 || ev > 0 ? std::fabs(u) * ev + std::fabs(v) * eu + eu * ev : 0);
      }
    }
    if (op.operands.size() > 2)
      sum.add(env[op.operands[2]].values[feature], env[op.operands[2]].bounds[feature]);
    sum.finish(acc);
    set(y, linear(y.type.shape, *o), sum.value, sum.error, acc);
  }
}

void pool(const Op &op, const std::vector<Tensor> &env, Tensor &y) {
  const Tensor &x = env[op.operands[0]];
  int64_t window = count(tapShape(op));
  DType acc = accumulation(x.type.dtype);
  for (Counter o(y.type.shape); !o.done(); o.next()) {
    Shape at = spatialPart(op, op.outputDims, *o), xi(x.type.shape.size());
    for (int letter : {kFirst, kSecond})
      if (int d = positionOf(op.inputDims, letter); d >= 0)
        xi[d] = (*o)[positionOf(op.outputDims, letter)];
    Sum sum;
    double most = -HUGE_VAL, bound = 0;
    for (Counter t(tapShape(op)); !t.done(); t.next()) {
      if (!readAt(op, x.type.shape, at, *t, xi))
        continue;
      int64_t a = linear(x.type.shape, xi);
      sum.add(x.values[a], x.bounds[a]);
      if (!std::isnan(most) && !(x.values[a] <= most))
        most = x.values[a];
      bound = std::max(bound, x.bounds[a]);
    }
    int64_t place = linear(y.type.shape, *o), taps = op.pool == Pool::Avg ? sum.terms : window;
    sum.finish(acc);
    if (op.pool == Pool::Max)
      set(y, place, most, bound, acc);
    else if (op.pool == Pool::Sum)
      set(y, place, sum.value, sum.error, acc);
    else
      set(y, place, taps ? sum.value / double(taps) : 0, taps ? sum.error / double(taps) : 0, acc);
  }
}

/// Math functions of a library are good to a few units in the last place.
void unary(const Op &op, const Tensor &x, Tensor &y) {
  DType type = x.type.dtype;
  double ulps = 8 * epsilon(type);
  for (size_t i = 0; i < x.values.size(); ++i) {
    double v = x.values[i], e = x.bounds[i];
    if (op.word == "relu")
      set(y, i, std::isnan(v) ? v : std::max(v, 0.0), e, type);
    else if (op.word == "neg")
      set(y, i, -v, e, type);
    else if (op.word == "absf")
      set(y, i, std::fabs(v), e, type);
    else if (op.word == "tanh")
      set(y, i, std::tanh(v), e + ulps * std::fabs(std::tanh(v)), type);
    else if (op.word == "expneg")
      set(y, i, std::exp(-std::fabs(v)), std::expm1(e) + ulps * std::exp(-std::fabs(v)), type);
    else
      set(y, i, std::sqrt(std::fabs(v)),
          std::sqrt(std::fabs(v) + e) - std::sqrt(std::max(0.0, std::fabs(v) - e)) + ulps * std::sqrt(std::fabs(v)),
          type);
  }
}

void binary(const Op &op, const Tensor &a, const Tensor &b, Tensor &y) {
  DType type = a.type.dtype;
  for (size_t i = 0; i < a.values.size(); ++i) {
    double u = a.values[i], v = b.values[i], eu = a.bounds[i], ev = b.bounds[i];
    bool nan = std::isnan(u) || std::isnan(v);
    if (op.word == "add" || op.word == "linalg.add")
      set(y, i, u + v, eu + ev, type);
    else if (op.word == "sub")
      set(y, i, u - v, eu + ev, type);
    else if (op.word == "mul")
      set(y, i, u * v, eu > 0 || ev > 0 ? std::fabs(u) * ev + std::fabs(v) * eu + eu * ev : 0, type);
    else
      set(y, i, nan ? NAN : op.word == "max" ? std::max(u, v) : std::min(u, v), std::max(eu, ev), type);
  }
}

/// Result elements that are elements of the operand, at `from` of the index.
template <typename From> void move(const Tensor &x, Tensor &y, From from) {
  for (Counter o(y.type.shape); !o.done(); o.next()) {
    int64_t at = linear(y.type.shape, *o), source = linear(x.type.shape, from(*o));
    y.values[at] = x.values[source];
    y.bounds[at] = x.bounds[source];
  }
}

/// Operands at their places in a result that is larger.
void place(const Op &op, const std::vector<Tensor> &env, Tensor &y) {
  bool pad = op.kind == Kind::Pad;
  for (size_t i = 0; pad && i < y.values.size(); ++i)
    set(y, int64_t(i), op.number, 0, y.type.dtype);
  int64_t behind = 0;
  for (int operand : op.operands) {
    const Tensor &x = env[operand];
    for (Counter i(x.type.shape); !i.done(); i.next()) {
      Shape index = *i;
      for (size_t d = 0; d < index.size(); ++d)
        index[d] += pad ? op.offsets[d] : int(d) == op.order[0] ? behind : 0;
      int64_t at = linear(y.type.shape, index), source = linear(x.type.shape, *i);
      y.values[at] = x.values[source];
      y.bounds[at] = x.bounds[source];
    }
    behind += pad ? 0 : x.type.shape[op.order[0]];
  }
}

void evaluateOp(const Op &op, const std::vector<Tensor> &env, Tensor &y) {
  switch (op.kind) {
  case Kind::Conv:
    return conv(op, env, y);
  case Kind::Pool:
    return pool(op, env, y);
  case Kind::Reshard:
    y = env[op.operands[0]];
    return;
  case Kind::Unary:
    return unary(op, env[op.operands[0]], y);
  case Kind::Binary:
    return binary(op, env[op.operands[0]], env[op.operands[1]], y);
  case Kind::Splat:
    for (size_t i = 0; i < y.values.size(); ++i)
      set(y, i, op.number, 0, op.result);
    return;
  case Kind::Transpose:
    return move(env[op.operands[0]], y, [&](const Shape &o) {
      Shape index(o.size());
      for (size_t d = 0; d < o.size(); ++d)
        index[op.order[d]] = o[d];
      return index;
    });
  case Kind::Broadcast:
    return move(env[op.operands[0]], y, [&](const Shape &o) {
      Shape index;
      for (int d : op.order)
        index.push_back(o[d]);
      return index;
    });
  case Kind::Slice:
    return move(env[op.operands[0]], y, [&](const Shape &o) {
      Shape index(o.size());
      for (size_t d = 0; d < o.size(); ++d)
        index[d] = op.offsets[d] + o[d] * op.strides[d];
      return index;
    });
  case Kind::Concat:
  case Kind::Pad:
    return place(op, env, y);
  }
}
} // namespace

Tensor randprog::makeInput(const Program &p, int argument) {
  const Argument &a = p.arguments[argument];
  Tensor t = makeTensor({a.type, a.shape});
  for (size_t i = 0; i < t.values.size(); ++i) {
    Random random(p.seed * 1000003 + uint64_t(argument) * 8191 + i);
    random.next();
    if (a.fill == Argument::Fractions)
      t.values[i] = roundTo(a.type, double(random.between(-1000, 1000)) / 1000);
    else
      t.values[i] = double(random.between(-a.reach, a.reach));
    if (a.fill == Argument::Special && random.chance(4))
      t.values[i] = random.chance(40) ? NAN : random.chance(50) ? HUGE_VAL : -HUGE_VAL;
  }
  return t;
}

std::vector<Tensor> randprog::evaluate(const Program &p, const std::vector<Tensor> &inputs) {
  std::vector<Type> types = *infer(p);
  std::vector<Tensor> env = inputs;
  env.reserve(types.size());
  for (const Op &op : p.ops) {
    Tensor y = makeTensor(types[env.size()]);
    evaluateOp(op, env, y);
    env.push_back(std::move(y));
  }
  return env;
}
