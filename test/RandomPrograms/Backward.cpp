// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gradients of a program, by its definition turned round: each operation is
// walked as it is forward, output by output, and what its output is worth is
// added to what it read. Beside each value stands a bound, as in Evaluate.cpp;
// where a choice (a maximum) is not certain, all that hangs on it is in doubt.
#include "Evaluate.h"

#include <algorithm>
#include <cmath>

using namespace randprog;

namespace {
class Backward {
public:
  Backward(const Program &p, const std::vector<Tensor> &env, std::vector<bool> wanted)
      : p(p), env(env), wanted(std::move(wanted)), totals(env.size()) {
    for (size_t v = 0; v < env.size(); ++v)
      totals[v].resize(env[v].values.size());
  }

  void seed(int value, const Tensor &dy) {
    addTo(value, [&](std::vector<Sum> &sums) { take(sums, dy); });
  }

  void run() {
    for (int v = p.numValues(); v-- > int(p.arguments.size());)
      if (wanted[v])
        pullBack(p.ops[v - p.arguments.size()], v, gradient(v));
  }

  Tensor gradient(int value) const {
    Tensor g = makeTensor(env[value].type);
    for (size_t i = 0; i < g.values.size(); ++i) {
      Sum sum = totals[value][i];
      sum.finish(g.type.dtype);
      set(g, i, sum.value, sum.error, g.type.dtype);
    }
    return g;
  }

private:
  static void take(std::vector<Sum> &sums, const Tensor &dy) {
    for (size_t i = 0; i < sums.size(); ++i)
      sums[i].add(dy.values[i], dy.bounds[i]);
  }

  /// One operation's part in the gradient of `value`, rounded on its own.
  template <typename Fill> void addTo(int value, Fill fill) {
    if (!wanted[value])
      return;
    DType type = env[value].type.dtype, acc = accumulation(type);
    std::vector<Sum> part(totals[value].size());
    fill(part);
    for (size_t i = 0; i < part.size(); ++i) {
      part[i].finish(acc);
      double v = roundTo(type, part[i].value), e = part[i].error;
      if (v != part[i].value || e > 0)
        e += epsilon(type) * std::fabs(v) + (type == DType::F16 ? 0x1p-24 : 0);
      totals[value][i].add(v, e);
    }
  }

  void conv(const Op &op, const Tensor &dy) {
    const Tensor &x = env[op.operands[0]], &w = env[op.operands[1]];
    // Products are of the operands' type.
    Tensor factor = makeTensor({x.type.dtype, dy.type.shape});
    for (size_t i = 0; i < dy.values.size(); ++i) {
      double v = roundTo(x.type.dtype, dy.values[i]);
      bool exact = v == dy.values[i] && dy.bounds[i] == 0;
      factor.values[i] = v;
      factor.bounds[i] = exact ? 0 : dy.bounds[i] + epsilon(x.type.dtype) * std::fabs(v);
    }
    auto products = [&](auto each) { forProducts(op, x.type.shape, w.type.shape, dy.type.shape, each); };
    addTo(op.operands[0], [&](std::vector<Sum> &dx) {
      products([&](int64_t o, int64_t a, int64_t b) {
        dx[a].addProduct(factor.values[o], factor.bounds[o], w.values[b], w.bounds[b]);
      });
    });
    addTo(op.operands[1], [&](std::vector<Sum> &dw) {
      products([&](int64_t o, int64_t a, int64_t b) {
        dw[b].addProduct(factor.values[o], factor.bounds[o], x.values[a], x.bounds[a]);
      });
    });
    if (op.operands.size() > 2)
      addTo(op.operands[2], [&](std::vector<Sum> &db) {
        for (Counter o(dy.type.shape); !o.done(); o.next()) {
          int64_t at = linear(dy.type.shape, *o);
          db[(*o)[positionOf(op.outputDims, kSecond)]].add(dy.values[at], dy.bounds[at]);
        }
      });
  }

