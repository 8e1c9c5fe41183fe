// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Simulation.h"

#include <chrono>
#include <gtest/gtest.h>

using namespace ringconv::halo;
using namespace ringconv::halo::test;

static Plan anchoredPlan(const Window &w, const Cuts &inputs) {
  return plan(w, inputs, anchoredOutputs(w, inputs));
}

static std::vector<int64_t> valuesOf(const Table &table, int64_t parts) {
  std::vector<int64_t> values;
  for (int64_t c = 0; c < parts; ++c)
    values.push_back(table.at(c));
  return values;
}

using Values = std::vector<int64_t>;

/// 3 taps, padding 1, 4 x 16 elements: halos of one element, skipped at the
/// ends.
TEST(HaloPlan, SameConvolutionOnEvenCuts) {
  Plan p = anchoredPlan({3, 1, 1, 1, 1, 1}, Cuts::balanced(64, 4));
  EXPECT_EQ(p.low, 1);
  EXPECT_EQ(p.high, 1);
  EXPECT_EQ(p.offset.constant(), 0);
  EXPECT_EQ(valuesOf(p.validBegin, 4), (Values{1, 0, 0, 0}));
  EXPECT_EQ(valuesOf(p.validEnd, 4), (Values{18, 18, 18, 17}));
  EXPECT_EQ(p.validBegin.runs.size(), 2u);
  EXPECT_EQ(p.validEnd.runs.size(), 2u);
  EXPECT_EQ(valuesOf(p.interiorBegin, 4), (Values{0, 1, 1, 1}));
  EXPECT_EQ(valuesOf(p.interiorEnd, 4), (Values{15, 15, 15, 16}));

  ASSERT_EQ(p.pieces.size(), 3u);
  const Piece &own = p.pieces[0], &low = p.pieces[1], &high = p.pieces[2];
  EXPECT_EQ(own.side, Side::Own);
  EXPECT_EQ(valuesOf(own.recvPeer, 4), (Values{0, 1, 2, 3}));
  EXPECT_EQ(own.recvAt.constant(), 0);
  EXPECT_EQ(own.recvExtended.constant(), 1);
  EXPECT_EQ(own.recvSize.constant(), 16);
  EXPECT_EQ(low.side, Side::Low);
  EXPECT_EQ(valuesOf(low.recvPeer, 4), (Values{-1, 0, 1, 2}));
  EXPECT_EQ(valuesOf(low.sendPeer, 4), (Values{1, 2, 3, -1}));
  EXPECT_EQ(low.recvAt.constant(), 0);
  EXPECT_EQ(low.recvExtended.constant(), 0);
  EXPECT_EQ(low.recvSize.constant(), 1);
  EXPECT_EQ(low.sendAt.constant(), 15);
  EXPECT_EQ(low.sendSize.constant(), 1);
  EXPECT_EQ(high.side, Side::High);
  EXPECT_EQ(valuesOf(high.recvPeer, 4), (Values{1, 2, 3, -1}));
  EXPECT_EQ(high.recvAt.constant(), 0);
  EXPECT_EQ(high.recvExtended.constant(), 17);
  EXPECT_EQ(high.sendAt.constant(), 0);
}

TEST(HaloPlan, NothingSkippedMakesConstants) {
  // Without padding; the last rank computes less.
  Plan valid = anchoredPlan({3}, Cuts::balanced(32, 4));
  EXPECT_EQ(valid.low, 0);
  EXPECT_EQ(valid.high, 2);
  for (const Table *table : {&valid.offset, &valid.validBegin, &valid.validEnd})
    EXPECT_TRUE(table->constant().has_value());
  // Padding on one side only.
  Plan oneSided = anchoredPlan({3, 2, 1, 1, 0, 1}, Cuts::balanced(224, 4));
  EXPECT_EQ(oneSided.validBegin.constant(), 0);
  EXPECT_EQ(oneSided.validEnd.runs.size(), 2u);
  // Stride that skips elements, no exchange at all.
  Plan strided = anchoredPlan({1, 2}, Cuts::balanced(56, 4));
  EXPECT_FALSE(strided.needsExchange());
  ASSERT_EQ(strided.pieces.size(), 1u);
  EXPECT_EQ(strided.pieces[0].side, Side::Own);
  EXPECT_EQ(valuesOf(strided.interiorEnd, 4), (Values{7, 7, 7, 7}));
}

