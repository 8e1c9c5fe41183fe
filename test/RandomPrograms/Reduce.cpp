// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Smaller programs of a failing one. Candidates may be invalid: the caller
// drops those.
#include "Program.h"

#include <algorithm>
#include <functional>

using namespace randprog;

/// Erases what no result needs.
static void dropUnused(Program &p) {
  int arguments = int(p.arguments.size()), values = p.numValues();
  std::vector<bool> used(values);
  for (const Result &r : p.results)
    used[r.value] = true;
  for (int v = values - 1; v >= arguments; --v)
    if (used[v])
      for (int operand : p.ops[v - arguments].operands)
        used[operand] = true;
  std::vector<int> number(values, -1);
  Program out = p;
  out.arguments.clear();
  out.ops.clear();
  int next = 0;
  for (int v = 0; v < values; ++v)
    if (used[v])
      number[v] = next++;
  for (int v = 0; v < values; ++v)
    if (used[v] && v < arguments)
      out.arguments.push_back(p.arguments[v]);
    else if (used[v])
      out.ops.push_back(p.ops[v - arguments]);
  for (Op &op : out.ops)
    for (int &operand : op.operands)
      operand = number[operand];
  for (Result &r : out.results)
    r.value = number[r.value];
  p = out;
}

/// Every sharding of the program.
static void forShardings(Program &p, const std::function<void(Sharding &)> &each) {
  for (Argument &a : p.arguments)
    if (a.sharding)
      each(*a.sharding);
  for (Op &op : p.ops)
    if (op.kind == Kind::Reshard)
      each(op.sharding);
  for (Result &r : p.results)
    if (r.sharding)
      each(*r.sharding);
}

namespace {
struct Maker {
  const Program &from;
  std::vector<Program> out;

  void make(const std::function<void(Program &)> &change) {
    Program p = from;
    change(p);
    dropUnused(p);
    out.push_back(std::move(p));
  }

  void ops() {
    int arguments = int(from.arguments.size());
    for (int v = arguments; v < from.numValues(); ++v) {
      // Stop at this value.
      if (from.results.size() > 1 || from.results[0].value != v)
        make([&](Program &p) { p.results = {{v, std::nullopt}}; });
      const Op &op = from.ops[v - arguments];
      // Pass operands through.
      for (int operand : op.operands)
        make([&](Program &p) {
          for (Op &user : p.ops)
            for (int &o : user.operands)
              o = o == v ? operand : o;
          for (Result &r : p.results)
            r.value = r.value == v ? operand : r.value;
        });
      // The value becomes an argument.
      if (auto types = infer(from); types && from.ops.size() > 1)
        make([&](Program &p) {
          for (Op &user : p.ops)
            for (int &o : user.operands)
              o = o == v ? 0 : o >= 0 ? o + 1 : o;
          for (Result &r : p.results)
            r.value = r.value == v ? 0 : r.value + 1;
          p.arguments.insert(p.arguments.begin(), {(*types)[v].dtype, (*types)[v].shape, std::nullopt});
        });
    }
    for (size_t i = 0; from.results.size() > 1 && i < from.results.size(); ++i)
      make([&](Program &p) { p.results.erase(p.results.begin() + i); });
  }

  void mesh() {
    for (size_t a = 0; a < from.mesh.extents.size(); ++a)
      make([&](Program &p) {
        p.mesh.deviceIds.clear();
        p.mesh.extents.erase(p.mesh.extents.begin() + a);
        p.mesh.names.erase(p.mesh.names.begin() + a);
        forShardings(p, [&](Sharding &s) {
          for (DimCut &d : s) {
            size_t before = d.axes.size();
            d.axes.erase(std::remove(d.axes.begin(), d.axes.end(), int(a)), d.axes.end());
            if (before != d.axes.size())
              d.cuts.clear();
            for (int &axis : d.axes)
              axis -= axis > int(a);
          }
        });
      });
    for (size_t a = 0; a < from.mesh.extents.size(); ++a)
      if (from.mesh.extents[a] > 1)
        make([&](Program &p) {
          p.mesh.deviceIds.clear();
          --p.mesh.extents[a];
          forShardings(p, [&](Sharding &s) {
            for (DimCut &d : s)
              if (!d.cuts.empty() && std::count(d.axes.begin(), d.axes.end(), int(a)))
                d.cuts.clear();
          });
        });
    if (!from.mesh.deviceIds.empty())
      make([](Program &p) { p.mesh.deviceIds.clear(); });
  }

