// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops over indices, sums with what is known of their error, and what windows
// read: shared by the evaluation of programs and of their gradients.
#ifndef RINGCONV_TEST_RANDOMPROGRAMS_EVALUATE_H
#define RINGCONV_TEST_RANDOMPROGRAMS_EVALUATE_H

#include "Program.h"

#include <cmath>

namespace randprog {

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

inline int64_t linear(const Shape &shape, const Shape &index) {
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
  void addProduct(double u, double eu, double v, double ev) {
    add(u * v, eu > 0 || ev > 0 ? std::fabs(u) * ev + std::fabs(v) * eu + eu * ev : 0);
  }
  /// Adds what any order of additions in `type` may lose.
  void finish(DType type) {
    double limit = type == DType::F64 ? 0x1p53 : 0x1p24;
    if (isFloat(type) && (!integers || error > 0 || !(magnitude <= limit)))
      error += (terms + 2) * epsilon(type) * magnitude;
  }
};

inline void set(Tensor &t, int64_t at, double value, double bound, DType through) {
  DType type = t.type.dtype;
  double v = roundTo(type, isFloat(type) ? roundTo(through, value) : value);
  if (!std::isfinite(v))
    bound = 0;
  else if (bound > 0)
    bound += epsilon(type) * std::fabs(v) + (type == DType::F16 ? 0x1p-24 : 0);
  t.values[at] = v;
  t.bounds[at] = bound;
}

inline Tensor makeTensor(const Type &type) {
  size_t n = size_t(count(type.shape));
  return {type, std::vector<double>(n), std::vector<double>(n)};
}

/// Where the dimensions with a spatial number stand.
inline Shape spatialPart(const Op &op, const Dims &dims, const Shape &index) {
  Shape part;
  for (size_t n = 0; n < op.windows.size(); ++n)
    part.push_back(index[positionOf(dims, int(n))]);
  return part;
}

inline Shape tapShape(const Op &op) {
  Shape shape;
  for (const Window &w : op.windows)
    shape.push_back(w.size);
  return shape;
}

/// Sets the spatial entries of `index` to what the taps read; false if one
/// reads nothing.
inline bool readAt(const Op &op, const Shape &input, const Shape &out, const Shape &taps, Shape &index) {
  for (size_t n = 0; n < op.windows.size(); ++n) {
    int d = positionOf(op.inputDims, int(n));
    index[d] = elementOf(op.windows[n], input[d], out[n], taps[n]);
    if (index[d] < 0)
      return false;
  }
  return true;
}

/// Calls `each(output, input element, filter element)` for the products of a
/// convolution, one output after the other.
template <typename Each> void forProducts(const Op &op, const Shape &xs, const Shape &ws, const Shape &ys, Each each) {
  int64_t outs = ws[positionOf(op.filterDims, kFirst)], ins = ws[positionOf(op.filterDims, kSecond)];
  int64_t batch = ys[positionOf(op.outputDims, kFirst)];
  for (Counter o(ys); !o.done(); o.next()) {
    int64_t feature = (*o)[positionOf(op.outputDims, kSecond)];
    int64_t featureGroup = feature / (outs / op.featureGroups), batchGroup = feature / (outs / op.batchGroups);
    Shape at = spatialPart(op, op.outputDims, *o), xi(xs.size()), wi(ws.size());
    xi[positionOf(op.inputDims, kFirst)] = batchGroup * batch + (*o)[positionOf(op.outputDims, kFirst)];
    wi[positionOf(op.filterDims, kFirst)] = feature;
    for (Counter t(tapShape(op)); !t.done(); t.next()) {
      if (!readAt(op, xs, at, *t, xi))
        continue;
      for (size_t n = 0; n < op.windows.size(); ++n)
        wi[positionOf(op.filterDims, int(n))] = op.windows[n].reverse ? op.windows[n].size - 1 - (*t)[n] : (*t)[n];
      for (int64_t i = 0; i < ins; ++i) {
        xi[positionOf(op.inputDims, kSecond)] = featureGroup * ins + i;
        wi[positionOf(op.filterDims, kSecond)] = i;
        each(linear(ys, *o), linear(xs, xi), linear(ws, wi));
      }
    }
  }
}

/// Calls `each(output, input element)` for the taps of a pool that read one, in
/// row-major order for each output.
template <typename Each> void forTaps(const Op &op, const Shape &xs, const Shape &ys, Each each) {
  for (Counter o(ys); !o.done(); o.next()) {
    Shape at = spatialPart(op, op.outputDims, *o), xi(xs.size());
    for (int letter : {kFirst, kSecond})
      if (int d = positionOf(op.inputDims, letter); d >= 0)
        xi[d] = (*o)[positionOf(op.outputDims, letter)];
    for (Counter t(tapShape(op)); !t.done(); t.next())
      if (readAt(op, xs, at, *t, xi))
        each(linear(ys, *o), linear(xs, xi));
  }
}

/// The element of the operand that a transpose, broadcast or slice puts at `o`.
inline Shape sourceOf(const Op &op, const Shape &o) {
  Shape index(op.kind == Kind::Broadcast ? op.order.size() : o.size());
  for (size_t d = 0; d < index.size(); ++d)
    if (op.kind == Kind::Broadcast)
      index[d] = o[op.order[d]];
    else if (op.kind == Kind::Slice)
      index[d] = op.offsets[d] + o[d] * op.strides[d];
  for (size_t d = 0; op.kind == Kind::Transpose && d < o.size(); ++d)
    index[op.order[d]] = o[d];
  return index;
}

/// Where a pad or a concatenation puts element `i` of an operand; `behind`: what
/// the operands before it take of a concatenation.
inline Shape placeOf(const Op &op, Shape i, int64_t behind) {
  for (size_t d = 0; d < i.size(); ++d)
    i[d] += op.kind == Kind::Pad ? op.offsets[d] : int(d) == op.order[0] ? behind : 0;
  return i;
}

} // namespace randprog

#endif
