// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small program over whole tensors, as data: drawn at random, written as the
// project's text, evaluated uncut by plain loops, and reduced when it fails.
// Nothing here uses lib/Halo or the compiler: what they compute is compared
// with what stands in these files.
#ifndef RINGCONV_TEST_RANDOMPROGRAMS_PROGRAM_H
#define RINGCONV_TEST_RANDOMPROGRAMS_PROGRAM_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace randprog {

enum class DType { F64, F32, F16, BF16, I8, I32 };
const char *dtypeName(DType type);
bool isFloat(DType type);
/// The type in which sums of `type` are kept.
DType accumulation(DType type);
/// The nearest value of the type (ties to even; integers wrap).
double roundTo(DType type, double value);
/// Relative distance of neighbouring values; 0 for integers.
double epsilon(DType type);

using Shape = std::vector<int64_t>;
int64_t count(const Shape &shape);

struct DimCut {
  std::vector<int> axes;     ///< positions in the mesh, major first
  std::vector<int64_t> cuts; ///< empty: balanced
};
using Sharding = std::vector<DimCut>;

struct Mesh {
  std::vector<std::string> names;
  std::vector<int64_t> extents, deviceIds; ///< deviceIds empty: the position
  int64_t size() const;
  int64_t coordinate(int64_t position, int axis) const;
};
/// Begin and end of the part that `position` owns.
std::pair<int64_t, int64_t> partOf(const Mesh &mesh, const DimCut &cut, int64_t size, int64_t position);
int64_t partsOf(const Mesh &mesh, const DimCut &cut);
std::vector<int64_t> boundsOf(const Mesh &mesh, const DimCut &cut, int64_t size);

enum class Border { Zero, Circular, Reflect, Replicate };
struct Window {
  int64_t size = 1, stride = 1, low = 0, high = 0, base = 1, dilation = 1;
  bool reverse = false;
  Border border = Border::Zero;
};
/// Number of windows over `size` elements.
int64_t outputs(const Window &window, int64_t size);
/// The element that tap `t` of window `o` reads, or -1.
int64_t elementOf(const Window &window, int64_t size, int64_t o, int64_t t);
bool validWindow(const Window &window, int64_t size);

/// Numbers in dimension lists that are not spatial: batch or output feature,
/// feature or input feature.
constexpr int kFirst = -1, kSecond = -2;
using Dims = std::vector<int>;
int positionOf(const Dims &dims, int number);

enum class Kind { Conv, Pool, Reshard, Unary, Binary, Splat, Transpose, Broadcast, Slice, Concat, Pad };
enum class Pool { Max, Sum, Avg, AvgPadding };

struct Op {
  Kind kind;
  std::vector<int> operands; ///< values: arguments first, then results of operations
  DType result = DType::F32;
  std::vector<Window> windows;
  Dims inputDims, filterDims, outputDims;
  int64_t featureGroups = 1, batchGroups = 1;
  Pool pool = Pool::Max;
  std::string word;              ///< Unary, Binary: relu, tanh, add, ...
  Sharding sharding;             ///< Reshard
  std::vector<int> order;        ///< Transpose: permutation; Broadcast: dimension of the result per operand dimension;
                                 ///< Concat: the dimension
  Shape offsets, sizes, strides; ///< Slice; Pad: offsets below, sizes above
  double number = 0;             ///< Splat, Pad
  Shape splatShape;
};

struct Argument {
  DType type;
  Shape shape;
  std::optional<Sharding> sharding;
  bool parameter = false;
  enum Fill { Integers, Fractions, Special } fill = Integers;
  int64_t reach = 4; ///< integers in [-reach, reach]
  bool wantsGrad = false;
};

struct Result {
  int value;
  std::optional<Sharding> sharding;
};

struct Program {
  uint64_t seed = 0;
  Mesh mesh;
  std::vector<Argument> arguments;
  std::vector<Op> ops;
  std::vector<Result> results;
  /// Compile options.
  bool vectorize = false, overlap = true, alwaysOverlap = false, merge = true, quick = false;
  /// Run a second time: the same bits. Run on one rank too: the same bits where
  /// no sum crosses ranks.
  bool twice = false, single = false;
  /// What is run are the gradients of the program.
  bool gradient = false;

