// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The evaluation of gradients against finite differences, in f64 and at a point
// where nothing ties: along a random direction d,
//
//   L(x + h d) - L(x - h d)  =  2 h <dL/dx, d> + O(h^3),   L = <seeds, results>.
#include "Evaluate.h"

#include <cmath>

using namespace randprog;

static Program inDoubles(Program p) {
  for (Argument &a : p.arguments)
    a.type = DType::F64;
  for (Op &op : p.ops)
    op.result = DType::F64;
  return p;
}

static double product(const Tensor &a, const Tensor &b) {
  double sum = 0;
  for (size_t i = 0; i < a.values.size(); ++i)
    sum += a.values[i] * b.values[i];
  return sum;
}

std::string randprog::compareWithDifferences(const Program &original) {
  Program p = inDoubles(original);
  std::optional<std::vector<Type>> types = infer(p);
  if (!types)
    return "";
  Random random(p.seed * 31 + 7);
  auto number = [&] { return double(random.next() >> 11) * 0x1p-52 - 1; };
  std::vector<Tensor> point, direction, seeds;
  for (const Argument &a : p.arguments) {
    point.push_back(makeTensor({DType::F64, a.shape}));
    for (double &v : point.back().values)
      v = number();
  }
  std::vector<int> sources = gradientArguments(p);
  for (int argument : sources) {
    direction.push_back(makeTensor(point[argument].type));
    for (double &v : direction.back().values)
      v = number();
  }
  for (const Result &r : p.results) {
    seeds.push_back(makeTensor((*types)[r.value]));
    for (double &v : seeds.back().values)
      v = number();
  }
  auto along = [&](double h) {
    std::vector<Tensor> moved = point;
    for (size_t s = 0; s < sources.size(); ++s)
      for (size_t i = 0; i < moved[sources[s]].values.size(); ++i)
        moved[sources[s]].values[i] += h * direction[s].values[i];
    std::vector<Tensor> values = evaluate(p, moved);
    double sum = 0;
    for (size_t r = 0; r < p.results.size(); ++r)
      sum += product(values[p.results[r].value], seeds[r]);
    return sum;
  };
  std::vector<Tensor> all = gradients(p, evaluate(p, point), seeds);
  double slope = 0, scale = 1;
  for (size_t s = 0; s < sources.size(); ++s) {
    slope += product(all[s], direction[s]);
    for (double v : all[s].values)
      scale += std::fabs(v);
  }
  double best = HUGE_VAL, value = along(0);
  // A windowless maximum is infinite, and has no differences.
  if (!std::isfinite(value) || !std::isfinite(slope))
    return "";
  for (double h : {1e-4, 1e-5, 1e-6, 1e-7})
    best = std::min(best, std::fabs((along(h) - along(-h)) / (2 * h) - slope));
  if (best <= 1e-6 * (scale + std::fabs(value)))
    return "";
  char text[160];
  snprintf(text, sizeof text, "the evaluated gradient has slope %.9g, finite differences differ by %.3g", slope, best);
  return text;
}
