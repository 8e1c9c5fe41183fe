// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows of gradients read what the forward windows say that they must, and
// folds bring each position to the element that it was read from: both against
// the padded dimension, element by element.
#include "ringconv/Halo/Gradient.h"
#include "Reference.h"
#include "ringconv/Halo/Fold.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <tuple>

using namespace ringconv::halo;
using namespace ringconv::halo::test;

namespace {
/// (output, tap, element) of every tap that reads something.
using Reads = std::set<std::tuple<int64_t, int64_t, int64_t>>;

Reads readsOf(const Window &w, int64_t size) {
  Reads reads;
  std::vector<int64_t> padded = paddedDimension(w, size);
  for (int64_t o = 0; o < countOutputs(w, size); ++o)
    for (int64_t t = 0; t < w.size; ++t)
      if (int64_t element = padded[o * w.stride + t * w.dilation]; element >= 0)
        reads.insert({o, t, element});
  return reads;
}

/// A window with outputs.
Window drawWindow(Random &random, int64_t size, bool borders) {
  for (;;) {
    Window w{draw(random, 1, 5), draw(random, 1, 4),  draw(random, 1, 3),
             draw(random, 1, 3), draw(random, -3, 7), draw(random, -3, 7)};
    if (borders && draw(random, 0, 1)) {
      w.border = Border(draw(random, 1, 3));
      w.baseDilation = 1;
    }
    if (!checkWindow(w, size) && countOutputs(w, size) > 0)
      return w;
  }
}

template <typename Check> void forWindows(bool borders, Check check) {
  Random random(7);
  for (int i = 0; i < 3000; ++i) {
    int64_t size = draw(random, 1, 14);
    Window w = drawWindow(random, size, borders);
    check(w, size, countOutputs(w, size), readsOf(w, size));
  }
}
} // namespace

TEST(Gradient, InputGradientReadsOutputsThatReadTheElement) {
  forWindows(false, [](const Window &w, int64_t size, int64_t outputs, const Reads &reads) {
    Reads expected;
    for (auto [o, t, e] : reads)
      expected.insert({e, w.size - 1 - t, o});
    Window g = inputGradient(w, size);
    EXPECT_EQ(readsOf(g, outputs), expected);
    EXPECT_EQ(countOutputs(g, outputs), size);
  });
}

TEST(Gradient, FilterGradientHasOneTapPerOutput) {
  forWindows(true, [](const Window &w, int64_t size, int64_t outputs, const Reads &reads) {
    Reads expected, found;
    for (auto [o, t, e] : reads)
      expected.insert({t, o, e});
    Window g = filterGradient(w, size);
    ASSERT_FALSE(checkWindow(g, size));
    for (auto [t, o, e] : readsOf(g, size))
      if (t < w.size)
        found.insert({t, o, e});
    EXPECT_EQ(found, expected);
    EXPECT_GE(countOutputs(g, size), w.size);
    if (!mapsBorder(w)) {
      EXPECT_EQ(countOutputs(g, size), w.size);
    }
    EXPECT_EQ(g.size, outputs);
  });
}

TEST(Gradient, SwappedOperandsGiveTheOutputsInReverse) {
  forWindows(false, [](const Window &w, int64_t size, int64_t outputs, const Reads &reads) {
    Reads expected;
    for (auto [o, t, e] : reads)
      expected.insert({outputs - 1 - o, e, t});
    Window g = swapOperands(w, size);
    EXPECT_EQ(readsOf(g, w.size), expected);
    EXPECT_EQ(countOutputs(g, w.size), outputs);
  });
}

TEST(Gradient, AroundACircleTheInputGradientIsCircular) {
  Random random(5);
  for (int i = 0; i < 500; ++i) {
    int64_t size = draw(random, 1, 12);
    Window w{draw(random, 1, 5), 1, draw(random, 1, 3)};
    w.padLow = draw(random, 0, w.reach() - 1);
    w.padHigh = w.reach() - 1 - w.padLow;
    w.border = Border::Circular;
    ASSERT_TRUE(wrapsAround(w, size));
    Window g = w;
    std::swap(g.padLow, g.padHigh);
    Reads expected;
    for (auto [o, t, e] : readsOf(w, size))
      expected.insert({e, w.size - 1 - t, o});
    EXPECT_EQ(readsOf(g, size), expected);
  }
}