  int numValues() const { return int(arguments.size() + ops.size()); }
  Op *op(int value) { return value < int(arguments.size()) ? nullptr : &ops[value - arguments.size()]; }
};

struct Type {
  DType dtype;
  Shape shape;
};
/// Types of all values, or nothing if the program breaks a rule.
std::optional<std::vector<Type>> infer(const Program &program);
std::optional<Type> inferOp(const Mesh &mesh, const Op &op, const std::vector<Type> &types);
bool fits(const Mesh &mesh, const Sharding &sharding, const Shape &shape);

std::string text(const Program &program);

/// Values of a tensor and, for each, how far a correct computation may be from
/// it: 0 where every order of additions gives the same bits.
struct Tensor {
  Type type;
  std::vector<double> values, bounds;
};
Tensor makeInput(const Program &program, int argument);
/// Of all values.
std::vector<Tensor> evaluate(const Program &program, const std::vector<Tensor> &inputs);
/// The arguments whose gradients are wanted: those marked, else all floats.
std::vector<int> gradientArguments(const Program &program);
/// Their gradients, given all values and the gradients of the results.
std::vector<Tensor> gradients(const Program &program, const std::vector<Tensor> &values,
                              const std::vector<Tensor> &seeds);
/// What is wrong with `gradients` by finite differences, or "".
std::string compareWithDifferences(const Program &program);
/// Values for the gradient of result `i`.
Tensor makeSeed(const Program &program, int i, const Type &type);
/// Multiply-adds, to keep programs small.
int64_t cost(const Program &program, const std::vector<Type> &types);

/// gradient: one whose gradients exist, floats only.
Program draw(uint64_t seed, bool gradient = false);

using Features = std::map<std::string, int64_t>;
/// What the text shows; Run adds what only the compiled program knows.
void addFeatures(const Program &program, const std::vector<Type> &types, Features &features);

/// Features that a long run must show often enough.
const std::vector<std::string> &requiredFeatures();

struct Outcome {
  bool ok = true;
  std::string why;
  std::vector<std::string> seen; ///< features of the compiled program: hops, corners
};
struct RunSettings {
  std::string target = "host", cpu = "native"; ///< target cuda: on gpusim
  double timeout = 20;
};
/// Compiles the program, runs all its ranks, compares.
Outcome run(const Program &program, const RunSettings &settings);

/// The smallest program found that still `fails`.
template <typename Fails> Program reduce(Program program, Fails fails);
/// Programs one step smaller, the largest steps first.
std::vector<Program> smaller(const Program &program);

template <typename Fails> Program reduce(Program program, Fails fails) {
  for (int budget = 300; budget > 0;) {
    bool changed = false;
    for (Program &candidate : smaller(program)) {
      if (budget-- <= 0)
        break;
      if (!infer(candidate) || !fails(candidate))
        continue;
      program = std::move(candidate);
      changed = true;
      break;
    }
    if (!changed)
      break;
  }
  return program;
}

/// The same numbers on every machine for a seed.
class Random {
public:
  explicit Random(uint64_t seed) : state(seed) {}
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  int64_t below(int64_t n) { return int64_t(next() % uint64_t(n)); }
  int64_t between(int64_t low, int64_t high) { return low + below(high - low + 1); }
  bool chance(int percent) { return below(100) < percent; }
  /// Index drawn by weight.
  int pick(const std::vector<int> &weights) {
    int64_t sum = 0;
    for (int w : weights)
      sum += w;
    int64_t r = below(sum);
    for (size_t i = 0; i < weights.size(); ++i)
      if ((r -= weights[i]) < 0)
        return int(i);
    return 0;
  }
  template <typename T> void shuffle(std::vector<T> &v) {
    for (size_t i = v.size(); i > 1; --i)
      std::swap(v[i - 1], v[below(int64_t(i))]);
  }

private:
  uint64_t state;
};

} // namespace randprog

#endif
