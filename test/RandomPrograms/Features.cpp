// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Program.h"

#include <algorithm>
#include <set>

using namespace randprog;

namespace {
struct Collector {
  const Program &p;
  const std::vector<Type> &types;
  std::set<std::string> seen;

  void windows(const Op &op) {
    static const char *borders[] = {"", "border circular", "border reflect", "border replicate"};
    int spatial = int(op.windows.size());
    seen.insert("spatial dims " + std::to_string(std::min(spatial, 5)));
    for (int n = 0; n < spatial; ++n) {
      const Window &w = op.windows[n];
      int64_t size = types[op.operands[0]].shape[positionOf(op.inputDims, n)];
      if (w.border == Border::Circular && std::max(w.low, w.high) > size)
        seen.insert("several periods");
      int64_t reach = (w.size - 1) * w.dilation + 1;
      if (w.stride > 1)
        seen.insert("stride");
      if (w.stride > reach)
        seen.insert("stride above the kernel");
      if (w.dilation > 1 && w.size > 1)
        seen.insert("kernel dilation");
      if (w.base > 1)
        seen.insert("base dilation");
      if (w.size % 2 == 0)
        seen.insert("even kernel");
      if (w.low != w.high)
        seen.insert("asymmetric padding");
      if (w.low < 0 || w.high < 0)
        seen.insert("negative padding");
      if (w.low >= reach || w.high >= reach)
        seen.insert("padding of a kernel or more");
      if (w.reverse && w.size > 1)
        seen.insert("reverse");
      if (w.border != Border::Zero && (w.low > 0 || w.high > 0))
        seen.insert(borders[int(w.border)]);
    }
    Dims plain{kFirst, kSecond}, last{kFirst};
    for (int n = 0; n < spatial; ++n) {
      plain.push_back(n);
      last.push_back(n);
    }
    last.push_back(kSecond);
    seen.insert(op.inputDims == plain ? "layout NCHW" : op.inputDims == last ? "layout NHWC" : "layout other");
  }

  void conv(const Op &op) {
    windows(op);
    const Type &x = types[op.operands[0]];
    if (op.featureGroups > 1)
      seen.insert("feature groups");
    if (op.featureGroups > 1 && op.featureGroups == x.shape[positionOf(op.inputDims, kSecond)])
      seen.insert("depthwise");
    if (op.batchGroups > 1)
      seen.insert("batch groups");
    if (op.operands.size() > 2)
      seen.insert("bias");
    if (op.result != x.dtype)
      seen.insert("result in the accumulation type");
    const Sharding *w = shardingOf(op.operands[1]), *in = shardingOf(op.operands[0]);
    auto cut = [](const Sharding *s, int d) { return s && !(*s)[d].axes.empty(); };
    if (cut(w, positionOf(op.filterDims, kFirst)))
      seen.insert("cut output channels");
    if (cut(w, positionOf(op.filterDims, kSecond)) || cut(in, positionOf(op.inputDims, kSecond)))
      seen.insert("cut input channels");
    for (size_t n = 0; n < op.windows.size(); ++n)
      if (cut(w, positionOf(op.filterDims, int(n))))
        seen.insert("cut window");
  }

  const Sharding *shardingOf(int value) {
    if (value >= int(p.arguments.size()))
      return nullptr;
    return p.arguments[value].sharding ? &*p.arguments[value].sharding : nullptr;
  }

  void sharding(const Sharding &s, const Shape &shape) {
    int cut = 0;
    for (size_t d = 0; d < s.size(); ++d) {
      if (s[d].axes.empty())
        continue;
      cut += partsOf(p.mesh, s[d]) > 1;
      if (s[d].axes.size() > 1)
        seen.insert("one dim over several axes");
      if (!std::is_sorted(s[d].axes.begin(), s[d].axes.end()))
        seen.insert("axis order");
      if (!s[d].cuts.empty())
        seen.insert("explicit cuts");
      std::vector<int64_t> bounds = boundsOf(p.mesh, s[d], shape[d]);
      std::set<int64_t> sizes;
      for (size_t i = 1; i < bounds.size(); ++i)
        sizes.insert(bounds[i] - bounds[i - 1]);
      seen.insert(sizes.size() > 1 ? "uneven cuts" : "even cuts");
      if (sizes.count(0))
        seen.insert("empty cuts");
    }
    if (cut > 1)
      seen.insert("several dims cut");
  }
};
} // namespace

