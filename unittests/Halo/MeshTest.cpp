// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks and parts, and messages from rank to rank against counting element by
// element.
#include "ringconv/Halo/Mesh.h"

#include <gtest/gtest.h>
#include <set>

using namespace ringconv::halo;

TEST(HaloMesh, PartsOfRanks) {
  // Mesh 2 x 3 x 4; rank 17 is at (1, 1, 1).
  std::vector<int64_t> extents{2, 3, 4};
  EXPECT_EQ(numRanks(extents), 24);
  EXPECT_EQ(numRanks({}), 1);
  EXPECT_EQ(partOf(extents, {0}, 17), 1);
  EXPECT_EQ(partOf(extents, {2, 0}, 17), 3);
  EXPECT_EQ(partOf(extents, {0, 2}, 18), 6);
  EXPECT_EQ(partOf(extents, {}, 17), 0);
  EXPECT_EQ(rankAt(extents, {1}, 17, 2), 21);
  EXPECT_EQ(rankAt(extents, {2, 0}, 17, 0), 4);
}

TEST(HaloMesh, DigitsAddUpToThePart) {
  std::vector<int64_t> extents{2, 3, 4};
  for (const std::vector<int64_t> &axes :
       {std::vector<int64_t>{}, {0}, {1}, {2}, {1, 0}, {2, 0}, {0, 1, 2}, {2, 1, 0}, {1, 2, 0}})
    for (int64_t rank = 0; rank < 24; ++rank) {
      int64_t part = 0;
      for (Digit digit : digitsOfPart(extents, axes))
        part += rank / digit.divisor % digit.modulus * digit.factor;
      EXPECT_EQ(part, partOf(extents, axes, rank));
    }
}

/// 5 input channels on 2 parts, 2 output channels on 3: the third of each three
/// computes nothing.
TEST(HaloMesh, IdleRanksReadNothing) {
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

TEST(HaloMesh, RankAtUndoesPartOf) {
  std::vector<int64_t> extents{3, 2, 2};
  for (const std::vector<int64_t> &axes : {std::vector<int64_t>{}, {1}, {2, 0}, {0, 1, 2}})
    for (int64_t rank = 0; rank < 12; ++rank)
      for (int64_t part = 0; part < numParts(extents, axes); ++part) {
        int64_t there = rankAt(extents, axes, rank, part);
        EXPECT_EQ(partOf(extents, axes, there), part);
        EXPECT_EQ(rankAt(extents, axes, there, partOf(extents, axes, rank)), rank);
      }
}

namespace {
/// A dimension that windows read, and the elements that each part reads of it.
struct Reads {
  MeshDim dim;
  std::vector<Piece> pieces;
  Cuts cuts;
  std::vector<std::set<int64_t>> elements;
};
} // namespace

/// Every tap of every output, one by one. Border: zero or circular.
static Reads readsOf(const Window &w, const Cuts &cuts, std::vector<int64_t> axes) {
  Cuts outputs = anchoredOutputs(w, cuts);
  Reads reads{{std::move(axes), Table::of(cuts.bounds)}, plan(w, cuts, outputs).pieces, cuts, {}};
  for (int64_t part = 0; part < cuts.parts(); ++part) {
    std::set<int64_t> &elements = reads.elements.emplace_back();
    for (int64_t o = outputs.part(part).begin; o < outputs.part(part).end; ++o)
      for (int64_t tap = 0; tap < w.size; ++tap) {
        int64_t at = o * w.stride + tap - w.padLow;
        if (w.border == Border::Circular)
          at = (at + cuts.size()) % cuts.size();
        if (at >= 0 && at < cuts.size())
          elements.insert(at);
      }
  }
  return reads;
}

/// Of what part `to` reads, how many elements part `from` owns.
static int64_t countOwned(const Reads &reads, int64_t from, int64_t to) {
  int64_t count = 0;
  for (int64_t element : reads.elements[to])
    count += element >= reads.cuts.part(from).begin && element < reads.cuts.part(from).end;
  return count;
}

static void expectMessages(const std::vector<int64_t> &extents, const Reads &rows, const Reads &columns) {
  // A leading dimension of 5 elements is cut by the first axis and not read beyond its parts.
  MeshDim batch{{0}, Table::of(Cuts::balanced(5, extents[0]).bounds)};
  std::vector<Message> expected;
  for (int64_t from = 0; from < numRanks(extents); ++from)
    for (int64_t to = 0; to < numRanks(extents); ++to) {
      auto part = [&](const MeshDim &dim, int64_t rank) { return partOf(extents, dim.axes, rank); };
      if (from == to || part(batch, from) != part(batch, to))
        continue;
      int64_t elements = batch.part(part(batch, from)).size() *
                         countOwned(rows, part(rows.dim, from), part(rows.dim, to)) *
                         countOwned(columns, part(columns.dim, from), part(columns.dim, to));
      if (elements)
        expected.push_back({from, to, elements});
    }
  std::vector<ExchangeDim> exchange{{1, rows.dim.axes, rows.pieces}, {2, columns.dim.axes, columns.pieces}};
  EXPECT_EQ(messages(extents, {batch, rows.dim, columns.dim}, exchange), expected);
}

TEST(HaloMesh, MessagesAreWhatIsReadAndNotOwned) {
  Window same{3, 1, 1, 1, 1, 1}, wide{9, 2, 1, 1, 4, 4};
  Window ring{5, 1, 1, 1, 2, 2, Border::Circular};
  expectMessages({2, 3, 4}, readsOf(same, Cuts::balanced(10, 3), {1}), readsOf(wide, Cuts::balanced(17, 4), {2}));
  expectMessages({1, 2, 3}, readsOf(ring, Cuts::balanced(11, 2), {1}), readsOf(same, Cuts{{0, 1, 1, 9}}, {2}));
  expectMessages({2, 2, 2}, readsOf(wide, Cuts::balanced(13, 4), {2, 1}), readsOf(same, Cuts::whole(4), {}));
}
