// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Reference.h"

#include <gtest/gtest.h>
#include <limits>

using namespace ringconv::halo;
using namespace ringconv::halo::test;

TEST(HaloWindow, Division) {
  EXPECT_EQ(floorDiv(-1, 3), -1);
  EXPECT_EQ(floorDiv(-3, 3), -1);
  EXPECT_EQ(floorDiv(5, 3), 1);
  EXPECT_EQ(ceilDiv(-1, 3), 0);
  EXPECT_EQ(ceilDiv(-4, 3), -1);
  EXPECT_EQ(ceilDiv(4, 3), 2);
  EXPECT_EQ(ceilDiv(6, 3), 2);
  EXPECT_TRUE(intersect({0, 4}, {4, 9}).empty());
  EXPECT_EQ(intersect({0, 6}, {4, 9}), (Interval{4, 6}));
}

TEST(HaloWindow, NumOutputs) {
  EXPECT_EQ(numOutputs({7, 2, 1, 1, 3, 3}, 224), 112);
  EXPECT_EQ(numOutputs({3, 1, 24, 1, 24, 24}, 65), 65);
  EXPECT_EQ(numOutputs({4, 1, 1, 2, 2, 2}, 64), 128);
  EXPECT_EQ(numOutputs({5, 1}, 4), 0);
  EXPECT_EQ(numOutputs({1, 1, 1, 1, 9, 9}, 0), 0);
  EXPECT_EQ(numOutputs({1, 3, 1, 1, -5, 10}, 3), 3);
  EXPECT_EQ(numOutputs({1, 1, 1, 1, -5, 0}, 3), 0);
}

TEST(HaloWindow, NothingLeftHasNoOutputs) {
  EXPECT_EQ(numOutputs({0, 1, 1, 1, -2, -2}, 4), 0);
  EXPECT_EQ(numOutputs({0, 1, 1, 1, -1, -2}, 4), 2);
  EXPECT_EQ(numOutputs({1, 0}, 4), 0);
}

/// needOf by definition: the elements at or between the first and the last
/// position that are read.
TEST(HaloWindow, NeedIsTheHull) {
  Random random(4);
  constexpr int kCases = 20000;
  for (int i = 0; i < kCases; ++i) {
    Dim dim = drawDim(random);
    const Window &w = dim.window;
    for (int64_t r = 0; r < dim.parts(); ++r) {
      Need need = needOf(w, dim.size(), dim.outputs[r], dim.taps[r]);
      if (!dim.computes(r)) {
        ASSERT_TRUE(need.elements.empty()) << dim.str();
        continue;
      }
      int64_t first = tapPosition(w, dim.outputs[r].begin, dim.taps[r].begin);
      int64_t last =
          tapPosition(w, dim.outputs[r].end - 1, dim.taps[r].end - 1);
      std::vector<int64_t> read;
      for (int64_t x = first; x <= last; ++x)
        if (w.border != Border::Zero || (x >= 0 && x % w.baseDilation == 0 &&
                                         x / w.baseDilation < dim.size()))
          read.push_back(w.border != Border::Zero ? x : x / w.baseDilation);
      ASSERT_EQ(need.elements.size(), static_cast<int64_t>(read.size()))
          << dim.str();
      if (read.empty())
        continue;
      ASSERT_EQ(need.elements.begin, read.front()) << dim.str();
      ASSERT_EQ(need.elements.begin * w.baseDilation + need.start, first)
          << dim.str();
      ASSERT_LE(need.start, 0) << dim.str();
    }
  }
  std::cout << kCases << " cases\n";
}

TEST(HaloWindow, FirstEmptyWindow) {
  Random random(10);
  constexpr int kCases = 20000;
  int found = 0;
  for (int i = 0; i < kCases; ++i) {
    Dim dim = drawDim(random);
    Window w = dim.window;
    w.border = Border::Zero;
    std::vector<int64_t> padded = paddedDimension(w, dim.size());
    std::optional<int64_t> first;
    for (int64_t o = countOutputs(w, dim.size()); o-- > 0;) {
      bool reads = false;
      for (int64_t t = 0; t < w.size; ++t)
        reads = reads || padded.at(o * w.stride + t * w.dilation) >= 0;
      if (!reads)
        first = o;
    }
    ASSERT_EQ(firstEmptyWindow(w, dim.size()), first) << dim.str();
    found += first.has_value();
  }
  std::cout << kCases << " cases, " << found << " with an empty window\n";
}

