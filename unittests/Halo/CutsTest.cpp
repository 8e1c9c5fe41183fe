// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Reference.h"

#include <gtest/gtest.h>

using namespace ringconv::halo;
using namespace ringconv::halo::test;

TEST(HaloCuts, Balanced) {
  EXPECT_EQ(Cuts::balanced(7, 4).bounds, (std::vector<int64_t>{0, 2, 4, 6, 7}));
  EXPECT_EQ(Cuts::balanced(2, 4).bounds, (std::vector<int64_t>{0, 1, 2, 2, 2}));
  EXPECT_EQ(Cuts::balanced(65, 4).bounds,
            (std::vector<int64_t>{0, 17, 33, 49, 65}));
  EXPECT_TRUE(Cuts::balanced(64, 4).even());
  EXPECT_FALSE(Cuts::balanced(65, 4).even());
  EXPECT_TRUE(Cuts::balanced(0, 3).even());
  EXPECT_EQ(Cuts::whole(5).part(0), (Interval{0, 5}));
}

TEST(HaloCuts, Clipped) {
  Cuts cuts{{0, 4, 4, 9, 12}};
  EXPECT_EQ(cuts.clipped(0, 12).bounds, cuts.bounds);
  EXPECT_EQ(cuts.clipped(2, 5).bounds, (std::vector<int64_t>{0, 2, 2, 5, 5}));
  EXPECT_EQ(cuts.clipped(10, 2).bounds, (std::vector<int64_t>{0, 0, 0, 0, 2}));
}

TEST(HaloCuts, Moved) {
  Cuts a{{0, 4, 8, 12}}, b{{0, 5, 8, 12}}, c{{0, 0, 0, 12}};
  EXPECT_EQ(moved(a, a), 0);
  EXPECT_EQ(moved(a, b), 1);
  EXPECT_EQ(moved(b, a), 1);
  EXPECT_EQ(moved(a, c), 8);
}

TEST(HaloCuts, Checks) {
  EXPECT_EQ(checkCuts({0, 40, 48, 56, 64}, 64, 4), std::nullopt);
  EXPECT_EQ(checkCuts({0, 0, 3, 3}, 3, 3), std::nullopt);
  EXPECT_EQ(checkCuts({0, 0}, 0, 1), std::nullopt);
  EXPECT_EQ(checkCuts({}, 0, 0),
            "a dimension is cut into at least 1 part, not 0");
  EXPECT_EQ(checkCuts({}, 8, 2), "2 parts need 3 cuts, but there are 0");
  EXPECT_EQ(checkCuts({0, 4, 8}, 8, 3), "3 parts need 4 cuts, but there are 3");
  EXPECT_EQ(checkCuts({1, 4, 8}, 8, 2), "the first cut must be 0, not 1");
  EXPECT_EQ(checkCuts({0, 5, 4, 8}, 8, 3), "part 1 begins at 5 but ends at 4");
  EXPECT_EQ(checkCuts({0, 4, 9}, 8, 2),
            "the last cut must be the size 8, not 9");
  EXPECT_EQ(checkCuts({0, 9, 8}, 8, 2), "part 1 begins at 9 but ends at 8");
}

/// The window that turns dY into dX (rules 2 and 10): dY dilated by the stride,
/// the flipped filter moved by the base dilation.
static Window gradientWindow(const Window &w, int64_t size) {
  int64_t outputs = countOutputs(w, size);
  Window g{w.size,      w.baseDilation,           w.dilation,
           w.stride,    w.reach() - 1 - w.padLow, 0,
           Border::Zero};
  g.padHigh = (size - 1) * w.baseDilation + w.reach() - 1 -
              (outputs - 1) * w.stride - g.padLow;
  return g;
}

namespace {
struct Bounds {
  int64_t left, right;
};
} // namespace

