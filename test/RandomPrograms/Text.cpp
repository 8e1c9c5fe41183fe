// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program as the text a user would write.
#include "Program.h"

#include <cstdio>
#include <functional>

using namespace randprog;

static std::string list(size_t n, const std::function<std::string(size_t)> &one) {
  std::string s = "[";
  for (size_t i = 0; i < n; ++i)
    s += (i ? ", " : "") + one(i);
  return s + "]";
}

static std::string numbers(const std::vector<int64_t> &values) {
  return list(values.size(), [&](size_t i) { return std::to_string(values[i]); });
}

static std::string typeText(const Type &type) {
  std::string s = "tensor<";
  for (int64_t n : type.shape)
    s += std::to_string(n) + "x";
  return s + dtypeName(type.dtype) + ">";
}

static std::string shardingText(const Mesh &mesh, const Sharding &sharding) {
  return "<@m, " +
         list(sharding.size(),
              [&](size_t d) {
                std::string s = "{";
                for (size_t i = 0; i < sharding[d].axes.size(); ++i)
                  s += (i ? ", \"" : "\"") + mesh.names[sharding[d].axes[i]] + "\"";
                if (!sharding[d].cuts.empty())
                  s += ", cuts = " + numbers(sharding[d].cuts);
                return s + "}";
              }) +
         ">";
}

static std::string dimsText(const Dims &dims, const char *first, const char *second) {
  return list(dims.size(), [&](size_t d) {
    return dims[d] >= 0 ? std::to_string(dims[d]) : std::string(dims[d] == kFirst ? first : second);
  });
}

static std::string windowText(const Op &op) {
  static const char *borders[] = {"\"zero\"", "\"circular\"", "\"reflect\"", "\"replicate\""};
  size_t n = op.windows.size();
  std::string words;
  auto word = [&](const char *name, bool neutral, const std::function<std::string(const Window &)> &one) {
    if (!neutral)
      words += (words.empty() ? "" : ", ") + std::string(name) + " = " +
               list(n, [&](size_t i) { return one(op.windows[i]); });
  };
  auto all = [&](const std::function<bool(const Window &)> &test) {
    for (const Window &w : op.windows)
      if (!test(w))
        return false;
    return true;
  };
  word("size", op.kind != Kind::Pool, [](const Window &w) { return std::to_string(w.size); });
  word("stride", all([](const Window &w) { return w.stride == 1; }),
       [](const Window &w) { return std::to_string(w.stride); });
  word("pad", all([](const Window &w) { return w.low == 0 && w.high == 0; }),
       [](const Window &w) { return "[" + std::to_string(w.low) + ", " + std::to_string(w.high) + "]"; });
  word("lhs_dilate", all([](const Window &w) { return w.base == 1; }),
       [](const Window &w) { return std::to_string(w.base); });
  word("rhs_dilate", all([](const Window &w) { return w.dilation == 1; }),
       [](const Window &w) { return std::to_string(w.dilation); });
  word("reverse", all([](const Window &w) { return !w.reverse; }),
       [](const Window &w) { return std::string(w.reverse ? "true" : "false"); });
  word("border", all([](const Window &w) { return w.border == Border::Zero; }),
       [](const Window &w) { return std::string(borders[int(w.border)]); });
  return words.empty() ? "" : " window {" + words + "}";
}

namespace {
struct Writer {
  const Program &p;
  std::vector<Type> types;
  std::string out;

  std::string name(int value) const {
    bool argument = value < int(p.arguments.size());
    return argument ? "%a" + std::to_string(value) : "%v" + std::to_string(value - p.arguments.size());
  }
  std::string type(int value) const { return typeText(types[value]); }

  void line(int value, const std::string &text) { out += "  " + name(value) + " = " + text + "\n"; }