void randprog::addFeatures(const Program &p, const std::vector<Type> &types, Features &features) {
  static const char *pools[] = {"pool max", "pool sum", "pool avg", "pool avg count_padding"};
  Collector c{p, types, {}};
  for (const Op &op : p.ops) {
    if (op.kind == Kind::Conv)
      c.conv(op);
    if (op.kind == Kind::Pool) {
      c.windows(op);
      c.seen.insert(pools[int(op.pool)]);
    }
    if (op.kind == Kind::Reshard)
      c.seen.insert("reshard");
    if (op.kind == Kind::Unary || op.kind == Kind::Binary)
      c.seen.insert("elementwise");
    if (op.kind == Kind::Transpose || op.kind == Kind::Broadcast)
      c.seen.insert("transpose or broadcast");
    if (op.kind == Kind::Slice || op.kind == Kind::Concat || op.kind == Kind::Pad)
      c.seen.insert("slice, concat or pad");
    if (op.kind == Kind::Reshard)
      c.sharding(op.sharding, types[op.operands[0]].shape);
  }
  for (const Type &type : types)
    c.seen.insert(std::string("type ") + dtypeName(type.dtype));
  for (const Argument &a : p.arguments) {
    if (a.sharding)
      c.sharding(*a.sharding, a.shape);
    static const char *fills[] = {"values integers", "values fractions", "values with inf and nan"};
    c.seen.insert(fills[int(a.fill)]);
    if (a.parameter)
      c.seen.insert("parameters");
  }
  for (const Result &r : p.results) {
    if (r.sharding)
      c.sharding(*r.sharding, types[r.value].shape);
    else
      c.seen.insert("result without annotation");
  }
  if (p.results.size() > 1)
    c.seen.insert("several results");
  if (p.ops.size() > 1)
    c.seen.insert("chain of 2 to 5");
  c.seen.insert("mesh axes " + std::to_string(p.mesh.extents.size()));
  c.seen.insert("ranks " + std::to_string(p.mesh.size()));
  if (!p.mesh.deviceIds.empty())
    c.seen.insert("device ids");
  if (p.single)
    c.seen.insert("compared with one rank");
  c.seen.insert(p.vectorize ? "vectorised" : "plain loops");
  c.seen.insert(p.alwaysOverlap ? "overlap always" : p.overlap ? "overlap where it pays" : "overlap off");
  c.seen.insert(p.merge ? "merged halos on" : "merged halos off");
  for (const std::string &name : c.seen)
    ++features[name];
}

const std::vector<std::string> &randprog::requiredFeatures() {
  static const std::vector<std::string> names = {"spatial dims 0",
                                                 "spatial dims 1",
                                                 "spatial dims 2",
                                                 "spatial dims 3",
                                                 "spatial dims 4",
                                                 "spatial dims 5",
                                                 "stride",
                                                 "kernel dilation",
                                                 "base dilation",
                                                 "even kernel",
                                                 "reverse",
                                                 "asymmetric padding",
                                                 "negative padding",
                                                 "border circular",
                                                 "border reflect",
                                                 "border replicate",
                                                 "several periods",
                                                 "padding of a kernel or more",
                                                 "uneven cuts",
                                                 "explicit cuts",
                                                 "empty cuts",
                                                 "several hops",
                                                 "corners",
                                                 "axis order",
                                                 "device ids",
                                                 "one dim over several axes",
                                                 "feature groups",
                                                 "batch groups",
                                                 "depthwise",
                                                 "cut input channels",
                                                 "cut output channels",
                                                 "cut window",
                                                 "reshard",
                                                 "bias",
                                                 "pool max",
                                                 "pool sum",
                                                 "pool avg",
                                                 "pool avg count_padding",
                                                 "type f64",
                                                 "type f32",
                                                 "type f16",
                                                 "type bf16",
                                                 "type i8",
                                                 "type i32",
                                                 "elementwise",
                                                 "messages counted",
                                                 "chain of 2 to 5"};
  return names;
}