  /// Each output goes to the first of its largest taps. Where another tap may be
  /// the largest, nothing is certain of both.
  void maxPool(const Op &op, const Tensor &dy) {
    const Tensor &x = env[op.operands[0]];
    std::vector<int64_t> first(dy.values.size(), -1);
    auto taps = [&](auto each) { forTaps(op, x.type.shape, dy.type.shape, each); };
    taps([&](int64_t o, int64_t a) {
      if (first[o] < 0 || x.values[a] > x.values[first[o]])
        first[o] = a;
    });
    addTo(op.operands[0], [&](std::vector<Sum> &dx) {
      for (size_t o = 0; o < first.size(); ++o)
        if (first[o] >= 0)
          dx[first[o]].add(dy.values[o], dy.bounds[o]);
      taps([&](int64_t o, int64_t a) {
        double doubt = x.bounds[a] + x.bounds[first[o]];
        if (a == first[o] || doubt == 0 || x.values[first[o]] - x.values[a] > doubt)
          return;
        for (int64_t either : {a, first[o]})
          dx[either].add(0, std::fabs(dy.values[o]) + dy.bounds[o]);
      });
    });
  }

  void sumPool(const Op &op, const Tensor &dy) {
    const Tensor &x = env[op.operands[0]];
    DType type = x.type.dtype, acc = accumulation(type);
    std::vector<double> divisor(dy.values.size(), op.pool == Pool::AvgPadding ? double(count(tapShape(op))) : 0);
    auto taps = [&](auto each) { forTaps(op, x.type.shape, dy.type.shape, each); };
    if (op.pool == Pool::Avg)
      taps([&](int64_t o, int64_t) { ++divisor[o]; });
    addTo(op.operands[0], [&](std::vector<Sum> &dx) {
      taps([&](int64_t o, int64_t a) {
        if (op.pool == Pool::Sum)
          return dx[a].add(dy.values[o], dy.bounds[o]);
        double share = roundTo(type, roundTo(acc, dy.values[o] / divisor[o]));
        double error = dy.bounds[o] / divisor[o];
        if (share * divisor[o] != dy.values[o])
          error += (epsilon(acc) + epsilon(type)) * std::fabs(share) + (type == DType::F16 ? 0x1p-24 : 0);
        dx[a].add(share, error);
      });
    });
  }

  /// dy * slope, where the slope at x may be off by `doubt`.
  void unary(const Op &op, const Tensor &dy, const Tensor &y) {
    const Tensor &x = env[op.operands[0]];
    double ulps = 8 * epsilon(x.type.dtype);
    addTo(op.operands[0], [&](std::vector<Sum> &dx) {
      for (size_t i = 0; i < dx.size(); ++i) {
        double v = x.values[i], e = x.bounds[i], sign = (v > 0) - (v < 0);
        bool nearZero = e > 0 && std::fabs(v) <= e;
        if (op.word == "neg")
          dx[i].add(-dy.values[i], dy.bounds[i]);
        else if (op.word == "relu")
          dx[i].addProduct(dy.values[i], dy.bounds[i], v > 0, nearZero);
        else if (op.word == "absf")
          dx[i].addProduct(dy.values[i], dy.bounds[i], sign, nearZero ? 2 : 0);
        else if (op.word == "tanh") {
          double slope = 1 - y.values[i] * y.values[i];
          dx[i].addProduct(dy.values[i], dy.bounds[i], slope, 2 * y.bounds[i] + ulps);
        } else if (op.word == "expneg") // of -|x|
          dx[i].addProduct(dy.values[i], dy.bounds[i], -sign * y.values[i],
                           nearZero ? 2
                           : v != 0 ? y.bounds[i] + ulps * y.values[i]
                                    : 0);
        else // square root of |x|: slope sign / (2 y)
          dx[i].addProduct(dy.values[i], dy.bounds[i], v == 0 ? 0 : sign / (2 * y.values[i]),
                           nearZero ? HUGE_VAL
                           : v == 0 ? 0
                                    : (ulps + y.bounds[i] / y.values[i]) / y.values[i]);
      }
    });
  }