TEST(Gradient, ReadingTapsAreCounted) {
  forWindows(true, [](const Window &w, int64_t size, int64_t outputs, const Reads &reads) {
    std::vector<int64_t> counts(outputs, 0);
    for (auto [o, t, e] : reads)
      ++counts[o];
    EXPECT_EQ(readingTaps(w, size), counts);
  });
}

// ===--------------------------------------------------------------------=== //
// Folds
// ===--------------------------------------------------------------------=== //

namespace {
/// Runs a fold on extended shards: exchange, then sums in the plan's order.
class FoldRun {
public:
  FoldRun(const Window &w, const Cuts &elements, const std::vector<int64_t> &extended)
      : plan(planFold(w, elements)), elements(elements), cuts(foldCuts(w, elements)), extended(extended) {}

  std::vector<int64_t> result() {
    std::vector<int64_t> all(elements.size(), 0);
    for (int64_t r = 0; r < elements.parts(); ++r)
      for (const FoldPart &part : plan.parts)
        add(part, r, all);
    return all;
  }

private:
  int64_t shard(int64_t r, int64_t at) const {
    EXPECT_LT(at, cuts.part(r).size());
    return extended[cuts.part(r).begin + at];
  }

  /// What stands at place `at` of a slab: brought by exactly one piece.
  int64_t slab(Side side, int64_t r, int64_t at) const {
    int64_t value = 0, found = 0;
    for (const Piece &p : plan.pieces) {
      int64_t peer = p.recvPeer.at(r), j = at - p.recvAt.at(r);
      if (p.side != side || peer < 0 || j < 0 || j >= p.recvSize.at(r))
        continue;
      EXPECT_EQ(p.sendPeer.at(peer), r);
      EXPECT_EQ(p.sendSize.at(peer), p.recvSize.at(r));
      value = shard(peer, p.sendAt.at(peer) + (p.reverse ? p.recvSize.at(r) - 1 - j : j));
      ++found;
    }
    EXPECT_EQ(found, 1);
    EXPECT_LT(at, side == Side::Low ? plan.low : plan.high);
    return value;
  }

  void add(const FoldPart &part, int64_t r, std::vector<int64_t> &all) const {
    EXPECT_EQ(part.targets.at(r), part.repeat ? std::min<int64_t>(part.size.at(r), 1) : part.size.at(r));
    for (int64_t j = 0; j < part.size.at(r); ++j) {
      int64_t at = part.at.at(r) + j, to = part.to.at(r) + (part.repeat ? 0 : j);
      ASSERT_LT(to, elements.part(r).size());
      all[elements.part(r).begin + to] += part.side == Side::Own ? shard(r, at) : slab(part.side, r, at);
    }
  }

  FoldPlan plan;
  const Cuts &elements;
  Cuts cuts;
  const std::vector<int64_t> &extended;
};
} // namespace

TEST(Fold, EveryPositionIsAddedToItsElement) {
  Random random(3);
  for (int i = 0; i < 4000; ++i) {
    int64_t size = draw(random, 1, 12);
    Window w{1, 1, 1, 1, draw(random, -3, 15), draw(random, -3, 15), Border(draw(random, 1, 3))};
    if (checkWindow(w, size) || countOutputs(w, size) == 0)
      continue;
    std::vector<int64_t> padded = paddedDimension(w, size), extended(padded.size()), expected(size, 0);
    std::iota(extended.begin(), extended.end(), 1);
    for (size_t x = 0; x < padded.size(); ++x)
      expected[padded[x]] += extended[x];
    Cuts elements = drawCuts(random, size, draw(random, 1, 5));
    EXPECT_EQ(FoldRun(w, elements, extended).result(), expected);
  }
}
