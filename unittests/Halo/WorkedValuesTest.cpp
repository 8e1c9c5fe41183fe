// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Worked values: halos of common windows, written down by hand for every rank
// as (i0 - A, B - i1), for the input and for the gradient of the output.
#include "Reference.h"

#include <gtest/gtest.h>

using namespace ringconv::halo;
using namespace ringconv::halo::test;

namespace {
struct Halo {
  int64_t left, right;
  bool operator==(const Halo &o) const {
    return left == o.left && right == o.right;
  }
};
std::ostream &operator<<(std::ostream &out, Halo halo) {
  return out << "(" << halo.left << "," << halo.right << ")";
}

struct Row {
  const char *name;
  Window window;
  std::vector<int64_t> inputs, outputs; ///< sizes by rank
  std::vector<Halo> forward, gradient;
};
} // namespace

static Cuts cutsOf(const std::vector<int64_t> &sizes) {
  Cuts cuts{{0}};
  for (int64_t size : sizes)
    cuts.bounds.push_back(cuts.bounds.back() + size);
  return cuts;
}

static std::vector<Halo> halosOf(const Window &w, const Cuts &inputs,
                                 const Cuts &outputs) {
  std::vector<Halo> halos;
  Plan p = plan(w, inputs, outputs);
  for (int64_t r = 0; r < inputs.parts(); ++r) {
    Interval need =
        needOf(w, inputs.size(), outputs.part(r), {0, w.size}).elements;
    EXPECT_EQ(need, (Interval{p.needBegin.at(r), p.needEnd.at(r)}));
    EXPECT_EQ(inputs.part(r), (Interval{p.ownBegin.at(r), p.ownEnd.at(r)}));
    halos.push_back(
        {inputs.part(r).begin - need.begin, need.end - inputs.part(r).end});
  }
  return halos;
}

/// dX of a window is a window over dY: dilated by the stride, padded by K - 1 -
/// p and, on the other side, by what gives N values.
static Window gradientWindow(const Window &w, int64_t size, int64_t outputs) {
  int64_t low = w.reach() - 1 - w.padLow;
  return {w.size,      1,   w.dilation,
          w.stride,    low, size - 1 - (outputs - 1) * w.stride + w.padLow,
          Border::Zero};
}

/// A circular dimension is the middle one of three periods, far from the ends.
static std::vector<int64_t> threePeriods(std::vector<int64_t> sizes) {
  std::vector<int64_t> once = sizes;
  for (int i = 0; i < 2; ++i)
    sizes.insert(sizes.end(), once.begin(), once.end());
  return sizes;
}

static std::vector<Halo> gradientHalos(const Row &row) {
  bool circular = row.window.border == Border::Circular;
  Cuts inputs = cutsOf(circular ? threePeriods(row.inputs) : row.inputs);
  Cuts outputs = cutsOf(circular ? threePeriods(row.outputs) : row.outputs);
  Window gradient = gradientWindow(row.window, inputs.size(), outputs.size());
  EXPECT_EQ(numOutputs(gradient, outputs.size()), inputs.size());
  std::vector<Halo> halos = halosOf(gradient, outputs, inputs);
  size_t parts = row.inputs.size();
  return circular ? std::vector<Halo>(halos.begin() + parts,
                                      halos.begin() + 2 * parts)
                  : halos;
}

static std::vector<int64_t> times(int64_t count, int64_t size) {
  return std::vector<int64_t>(count, size);
}