  void conv(const Op &op, int value) {
    std::string groups;
    if (op.featureGroups > 1)
      groups = " {feature_group_count = " + std::to_string(op.featureGroups) + " : i64}";
    if (op.batchGroups > 1)
      groups = " {batch_group_count = " + std::to_string(op.batchGroups) + " : i64}";
    bool bias = op.operands.size() > 2;
    line(value, "ringconv.conv " + name(op.operands[0]) + ", " + name(op.operands[1]) +
                    (bias ? " bias " + name(op.operands[2]) : "") + " dims " + dimsText(op.inputDims, "b", "f") +
                    " x " + dimsText(op.filterDims, "o", "i") + " -> " + dimsText(op.outputDims, "b", "f") +
                    windowText(op) + groups + " : (" + type(op.operands[0]) + ", " + type(op.operands[1]) +
                    (bias ? ", " + type(op.operands[2]) : "") + ") -> " + type(value));
  }

  void pool(const Op &op, int value) {
    static const char *kinds[] = {"max ", "sum ", "avg ", "avg count_padding "};
    line(value, std::string("ringconv.pool ") + kinds[int(op.pool)] + name(op.operands[0]) + " dims " +
                    dimsText(op.inputDims, "b", "f") + " -> " + dimsText(op.outputDims, "b", "f") + windowText(op) +
                    " : " + type(op.operands[0]) + " -> " + type(value));
  }

  std::string splat(const Type &type, double number) {
    char text[40];
    snprintf(text, sizeof text, isFloat(type.dtype) ? "%.6e" : "%.0f", number);
    return "arith.constant dense<" + std::string(text) + "> : " + typeText(type);
  }

  void unary(const Op &op, int value) {
    std::string x = name(op.operands[0]), t = type(value), zero = name(value) + "z";
    bool real = isFloat(types[value].dtype);
    if (op.word == "relu" || (op.word == "neg" && !real)) {
      out += "  " + zero + " = " + splat(types[value], 0) + "\n";
      if (op.word == "relu")
        line(value, (real ? "arith.maximumf " : "arith.maxsi ") + x + ", " + zero + " : " + t);
      else
        line(value, "arith.subi " + zero + ", " + x + " : " + t);
      return;
    }
    if (op.word == "neg")
      return line(value, "arith.negf " + x + " : " + t);
    if (op.word == "expneg" || op.word == "sqrtabs") { // of -|x| and |x|
      out += "  " + zero + " = math.absf " + x + " : " + t + "\n";
      if (op.word == "sqrtabs")
        return line(value, "math.sqrt " + zero + " : " + t);
      out += "  " + zero + "n = arith.negf " + zero + " : " + t + "\n";
      return line(value, "math.exp " + zero + "n : " + t);
    }
    line(value, "math." + op.word + " " + x + " : " + t);
  }

  void binary(const Op &op, int value) {
    bool real = isFloat(types[value].dtype);
    std::string word = op.word, a = name(op.operands[0]), b = name(op.operands[1]), t = type(value);
    if (word == "linalg.add") {
      out += "  " + name(value) + "e = tensor.empty() : " + t + "\n";
      return line(value, "linalg.add ins(" + a + ", " + b + " : " + t + ", " + t + ") outs(" + name(value) +
                             "e : " + t + ") -> " + t);
    }
    if (word == "max" || word == "min")
      word = real ? word + "imumf" : word + "si";
    else
      word += real ? "f" : "i";
    line(value, "arith." + word + " " + a + ", " + b + " : " + t);
  }

  void pad(const Op &op, int value) {
    std::string element = dtypeName(types[value].dtype), arguments, scalar = name(value) + "c";
    char text[40];
    snprintf(text, sizeof text, isFloat(types[value].dtype) ? "%.6e" : "%.0f", op.number);
    out += "  " + scalar + " = arith.constant " + text + " : " + element + "\n";
    for (size_t d = 0; d < op.offsets.size(); ++d)
      arguments += (d ? ", %i" : "%i") + std::to_string(d) + ": index";
    line(value, "tensor.pad " + name(op.operands[0]) + " low" + numbers(op.offsets) + " high" + numbers(op.sizes) +
                    " {\n  ^bb0(" + arguments + "):\n    tensor.yield " + scalar + " : " + element +
                    "\n  } : " + type(op.operands[0]) + " to " + type(value));
  }