/// Halos of all ranks that need something stay within the bounds.
static void expectHalos(const Window &w, const Cuts &inputs,
                        const Cuts &outputs, Bounds most, const char *what) {
  Dim dim{w, inputs, intervalsOf(outputs),
          std::vector<Interval>(inputs.parts(), Interval{0, w.size})};
  for (int64_t r = 0; r < inputs.parts(); ++r) {
    Interval own = inputs.part(r),
             need = needOf(w, inputs.size(), outputs.part(r), {0, w.size})
                        .elements;
    if (need.empty())
      continue;
    ASSERT_LE(own.begin - need.begin, most.left)
        << what << " rank " << r << " " << dim.str();
    ASSERT_LE(need.end - own.end, most.right)
        << what << " rank " << r << " " << dim.str();
  }
}

TEST(HaloCuts, AnchoredHalosStaySmall) {
  Random random(3);
  int cases = 0;
  while (cases < 20000) {
    Dim dim = drawDim(random);
    const Window &w = dim.window;
    int64_t size = dim.size(), outputs = countOutputs(w, size),
            b = w.baseDilation, s = w.stride;
    if (w.size == 0 || outputs == 0)
      continue;
    ++cases;
    int64_t reach = w.reach(),
            a = std::min(std::max<int64_t>(w.padLow, 0), reach - 1),
            rest = reach - 1 - a;
    Cuts follow = anchoredOutputs(w, dim.inputs);
    ASSERT_EQ(checkCuts(follow.bounds, outputs, dim.parts()), std::nullopt)
        << dim.str();
    Cuts given = drawCuts(random, outputs, dim.parts());
    Cuts fitting = anchoredInputs(w, size, given);
    ASSERT_EQ(checkCuts(fitting.bounds, size, dim.parts()), std::nullopt)
        << dim.str();

    Bounds forward{a / b, ceilDiv(rest, b)},
        inverse{ceilDiv(a, b), ceilDiv(rest, b)};
    if (w.border != Border::Zero)
      forward = inverse = {std::max(a, w.padLow), std::max(rest, w.padHigh)};
    ASSERT_NO_FATAL_FAILURE(
        expectHalos(w, dim.inputs, follow, forward, "outputs follow inputs"));
    ASSERT_NO_FATAL_FAILURE(
        expectHalos(w, fitting, given, inverse, "inputs follow outputs"));
    ASSERT_NO_FATAL_FAILURE(expectHalos(w, fitting, anchoredOutputs(w, fitting),
                                        forward, "there and back"));
    if (w.border == Border::Zero) {
      Bounds gradient{ceilDiv(rest, s), ceilDiv(a, s)};
      ASSERT_NO_FATAL_FAILURE(expectHalos(gradientWindow(w, size), follow,
                                          dim.inputs, gradient, "gradient"));
    }
    Cuts back = anchoredOutputs(w, fitting);
    for (int64_t c = 1; b == 1 && c < dim.parts(); ++c)
      if (fitting.bounds[c] > 0 && fitting.bounds[c] < size) {
        ASSERT_EQ(back.bounds[c], given.bounds[c]) << dim.str();
      }
  }
  std::cout << cases << " cases\n";
}

TEST(HaloCuts, AnchoredKeepsSameConvolutionsAligned) {
  Cuts even = Cuts::balanced(64, 4);
  EXPECT_EQ(anchoredOutputs({3, 1, 1, 1, 1, 1}, even), even);
  EXPECT_EQ(anchoredOutputs({7, 2, 1, 1, 3, 3}, even), Cuts::balanced(32, 4));
  EXPECT_EQ(anchoredInputs({7, 2, 1, 1, 3, 3}, 64, Cuts::balanced(32, 4)),
            even);
  // Transposed 4/2/1 doubles the size and keeps scaled cuts.
  EXPECT_EQ(anchoredOutputs({4, 1, 1, 2, 2, 2}, even), Cuts::balanced(128, 4));
  EXPECT_EQ(anchoredInputs({4, 1, 1, 2, 2, 2}, 64, Cuts::balanced(128, 4)),
            even);
}