  void shardings() {
    for (size_t i = 0; i < from.arguments.size(); ++i) {
      if (!from.arguments[i].sharding)
        continue;
      make([&](Program &p) { p.arguments[i].sharding.reset(); });
      for (size_t d = 0; d < from.arguments[i].sharding->size(); ++d) {
        if (!(*from.arguments[i].sharding)[d].axes.empty())
          make([&](Program &p) { (*p.arguments[i].sharding)[d] = {}; });
        if (!(*from.arguments[i].sharding)[d].cuts.empty())
          make([&](Program &p) { (*p.arguments[i].sharding)[d].cuts.clear(); });
      }
    }
    for (size_t i = 0; i < from.results.size(); ++i)
      if (from.results[i].sharding) {
        make([&](Program &p) { p.results[i].sharding.reset(); });
        make([&](Program &p) {
          for (DimCut &d : *p.results[i].sharding)
            d.cuts.clear();
        });
      }
  }

  /// One dimension number at a time: the sizes of arguments follow.
  void sizes() {
    for (size_t i = 0; i < from.arguments.size(); ++i)
      for (size_t d = 0; d < from.arguments[i].shape.size(); ++d)
        for (int64_t to : {int64_t(1), from.arguments[i].shape[d] / 2, from.arguments[i].shape[d] - 1})
          if (to >= 1 && to < from.arguments[i].shape[d])
            make([&](Program &p) {
              p.arguments[i].shape[d] = to;
              if (p.arguments[i].sharding)
                (*p.arguments[i].sharding)[d].cuts.clear();
            });
  }

  void words() {
    for (size_t i = 0; i < from.ops.size(); ++i) {
      const Op &op = from.ops[i];
      if (op.operands.size() > 2)
        make([&](Program &p) { p.ops[i].operands.pop_back(); });
      for (size_t n = 0; n < op.windows.size(); ++n) {
        auto set = [&](int64_t Window::*field, int64_t neutral) {
          if (op.windows[n].*field != neutral)
            make([&](Program &p) { p.ops[i].windows[n].*field = neutral; });
        };
        set(&Window::stride, 1);
        set(&Window::dilation, 1);
        set(&Window::base, 1);
        set(&Window::low, 0);
        set(&Window::high, 0);
        if (op.windows[n].reverse)
          make([&](Program &p) { p.ops[i].windows[n].reverse = false; });
        if (op.windows[n].border != Border::Zero)
          make([&](Program &p) { p.ops[i].windows[n].border = Border::Zero; });
      }
    }
    for (size_t i = 0; i < from.arguments.size(); ++i) {
      if (from.arguments[i].parameter)
        make([&](Program &p) { p.arguments[i].parameter = false; });
      if (from.arguments[i].fill != Argument::Integers)
        make([&](Program &p) { p.arguments[i].fill = Argument::Integers; });
    }
    if (from.vectorize)
      make([](Program &p) { p.vectorize = false; });
    if (from.overlap)
      make([](Program &p) { p.overlap = p.alwaysOverlap = false; });
    if (from.alwaysOverlap)
      make([](Program &p) { p.alwaysOverlap = false; });
    if (from.merge)
      make([](Program &p) { p.merge = false; });
    if (from.single)
      make([](Program &p) { p.single = false; });
    if (from.twice)
      make([](Program &p) { p.twice = false; });
  }
};
} // namespace

std::vector<Program> randprog::smaller(const Program &program) {
  Maker maker{program, {}};
  maker.ops();
  maker.mesh();
  maker.shardings();
  maker.sizes();
  maker.words();
  return std::move(maker.out);
}