  void write(const Op &op, int value) {
    switch (op.kind) {
    case Kind::Conv:
      return conv(op, value);
    case Kind::Pool:
      return pool(op, value);
    case Kind::Reshard:
      return line(value, "ringconv.reshard " + name(op.operands[0]) + " " + shardingText(p.mesh, op.sharding) + " : " +
                             type(value));
    case Kind::Unary:
      return unary(op, value);
    case Kind::Binary:
      return binary(op, value);
    case Kind::Splat:
      return line(value, splat(types[value], op.number));
    case Kind::Transpose:
      out += "  " + name(value) + "e = tensor.empty() : " + type(value) + "\n";
      return line(value, "linalg.transpose ins(" + name(op.operands[0]) + " : " + type(op.operands[0]) + ") outs(" +
                             name(value) + "e : " + type(value) + ") permutation = " +
                             list(op.order.size(), [&](size_t i) { return std::to_string(op.order[i]); }));
    case Kind::Slice:
      return line(value, "tensor.extract_slice " + name(op.operands[0]) + numbers(op.offsets) + " " +
                             numbers(op.sizes) + " " + numbers(op.strides) + " : " + type(op.operands[0]) + " to " +
                             type(value));
    case Kind::Concat:
      return line(value, "tensor.concat dim(" + std::to_string(op.order[0]) + ") " + name(op.operands[0]) + ", " +
                             name(op.operands[1]) + " : (" + type(op.operands[0]) + ", " + type(op.operands[1]) +
                             ") -> " + type(value));
    case Kind::Pad:
      return pad(op, value);
    case Kind::Broadcast: {
      std::vector<int64_t> added;
      for (int d = 0; d < int(types[value].shape.size()); ++d)
        if (positionOf(op.order, d) < 0)
          added.push_back(d);
      out += "  " + name(value) + "e = tensor.empty() : " + type(value) + "\n";
      return line(value, "linalg.broadcast ins(" + name(op.operands[0]) + " : " + type(op.operands[0]) + ") outs(" +
                             name(value) + "e : " + type(value) + ") dimensions = " + numbers(added));
    }
    }
  }
};
} // namespace

std::string randprog::text(const Program &p) {
  auto types = infer(p);
  if (!types)
    return "// not valid\n";
  Writer w{p, *types, {}};
  w.out = "ringconv.mesh @m = <" + list(p.mesh.names.size(), [&](size_t a) {
            return "\"" + p.mesh.names[a] + "\" = " + std::to_string(p.mesh.extents[a]);
          });
  if (!p.mesh.deviceIds.empty())
    w.out += ", device_ids = " + numbers(p.mesh.deviceIds);
  w.out += ">\nfunc.func @main(";
  for (size_t i = 0; i < p.arguments.size(); ++i) {
    const Argument &a = p.arguments[i];
    std::string attrs;
    if (a.sharding)
      attrs = "ringconv.sharding = #ringconv.sharding" + shardingText(p.mesh, *a.sharding);
    if (a.parameter)
      attrs += std::string(attrs.empty() ? "" : ", ") + "ringconv.parameter";
    if (a.wantsGrad)
      attrs += std::string(attrs.empty() ? "" : ", ") + "ringconv.wants_grad";
    w.out += (i ? ",\n    " : "") + w.name(int(i)) + ": " + w.type(int(i)) + (attrs.empty() ? "" : " {" + attrs + "}");
  }
  w.out += ")\n    -> (";
  std::string values, kinds;
  for (size_t i = 0; i < p.results.size(); ++i) {
    const Result &r = p.results[i];
    w.out += (i ? ", " : "") + w.type(r.value);
    if (r.sharding)
      w.out += " {ringconv.sharding = #ringconv.sharding" + shardingText(p.mesh, *r.sharding) + "}";
    values += (i ? ", " : "") + w.name(r.value);
    kinds += (i ? ", " : "") + w.type(r.value);
  }
  w.out += ") {\n";
  for (size_t i = 0; i < p.ops.size(); ++i)
    w.write(p.ops[i], int(p.arguments.size() + i));
  w.out += "  return " + values + " : " + kinds + "\n}\n";
  return w.out;
}
