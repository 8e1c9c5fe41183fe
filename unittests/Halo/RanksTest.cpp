// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Simulation.h"

#include <gtest/gtest.h>

using namespace ringconv::halo;
using namespace ringconv::halo::test;

/// Both directions against row-major numbers counted out, for every list of
/// axes of a mesh of three.
TEST(HaloRanks, PartsAndRanksAreRowMajor) {
  std::vector<int64_t> extents{2, 3, 4};
  for (std::vector<int64_t> axes : std::vector<std::vector<int64_t>>{
           {}, {0}, {1}, {2}, {0, 1}, {1, 0}, {2, 0}, {2, 1}, {0, 1, 2}, {2, 1, 0}, {1, 2, 0}}) {
    int64_t rank = 0;
    Table ranks = ranksOfParts(extents, axes);
    forEachIndex(extents, [&](const Index &coord) {
      int64_t part = 0, expected = 0;
      bool others = false;
      for (int64_t axis : axes)
        part = part * extents[axis] + coord[axis];
      for (size_t a = 0; a < extents.size(); ++a)
        others = others || (coord[a] != 0 && std::find(axes.begin(), axes.end(), int64_t(a)) == axes.end());
      for (Digit digit : digitsOfPart(extents, axes))
        expected += rank / digit.divisor % digit.modulus * digit.factor;
      EXPECT_EQ(expected, part);
      if (!others) {
        EXPECT_EQ(ranks.at(part), rank);
      }
      ++rank;
    });
  }
}

/// 5 input channels on 2 parts, 2 output channels on 3: the third of each three
/// computes nothing.
TEST(HaloRanks, IdleRanksReadNothing) {
  Plan idle = planIdle(Cuts::balanced(5, 2), Cuts::balanced(2, 3));
  ASSERT_EQ(idle.pieces.size(), 1u);
  const Piece &own = idle.pieces[0];
  EXPECT_EQ(own.side, Side::Own);
  EXPECT_FALSE(idle.readsAll);
  for (int64_t c = 0; c < 6; ++c) {
    EXPECT_EQ(own.recvPeer.at(c), c % 3 == 2 ? -1 : c);
    if (c % 3 != 2) {
      EXPECT_EQ(own.recvSize.at(c), c < 3 ? 3 : 2);
    }
  }
  EXPECT_TRUE(planIdle(Cuts::balanced(5, 2), Cuts::balanced(3, 3)).readsAll);
}