static std::vector<Row> rows() {
  std::vector<Halo> dilated{{0, 24}, {17, 24}, {24, 14}, {24, 0}},
      wide{{0, 3}, {2, 3}, {3, 1}, {3, 0}};
  std::vector<Halo> same{{0, 1}, {1, 1}, {1, 1}, {1, 0}};
  return {
      {"224 7 2 (3,3)",
       {7, 2, 1, 1, 3, 3},
       times(4, 56),
       times(4, 28),
       {{0, 2}, {3, 2}, {3, 2}, {3, 0}},
       {{0, 2}, {1, 2}, {1, 2}, {1, 0}}},
      {"56 3 2 (1,1)",
       {3, 2, 1, 1, 1, 1},
       times(4, 14),
       times(4, 7),
       {{0, 0}, {1, 0}, {1, 0}, {1, 0}},
       {{0, 1}, {0, 1}, {0, 1}, {0, 0}}},
      {"56 1 2",
       {1, 2},
       times(4, 14),
       times(4, 7),
       {{0, -1}, {0, -1}, {0, -1}, {0, -1}},
       {{0, 0}, {0, 0}, {0, 0}, {0, 0}}},
      {"7 3 1 (1,1)",
       {3, 1, 1, 1, 1, 1},
       {2, 2, 2, 1},
       {2, 2, 2, 1},
       same,
       same},
      {"224 3 2 (0,1) SAME",
       {3, 2, 1, 1, 0, 1},
       times(4, 56),
       times(4, 28),
       {{0, 1}, {0, 1}, {0, 1}, {0, 0}},
       {{0, 0}, {1, 0}, {1, 0}, {1, 0}}},
      {"32 3 1 VALID",
       {3},
       times(4, 8),
       {8, 8, 8, 6},
       {{0, 2}, {0, 2}, {0, 2}, {0, 0}},
       {{0, 0}, {2, 0}, {2, 0}, {2, 0}}},
      {"65 3 1 24 (24,24)",
       {3, 1, 24, 1, 24, 24},
       {17, 17, 17, 14},
       {17, 17, 17, 14},
       dilated,
       dilated},
      {"7 7 1 (3,3)",
       {7, 1, 1, 1, 3, 3},
       {2, 2, 2, 1},
       {2, 2, 2, 1},
       wide,
       wide},
      {"1024 2 1 512 (512,0)",
       {2, 1, 512, 1, 512, 0},
       times(8, 128),
       times(8, 128),
       {{0, 0},
        {128, 0},
        {256, 0},
        {384, 0},
        {512, 0},
        {512, 0},
        {512, 0},
        {512, 0}},
       {{0, 512},
        {0, 512},
        {0, 512},
        {0, 512},
        {0, 384},
        {0, 256},
        {0, 128},
        {0, 0}}},
      {"1440 5 2 (2,2) circular",
       {5, 2, 1, 1, 2, 2, Border::Circular},
       times(8, 180),
       times(8, 90),
       std::vector<Halo>(8, {2, 1}),
       std::vector<Halo>(8, {1, 1})},
      {"65 3 4 (1,1)",
       {3, 4, 1, 1, 1, 1},
       {17, 17, 17, 14},
       {5, 5, 5, 2},
       {{0, 1}, {-2, 4}, {-5, 7}, {-8, 0}},
       {{0, 0}, {1, -1}, {1, -2}, {2, 0}}},
      {"64 3 1 (1,1)",
       {3, 1, 1, 1, 1, 1},
       {40, 8, 8, 8},
       times(4, 16),
       {{0, -23}, {25, -15}, {17, -7}, {9, 0}},
       {{0, 25}, {-23, 17}, {-15, 9}, {-7, 0}}},
  };
}

TEST(HaloWorkedValues, ForwardAndGradient) {
  int checked = 0;
  for (const Row &row : rows()) {
    Cuts inputs = cutsOf(row.inputs), outputs = cutsOf(row.outputs);
    ASSERT_EQ(numOutputs(row.window, inputs.size()), outputs.size())
        << row.name;
    EXPECT_EQ(halosOf(row.window, inputs, outputs), row.forward)
        << row.name << ", input";
    EXPECT_EQ(gradientHalos(row), row.gradient) << row.name << ", gradient";
    checked += 2 * static_cast<int>(row.inputs.size());
  }
  std::cout << checked << " halos in " << rows().size() << " rows\n";
}

/// Transposed convolutions k/s/p on inner ranks of aligned cuts.
TEST(HaloWorkedValues, Transposed) {
  struct Case {
    int64_t size, stride, pad, outputPadding;
    Halo halo;
  };
  for (Case c : {Case{2, 2, 0, 0, {0, 0}}, Case{4, 2, 1, 0, {1, 1}},
                 Case{3, 2, 1, 1, {0, 1}}, Case{16, 8, 4, 0, {1, 1}}}) {
    Window w{c.size,
             1,
             1,
             c.stride,
             c.size - 1 - c.pad,
             c.size - 1 - c.pad + c.outputPadding};
    Cuts inputs = Cuts::balanced(64, 4),
         outputs = Cuts::balanced(64 * c.stride, 4);
    ASSERT_EQ(numOutputs(w, 64), outputs.size());
    std::vector<Halo> halos = halosOf(w, inputs, outputs);
    EXPECT_EQ(halos[1], c.halo) << c.size << "/" << c.stride << "/" << c.pad;
    EXPECT_EQ(halos[2], c.halo) << c.size << "/" << c.stride << "/" << c.pad;
    EXPECT_EQ(anchoredOutputs(w, inputs), outputs);
  }
}
