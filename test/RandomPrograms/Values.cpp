// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Element types, meshes, windows: the few rules everything else stands on,
// written down once more, from the specification.
#include "Program.h"

#include <algorithm>
#include <cmath>

using namespace randprog;

const char *randprog::dtypeName(DType type) {
  static const char *names[] = {"f64", "f32", "f16", "bf16", "i8", "i32"};
  return names[int(type)];
}
bool randprog::isFloat(DType type) { return type != DType::I8 && type != DType::I32; }

DType randprog::accumulation(DType type) {
  if (type == DType::F16 || type == DType::BF16)
    return DType::F32;
  return type == DType::I8 ? DType::I32 : type;
}

double randprog::epsilon(DType type) {
  static const double eps[] = {0x1p-52, 0x1p-23, 0x1p-10, 0x1p-7, 0, 0};
  return eps[int(type)];
}

/// `digits` binary digits, no value smaller than 2^lowest, none above `most`.
static double roundFloat(double v, int digits, int lowest, double most) {
  if (!std::isfinite(v) || v == 0)
    return v;
  int exponent;
  std::frexp(v, &exponent);
  double step = std::ldexp(1.0, std::max(exponent - digits, lowest));
  double rounded = std::nearbyint(v / step) * step;
  return std::fabs(rounded) > most ? std::copysign(HUGE_VAL, v) : rounded;
}

double randprog::roundTo(DType type, double v) {
  switch (type) {
  case DType::F64:
    return v;
  case DType::F32:
    return float(v);
  case DType::F16:
    return roundFloat(v, 11, -24, 65504);
  case DType::BF16:
    return roundFloat(v, 8, -133, 0x1.fep127);
  case DType::I8:
    return int8_t(int64_t(v));
  case DType::I32:
    return int32_t(int64_t(v));
  }
  return v;
}

int64_t randprog::count(const Shape &shape) {
  int64_t n = 1;
  for (int64_t s : shape)
    n *= s;
  return n;
}

int64_t Mesh::size() const { return count(extents); }

int64_t Mesh::coordinate(int64_t position, int axis) const {
  for (int a = int(extents.size()) - 1; a > axis; --a)
    position /= extents[a];
  return position % extents[axis];
}

int64_t randprog::partsOf(const Mesh &mesh, const DimCut &cut) {
  int64_t parts = 1;
  for (int axis : cut.axes)
    parts *= mesh.extents[axis];
  return parts;
}

std::vector<int64_t> randprog::boundsOf(const Mesh &mesh, const DimCut &cut, int64_t size) {
  if (!cut.cuts.empty())
    return cut.cuts;
  int64_t parts = partsOf(mesh, cut);
  std::vector<int64_t> bounds{0};
  for (int64_t p = 0; p < parts; ++p)
    bounds.push_back(bounds.back() + size / parts + (p < size % parts));
  return bounds;
}

std::pair<int64_t, int64_t> randprog::partOf(const Mesh &mesh, const DimCut &cut, int64_t size, int64_t position) {
  int64_t part = 0;
  for (int axis : cut.axes)
    part = part * mesh.extents[axis] + mesh.coordinate(position, axis);
  std::vector<int64_t> bounds = boundsOf(mesh, cut, size);
  return {bounds[part], bounds[part + 1]};
}

// ===--------------------------------------------------------------------=== //
// Windows
// ===--------------------------------------------------------------------=== //

static int64_t dilated(int64_t size, int64_t step) { return size == 0 ? 0 : (size - 1) * step + 1; }

int64_t randprog::outputs(const Window &w, int64_t size) {
  int64_t padded = dilated(size, w.base) + w.low + w.high, reach = dilated(w.size, w.dilation);
  return padded <= 0 || reach > padded ? 0 : (padded - reach) / w.stride + 1;
}

/// Base dilation first, then padding or cropping; a border mode continues what
/// cropping left.
int64_t randprog::elementOf(const Window &w, int64_t size, int64_t o, int64_t t) {
  int64_t position = o * w.stride + t * w.dilation - w.low;
  if (w.border == Border::Zero)
    return position >= 0 && position < dilated(size, w.base) && position % w.base == 0 ? position / w.base : -1;
  int64_t first = std::max<int64_t>(0, -w.low), n = size - std::max<int64_t>(0, -w.high) - first;
  position -= first;
  if (w.border == Border::Circular)
    position = ((position % n) + n) % n;
  else if (w.border == Border::Replicate)
    position = std::clamp<int64_t>(position, 0, n - 1);
  else if (position < 0)
    position = -position;
  else if (position >= n)
    position = 2 * n - 2 - position;
  return position + first;
}

bool randprog::validWindow(const Window &w, int64_t size) {
  if (w.size < 1 || w.stride < 1 || w.base < 1 || w.dilation < 1 || size < 1)
    return false;
  if (w.border == Border::Zero)
    return true;
  int64_t left = size - std::max<int64_t>(0, -w.low) - std::max<int64_t>(0, -w.high), pad = std::max(w.low, w.high);
  if (w.base != 1 || left < 1)
    return false;
  return w.border != Border::Reflect || pad <= 0 || pad < left;
}

int randprog::positionOf(const Dims &dims, int number) {
  auto it = std::find(dims.begin(), dims.end(), number);
  return it == dims.end() ? -1 : int(it - dims.begin());
}