  /// Of two maxima that both want a gradient the first counts in a tie; one that
  /// alone wants it counts only where it is larger.
  void binary(const Op &op, const Tensor &dy) {
    bool both = wanted[op.operands[0]] && wanted[op.operands[1]];
    for (int side : {0, 1})
      addTo(op.operands[side], [&](std::vector<Sum> &d) {
        const Tensor &mine = env[op.operands[side]], &other = env[op.operands[1 - side]];
        for (size_t i = 0; i < d.size(); ++i) {
          double v = dy.values[i], e = dy.bounds[i];
          if (op.word == "mul")
            d[i].addProduct(v, e, other.values[i], other.bounds[i]);
          else if (op.word == "max" || op.word == "min") {
            double lead = (mine.values[i] - other.values[i]) * (op.word == "max" ? 1 : -1);
            double doubt = mine.bounds[i] + other.bounds[i];
            bool mineWins = lead > 0 || (lead == 0 && both && side == 0);
            d[i].addProduct(v, e, mineWins, doubt > 0 && std::fabs(lead) <= doubt);
          } else
            d[i].add(op.word == "sub" && side == 1 ? -v : v, e);
        }
      });
  }

  void move(const Op &op, const Tensor &dy) {
    const Shape &shape = env[op.operands[0]].type.shape;
    addTo(op.operands[0], [&](std::vector<Sum> &dx) {
      for (Counter o(dy.type.shape); !o.done(); o.next()) {
        int64_t at = linear(dy.type.shape, *o);
        dx[linear(shape, sourceOf(op, *o))].add(dy.values[at], dy.bounds[at]);
      }
    });
  }

  void place(const Op &op, const Tensor &dy) {
    int64_t behind = 0;
    for (int operand : op.operands) {
      const Shape &shape = env[operand].type.shape;
      addTo(operand, [&](std::vector<Sum> &dx) {
        for (Counter i(shape); !i.done(); i.next()) {
          int64_t at = linear(dy.type.shape, placeOf(op, *i, behind));
          dx[linear(shape, *i)].add(dy.values[at], dy.bounds[at]);
        }
      });
      behind += op.kind == Kind::Concat ? shape[op.order[0]] : 0;
    }
  }

  void pullBack(const Op &op, int value, const Tensor &dy) {
    switch (op.kind) {
    case Kind::Conv:
      return conv(op, dy);
    case Kind::Pool:
      return op.pool == Pool::Max ? maxPool(op, dy) : sumPool(op, dy);
    case Kind::Reshard:
      return addTo(op.operands[0], [&](std::vector<Sum> &sums) { take(sums, dy); });
    case Kind::Unary:
      return unary(op, dy, env[value]);
    case Kind::Binary:
      return binary(op, dy);
    case Kind::Splat:
      return;
    case Kind::Transpose:
    case Kind::Broadcast:
    case Kind::Slice:
      return move(op, dy);
    case Kind::Concat:
    case Kind::Pad:
      return place(op, dy);
    }
  }

  const Program &p;
  const std::vector<Tensor> &env;
  std::vector<bool> wanted;
  std::vector<std::vector<Sum>> totals;
};
} // namespace

/// The second operand of a broadcast only gives its shape.
static std::vector<int> operandsRead(const Op &op) {
  return op.kind == Kind::Broadcast ? std::vector<int>{op.operands[0]} : op.operands;
}

std::vector<int> randprog::gradientArguments(const Program &p) {
  std::vector<int> marked, floats;
  for (size_t i = 0; i < p.arguments.size(); ++i) {
    if (!isFloat(p.arguments[i].type))
      continue;
    floats.push_back(int(i));
    if (p.arguments[i].wantsGrad)
      marked.push_back(int(i));
  }
  return marked.empty() ? floats : marked;
}

std::vector<Tensor> randprog::gradients(const Program &p, const std::vector<Tensor> &env,
                                        const std::vector<Tensor> &seeds) {
  std::vector<bool> wanted(p.numValues(), false);
  std::vector<int> sources = gradientArguments(p);
  for (int argument : sources)
    wanted[argument] = true;
  for (int v = int(p.arguments.size()); v < p.numValues(); ++v)
    for (int operand : operandsRead(p.ops[v - p.arguments.size()]))
      wanted[v] = wanted[v] || wanted[operand];
  Backward backward(p, env, wanted);
  for (size_t i = 0; i < p.results.size(); ++i)
    backward.seed(p.results[i].value, seeds[i]);
  backward.run();
  std::vector<Tensor> result;
  for (int argument : sources)
    result.push_back(backward.gradient(argument));
  return result;
}