TEST(HaloWindow, AcceptsWhatTheRulesAllow) {
  EXPECT_EQ(checkWindow({7, 2, 1, 1, 3, 3}, 224), std::nullopt);
  EXPECT_EQ(checkWindow({0}, 8), std::nullopt);
  EXPECT_EQ(checkWindow({3, 1, 1, 4, -9, 40}, 8), std::nullopt);
  EXPECT_EQ(checkWindow({3, 1, 1, 1, 50, 50, Border::Circular}, 8),
            std::nullopt);
  EXPECT_EQ(checkWindow({3, 1, 1, 1, 50, 50, Border::Replicate}, 1),
            std::nullopt);
  EXPECT_EQ(checkWindow({3, 1, 1, 1, 7, 7, Border::Reflect}, 8), std::nullopt);
  EXPECT_EQ(checkWindow({3, 1, 1, 1, 5, -2, Border::Reflect}, 8), std::nullopt);
  EXPECT_EQ(checkWindow({1, 1, 1, 1, -9, -9, Border::Circular}, 8),
            std::nullopt);
  EXPECT_EQ(checkWindow({3}, int64_t(1) << 59), std::nullopt);
}

TEST(HaloWindow, RefusesWhatNoPlanCovers) {
  EXPECT_EQ(checkWindow({-1}, 8), "a window has no negative size -1");
  EXPECT_EQ(checkWindow({1}, -8), "a dimension has no negative size -8");
  EXPECT_EQ(checkWindow({3, 0}, 8), "the stride must be positive, not 0");
  EXPECT_EQ(checkWindow({3, 1, -1}, 8),
            "the window dilation must be positive, not -1");
  EXPECT_EQ(checkWindow({3, 1, 1, 0}, 8),
            "the base dilation must be positive, not 0");
  EXPECT_EQ(checkWindow({3, 1, 1, 2, 1, 1, Border::Circular}, 8),
            "a border other than zero needs a base dilation of 1, not 2");
  EXPECT_EQ(checkWindow({3, 1, 1, 1, 8, 0, Border::Reflect}, 8),
            "reflect padding must be below the cropped size 8, not 8");
  EXPECT_EQ(checkWindow({3, 1, 1, 1, 6, -2, Border::Reflect}, 8),
            "reflect padding must be below the cropped size 6, not 6");
  EXPECT_EQ(
      checkWindow({3, 1, 1, 1, -8, 1, Border::Replicate}, 8),
      "a border other than zero needs elements, but cropping leaves 0 of 8");
}

/// Every combination of extreme numbers: refused, or small enough to count.
/// Runs under the undefined behaviour sanitizer as well.
TEST(HaloWindow, ExtremeNumbersDoNotOverflow) {
  constexpr int64_t least = std::numeric_limits<int64_t>::min(),
                    most = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> sizes{
      0, 1, 3, int64_t(1) << 31, int64_t(1) << 60, int64_t(1) << 62, most};
  std::vector<int64_t> pads{least, -(int64_t(1) << 60), -1,
                            0,     int64_t(1) << 60,    most};
  int accepted = 0, refused = 0;
  for (int64_t size : sizes)
    for (int64_t k : sizes)
      for (int64_t s : sizes)
        for (int64_t d : sizes)
          for (int64_t b : sizes)
            for (int64_t low : pads)
              for (int64_t high : pads) {
                Window w{k, s, d, b, low, high};
                int64_t outputs = numOutputs(w, size);
                EXPECT_GE(outputs, 0);
                if (checkWindow(w, size)) {
                  ++refused;
                  continue;
                }
                ++accepted;
                if (k > 3) // work grows with the taps that leave gaps
                  continue;
                Cuts cuts = Cuts::balanced(size, 3);
                Plan p = plan(w, cuts, anchoredOutputs(w, cuts));
                EXPECT_GE(p.low, 0);
                EXPECT_GE(p.high, 0);
              }
  EXPECT_GT(accepted, 0);
  std::cout << accepted << " accepted, " << refused << " refused\n";
}
