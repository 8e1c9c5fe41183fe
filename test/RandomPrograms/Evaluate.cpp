// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The uncut program by plain loops over doubles. Beside each value stands a
// bound on what a correct computation may differ by. It is 0, so that equality
// is asked for, where sums are of integers small enough for every partial sum
// to be exact, and where an operation is rounded correctly.
#include "Evaluate.h"

#include <algorithm>
#include <cmath>

using namespace randprog;

namespace {
void conv(const Op &op, const std::vector<Tensor> &env, Tensor &y) {
  const Tensor &x = env[op.operands[0]], &w = env[op.operands[1]];
  DType acc = accumulation(x.type.dtype);
  std::vector<Sum> sums(y.values.size());
  forProducts(op, x.type.shape, w.type.shape, y.type.shape, [&](int64_t o, int64_t a, int64_t b) {
    sums[o].addProduct(x.values[a], x.bounds[a], w.values[b], w.bounds[b]);
  });
  int yf = positionOf(op.outputDims, kSecond);
  for (Counter o(y.type.shape); !o.done(); o.next()) {
    int64_t at = linear(y.type.shape, *o);
    if (op.operands.size() > 2)
      sums[at].add(env[op.operands[2]].values[(*o)[yf]], env[op.operands[2]].bounds[(*o)[yf]]);
    sums[at].finish(acc);
    set(y, at, sums[at].value, sums[at].error, acc);
  }
}

void pool(const Op &op, const std::vector<Tensor> &env, Tensor &y) {
  const Tensor &x = env[op.operands[0]];
  int64_t window = count(tapShape(op));
  DType acc = accumulation(x.type.dtype);
  struct State {
    Sum sum;
    double most = -HUGE_VAL, bound = 0;
  };
  std::vector<State> states(y.values.size());
  forTaps(op, x.type.shape, y.type.shape, [&](int64_t o, int64_t a) {
    State &s = states[o];
    s.sum.add(x.values[a], x.bounds[a]);
    if (!std::isnan(s.most) && !(x.values[a] <= s.most))
      s.most = x.values[a];
    s.bound = std::max(s.bound, x.bounds[a]);
  });
  for (size_t o = 0; o < states.size(); ++o) {
    State &s = states[o];
    int64_t taps = op.pool == Pool::Avg ? s.sum.terms : window;
    s.sum.finish(acc);
    if (op.pool == Pool::Max)
      set(y, o, s.most, s.bound, acc);
    else if (op.pool == Pool::Sum)
      set(y, o, s.sum.value, s.sum.error, acc);
    else
      set(y, o, taps ? s.sum.value / double(taps) : 0, taps ? s.sum.error / double(taps) : 0, acc);
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

/// Result elements that are elements of the operand.
void move(const Op &op, const Tensor &x, Tensor &y) {
  for (Counter o(y.type.shape); !o.done(); o.next()) {
    int64_t at = linear(y.type.shape, *o), source = linear(x.type.shape, sourceOf(op, *o));
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
      int64_t at = linear(y.type.shape, placeOf(op, *i, behind)), source = linear(x.type.shape, *i);
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
  case Kind::Broadcast:
  case Kind::Slice:
    return move(op, env[op.operands[0]], y);
  case Kind::Concat:
  case Kind::Pad:
    return place(op, env, y);
  }
}
} // namespace

Tensor randprog::makeSeed(const Program &p, int i, const Type &type) {
  Tensor t = makeTensor(type);
  for (size_t at = 0; at < t.values.size(); ++at) {
    Random random(p.seed * 7919 + uint64_t(i) * 104729 + at);
    random.next();
    t.values[at] = double(random.between(-2, 2));
  }
  return t;
}

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
