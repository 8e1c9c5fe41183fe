// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An exchange in several dimensions is the product of its dimensions, corners
// included; a piece of it lies in the slab of the last dimension that is not
// own.
#include "Simulation.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

using namespace ringconv::halo;
using namespace ringconv::halo::test;

/// Elements along one dimension that a part reads, and how many of them it owns.
static std::pair<int64_t, int64_t> countReads(const Dim &dim, int64_t r) {
  std::vector<int64_t> padded = paddedDimension(dim.window, dim.size());
  std::set<int64_t> elements;
  for (int64_t o = dim.outputs[r].begin; o < dim.outputs[r].end; ++o)
    for (int64_t t = dim.taps[r].begin; t < dim.taps[r].end; ++t)
      elements.insert(padded[tapPosition(dim.window, o, t) + dim.window.padLow]);
  elements.erase(-1);
  Interval own = dim.inputs.part(r);
  return {elements.size(), std::count_if(elements.begin(), elements.end(), [&](int64_t e) {
            return own.begin <= e && e < own.end;
          })};
}

/// Every element that a rank reads and does not own travels to it, once.
static void expectTraffic(const std::vector<Dim> &dims, const Simulation &simulation) {
  Index mesh;
  for (const Dim &dim : dims)
    mesh.push_back(dim.parts());
  size_t rank = 0;
  forEachIndex(mesh, [&](const Index &coord) {
    int64_t all = 1, own = 1;
    for (size_t d = 0; d < dims.size(); ++d) {
      auto [read, owned] = countReads(dims[d], coord[d]);
      all *= read;
      own *= owned;
    }
    ASSERT_EQ(simulation.received()[rank++].elements, all - own);
  });
}

static void sweep(size_t rank, int cases, const DrawOptions &options,
                  uint64_t seed) {
  Random random(seed);
  int64_t messages = 0;
  for (int i = 0; i < cases; ++i) {
    std::vector<Dim> dims;
    for (size_t d = 0; d < rank; ++d)
      dims.push_back(drawDim(random, options));
    Simulation simulation(dims, random);
    ASSERT_EQ(simulation.run(), "") << "case " << i;
    ASSERT_NO_FATAL_FAILURE(expectTraffic(dims, simulation)) << "case " << i;
    for (const Traffic &traffic : simulation.received())
      messages += traffic.messages;
  }
  std::cout << cases << " cases, " << messages << " messages\n";
}

TEST(HaloProduct, TwoDimensions) { sweep(2, 4000, {9, 3, 3, 14}, 6); }
TEST(HaloProduct, ThreeDimensions) { sweep(3, 800, {6, 3, 3, 8}, 7); }

static Dim evenDim(const Window &w, int64_t size, int64_t parts) {
  Cuts inputs = Cuts::balanced(size, parts);
  return {w, inputs, intervalsOf(anchoredOutputs(w, inputs)),
          std::vector<Interval>(parts, Interval{0, w.size})};
}

/// 3^n - 1 messages where halos reach the next shards only: the corners travel
/// on their own, as soon as the faces.
TEST(HaloProduct, CornersTravelDirectly) {
  Random random(8);
  Dim dim = evenDim({3, 1, 1, 1, 1, 1}, 12, 3);
  Simulation two({dim, dim}, random), three({dim, dim, dim}, random);
  ASSERT_EQ(two.run(), "");
  ASSERT_EQ(three.run(), "");
  EXPECT_EQ(two.received()[4].messages, 8);
  EXPECT_EQ(two.received()[4].elements, 4 * 4 + 4);
  EXPECT_EQ(two.received()[0].messages, 3);
  EXPECT_EQ(three.received()[13].messages, 26);
  EXPECT_EQ(three.received()[13].elements, 6 * 6 * 6 - 4 * 4 * 4);
}

/// A circular dimension that is not cut beside one that is: its halo and
/// the corners are copied within the rank.
TEST(HaloProduct, CutBesideWholeCircular) {
  Random random(9);
  Simulation simulation({evenDim({3, 1, 1, 1, 1, 1}, 12, 3),
                         evenDim({3, 1, 1, 1, 1, 1, Border::Circular}, 5, 1)},
                        random);
  ASSERT_EQ(simulation.run(), "");
  EXPECT_EQ(simulation.received()[1].messages, 2);
  EXPECT_EQ(simulation.received()[1].elements, 2 * 5);
}