/// The offset counts positions between dilated elements; its phase is constant
/// where the stride divides the dilated shard.
TEST(HaloPlan, BaseDilation) {
  Plan p = anchoredPlan({4, 1, 1, 2, 2, 2}, Cuts::balanced(64, 4));
  EXPECT_EQ(p.low, 1);
  EXPECT_EQ(p.high, 1);
  EXPECT_EQ(p.offset.constant(), 0);
  EXPECT_EQ(valuesOf(p.validBegin, 4), (Values{1, 0, 0, 0}));
  EXPECT_EQ(valuesOf(p.validEnd, 4), (Values{18, 18, 18, 17}));
}

/// An even circular dimension exchanges two pieces of constant sizes; every
/// rank is like every other but for its peers.
TEST(HaloPlan, CircularEvenCuts) {
  Plan p = anchoredPlan({5, 2, 1, 1, 2, 2, Border::Circular},
                        Cuts::balanced(1440, 8));
  EXPECT_EQ(p.low, 2);
  EXPECT_EQ(p.high, 1);
  for (const Table *table : {&p.offset, &p.validBegin, &p.validEnd,
                             &p.interiorBegin, &p.interiorEnd})
    EXPECT_TRUE(table->constant().has_value());
  ASSERT_EQ(p.pieces.size(), 3u);
  for (const Piece &piece : p.pieces) {
    EXPECT_FALSE(piece.reverse);
    EXPECT_EQ(piece.step, 1);
    for (const Table *table : {&piece.recvAt, &piece.recvExtended,
                               &piece.recvSize, &piece.sendAt, &piece.sendSize})
      EXPECT_TRUE(table->constant().has_value());
  }
  EXPECT_EQ(valuesOf(p.pieces[1].recvPeer, 8),
            (Values{7, 0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(valuesOf(p.pieces[2].recvPeer, 8),
            (Values{1, 2, 3, 4, 5, 6, 7, 0}));
}

/// A dimension that is not cut: what the border maps onto is copied within the
/// rank.
TEST(HaloPlan, WholeDimensionWrapsOntoItself) {
  for (Border border : {Border::Circular, Border::Reflect, Border::Replicate}) {
    Window w{3, 1, 1, 1, 2, 1, border};
    Plan p = plan(w, Cuts::whole(8), Cuts::whole(numOutputs(w, 8)));
    EXPECT_EQ(p.low, 2);
    EXPECT_EQ(p.high, 1);
    ASSERT_EQ(p.pieces.size(), 1u);
    EXPECT_EQ(p.pieces[0].side, Side::Own);
    EXPECT_EQ(p.hops, 0);
    ASSERT_EQ(p.fills.size(), 2u);
    const Fill &high = p.fills[0], &low = p.fills[1];
    EXPECT_EQ(high.side, Side::High);
    EXPECT_EQ(low.side, Side::Low);
    EXPECT_EQ(high.size.constant(), 1);
    EXPECT_EQ(low.size.constant(), 2);
    EXPECT_EQ(high.fromAt.constant(), border == Border::Circular  ? 0
                                      : border == Border::Reflect ? 6
                                                                  : 7);
    // A box is copied upwards, the others from the shard outwards.
    EXPECT_EQ(low.isBox(), border == Border::Circular);
    EXPECT_EQ(low.at.constant(), border == Border::Circular ? 0 : 1);
    EXPECT_EQ(low.fromAt.constant(), border == Border::Circular  ? 6
                                     : border == Border::Reflect ? 1
                                                                 : 0);
    EXPECT_EQ(low.fromStep, border == Border::Replicate ? 0 : 1);
  }
  EXPECT_FALSE(
      plan({3, 1, 1, 1, 1, 1}, Cuts::whole(8), Cuts::whole(8)).needsExchange());
}

/// A causal dilated window: the two taps are far apart, so only what they read
/// travels, straight from its owner.
TEST(HaloPlan, DilatedTapsTravelAlone) {
  Plan p = anchoredPlan({2, 1, 512, 1, 512, 0}, Cuts::balanced(1024, 8));
  EXPECT_EQ(p.low, 512);
  EXPECT_EQ(p.high, 0);
  EXPECT_EQ(p.offset.constant(), 0);
  ASSERT_EQ(p.pieces.size(), 2u);
  EXPECT_EQ(p.pieces[0].side, Side::Own);
  EXPECT_EQ(valuesOf(p.pieces[1].recvPeer, 8),
            (Values{-1, -1, -1, -1, 0, 1, 2, 3}));
  EXPECT_EQ(p.pieces[1].recvSize.constant(), 128);
}

/// One tap leaves no gaps, whatever its dilation: no piece of its own for it.
TEST(HaloPlan, OneTapIsNoUnion) {
  Plan p = plan({1, 1, 2}, Cuts::balanced(7, 4), Cuts::balanced(7, 4));
  EXPECT_EQ(p.pieces.size(), 1u);
}

/// Ranks whose need lies beside their shard keep no gap: rank 1 owns [40, 48)
/// and reads [15, 33), which fills the low slab of 18.
TEST(HaloPlan, NoSlabForGaps) {
  Window w{3, 1, 1, 1, 1, 1};
  Plan p = plan(w, Cuts{{0, 40, 48, 56, 64}}, Cuts::balanced(64, 4));
  EXPECT_EQ(p.low, 18);
  EXPECT_EQ(p.high, 0);
  EXPECT_GE(p.validEnd.at(1), 18);
  for (const Piece &piece : p.pieces) {
    EXPECT_TRUE(piece.side == Side::Low || piece.recvPeer.at(1) < 0);
  }
  EXPECT_EQ(valuesOf(p.offset, 4), (Values{17, 0, 1, 9}));
}

/// A rank with outputs of which every tap is padding must skip them all.
TEST(HaloPlan, OutputsInPaddingReadNothing) {
  Window w{1, 1, 1, 1, 0, 8};
  Plan p = plan(w, Cuts::balanced(8, 4), Cuts::balanced(16, 4));
  for (int64_t r : {2, 3}) {
    EXPECT_GE(p.validBegin.at(r), p.validEnd.at(r));
    EXPECT_EQ(p.interiorBegin.at(r), 0);
    EXPECT_EQ(p.interiorEnd.at(r), 4);
  }
}

/// Cropping moves the element that is repeated.
TEST(HaloPlan, BordersSeeTheCroppedDimension) {
  Window w{1, 1, 1, 1, 1, -2, Border::Circular};
  Plan p = plan(w, Cuts::balanced(8, 2), Cuts::balanced(7, 2));
  ASSERT_EQ(p.pieces[1].side, Side::Low);
  EXPECT_EQ(p.pieces[1].recvPeer.at(0), 1);
  EXPECT_EQ(p.pieces[1].sendAt.at(1), 1) << "element 5 of 8 precedes element 0";
}

TEST(HaloPlan, EmptyDimensionsAndWindows) {
  EXPECT_TRUE(plan({3, 1, 1, 1, 2, 2}, Cuts{{0, 0, 0}}, Cuts{{0, 0, 0}})
                  .pieces.empty());
  Plan noTaps = plan({0}, Cuts::balanced(4, 2), Cuts::balanced(5, 2));
  EXPECT_TRUE(noTaps.pieces.empty());
  EXPECT_EQ(valuesOf(noTaps.interiorEnd, 2), (Values{3, 2}));
}

/// Hundreds of periods need no more than the first: what lies beyond repeats
/// what stands one period nearer to the shard.
TEST(HaloPlan, ManyPeriodsAreOneCopy) {
  Window w{3, 1, 1, 1, 1000, 1000, Border::Circular};
  Cuts outputs = Cuts::balanced(numOutputs(w, 8), 4);
  Plan p = plan(w, Cuts::balanced(8, 4), outputs);
  EXPECT_LE(p.pieces.size(), 16u);
  EXPECT_LE(p.fills.size(), 16u);
  int64_t received = 0;
  for (const Piece &piece : p.pieces)
    if (piece.side != Side::Own && piece.recvPeer.at(0) >= 0)
      received += piece.recvSize.at(0);
  EXPECT_EQ(received, 6) << "the elements of the other three ranks, once";
}

/// A window with gaps between its outputs: every third element travels.
TEST(HaloPlan, StridesSkipElements) {
  Plan p = plan({1, 3}, Cuts{{0, 0, 30}}, Cuts{{0, 10, 10}});
  ASSERT_EQ(p.pieces.size(), 1u);
  EXPECT_EQ(p.pieces[0].step, 3);
  EXPECT_EQ(p.pieces[0].recvSize.at(0), 10);
  EXPECT_EQ(p.high, 28);
}

static size_t mostRuns(const Plan &p) {
  size_t most = 0;
  std::vector<const Table *> tables{
      &p.offset,    &p.validBegin, &p.validEnd,      &p.ownBegin,   &p.ownEnd,
      &p.needBegin, &p.needEnd,    &p.interiorBegin, &p.interiorEnd};
  for (const Piece &piece : p.pieces)
    for (const Table *table :
         {&piece.recvPeer, &piece.recvAt, &piece.recvExtended, &piece.recvSize,
          &piece.sendPeer, &piece.sendAt, &piece.sendSize})
      tables.push_back(table);
  for (const Table *table : tables)
    most = std::max(most, table->runs.size());
  return most;
}

static double milliseconds(std::chrono::steady_clock::time_point since) {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now() - since)
      .count();
}

/// Thousands of ranks cost milliseconds and a handful of runs.
TEST(HaloPlan, LargeMeshes) {
  constexpr int64_t parts = 4096;
  std::vector<Window> windows{
      {3, 1, 1, 1, 1, 1}, {7, 2, 1, 1, 3, 3},    {3},
      {4, 1, 1, 2, 2, 2}, {65, 1, 1, 1, 32, 32}, {2, 1, 640, 1, 640, 0},
      {5, 2, 1, 1, 2, 2}};
  for (Window w : windows)
    for (Border border :
         {Border::Zero, Border::Circular, Border::Reflect, Border::Replicate}) {
      w.border = border;
      Cuts cuts = Cuts::balanced(parts * 16, parts);
      if (checkWindow(w, cuts.size()))
        continue;
      auto since = std::chrono::steady_clock::now();
      Plan p = anchoredPlan(w, cuts);
      double spent = milliseconds(since);
      EXPECT_LE(mostRuns(p), 5u);
      // One sender gives its outermost element to all ranks in the border.
      bool fanOut = border == Border::Replicate;
      EXPECT_LE(p.pieces.size(), fanOut ? 9u + w.padLow / 16 : 11u);
      EXPECT_LE(p.fills.size(), 8u);
      EXPECT_LT(spent, 500) << "about 3 are expected";
    }
}

/// Uneven cuts cost as much as their runs; no pair of ranks is ever looked at.
TEST(HaloPlan, LargeUnevenMeshes) {
  Random random(5);
  constexpr int64_t parts = 4096;
  Cuts uneven{{0}};
  for (int64_t r = 0; r < parts; ++r)
    uneven.bounds.push_back(uneven.bounds.back() + draw(random, 0, 12));
  auto since = std::chrono::steady_clock::now();
  Plan p = anchoredPlan({7, 1, 1, 1, 3, 3}, uneven);
  Plan crowded = anchoredPlan({3, 1, 1, 1, 1, 1}, Cuts::balanced(10, parts));
  EXPECT_LT(milliseconds(since), 1000) << "about 20 are expected";
  EXPECT_LE(p.low, 3);
  EXPECT_LE(p.high, 3);
  EXPECT_LE(crowded.pieces.size(), 5u);
}
