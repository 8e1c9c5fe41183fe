// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random windows in one dimension: what plans say is executed and compared with
// an uncut computation; messages and interiors are compared with their
// definitions, element by element.
#include "Simulation.h"

#include <gtest/gtest.h>

using namespace ringconv::halo;
using namespace ringconv::halo::test;

namespace {
/// What one rank reads, by definition.
class Reads {
public:
  Reads(const Dim &dim, const std::vector<int64_t> &padded, int64_t r)
      : dim(dim), padded(padded), r(r) {}

  /// Raw positions of elements that the rank is to get, one set for each
  /// message group: the whole hull, or one tap after the other.
  std::vector<std::vector<int64_t>> wanted() const;
  /// The element at a raw position, or -1.
  int64_t elementAt(int64_t position) const {
    int64_t index = position + dim.window.padLow;
    return index >= 0 && index < static_cast<int64_t>(padded.size())
               ? padded[index]
               : -1;
  }
  /// The position is one of the rank's own elements at its natural place.
  bool owns(int64_t position) const {
    int64_t element = elementAt(position);
    return element >= 0 && element * dim.window.baseDilation == position &&
           dim.inputs.part(r).begin <= element &&
           element < dim.inputs.part(r).end;
  }
  int64_t ownerOf(int64_t element) const {
    for (int64_t owner = 0; owner < dim.parts(); ++owner)
      if (dim.inputs.part(owner).begin <= element &&
          element < dim.inputs.part(owner).end)
        return owner;
    return -1;
  }
  Traffic traffic() const;
  /// The output reads own elements only.
  bool isInterior(int64_t output) const;

private:
  const Dim &dim;
  const std::vector<int64_t> &padded;
  int64_t r;
};
} // namespace

std::vector<std::vector<int64_t>> Reads::wanted() const {
  std::vector<std::vector<int64_t>> groups;
  if (!dim.computes(r))
    return groups;
  Interval out = dim.outputs[r], taps = dim.taps[r];
  auto add = [&](int64_t firstTap, int64_t lastTap) {
    groups.emplace_back();
    int64_t last = tapPosition(dim.window, out.end - 1, lastTap);
    for (int64_t x = tapPosition(dim.window, out.begin, firstTap); x <= last;
         ++x)
      if (elementAt(x) >= 0)
        groups.back().push_back(x);
  };
  if (!dim.sendsByTap(r)) {
    add(taps.begin, taps.end - 1);
    return groups;
  }
  for (int64_t t = taps.begin; t < taps.end; ++t)
    add(t, t);
  return groups;
}

/// Every element once for each position it is read at, but the outermost one
/// once for a side that repeats it. A message is a stretch of positions on one
/// side of the dimension whose elements have one owner and follow each other,
/// upwards or, reflected, downwards.
Traffic Reads::traffic() const {
  Traffic expected;
  Border border = dim.window.border;
  auto regionOf = [&](int64_t x) {
    return x < 0 ? -1 : x >= dim.size() * dim.window.baseDilation ? 1 : 0;
  };
  for (const auto &group : wanted()) {
    for (size_t i = 0; i < group.size(); ++i) {
      int64_t element = elementAt(group[i]), region = regionOf(group[i]);
      if (ownerOf(element) == r)
        continue;
      bool joins = false;
      if (i > 0) {
        int64_t previous = elementAt(group[i - 1]);
        int64_t step = region == 0 || border == Border::Circular ? 1
                       : border == Border::Reflect               ? -1
                                                                 : 0;
        joins =
            ownerOf(previous) == ownerOf(element) &&
            element - previous == step &&
            (border == Border::Circular || regionOf(group[i - 1]) == region);
        if (joins && step == 0)
          continue;
      }
      ++expected.elements;
      expected.messages += !joins;
    }
  }
  return expected;
}

bool Reads::isInterior(int64_t output) const {
  for (int64_t t = dim.taps[r].begin; t < dim.taps[r].end; ++t) {
    int64_t position = tapPosition(dim.window, output, t);
    if (elementAt(position) >= 0 && !owns(position))
      return false;
  }
  return true;
}

static void expectTraffic(const Dim &dim, const Simulation &simulation,
                          const std::vector<int64_t> &padded) {
  for (int64_t r = 0; r < dim.parts(); ++r) {
    Traffic expected = Reads(dim, padded, r).traffic(),
            received = simulation.received()[r];
    ASSERT_EQ(received.elements, expected.elements)
        << "rank " << r << " " << dim.str();
    ASSERT_EQ(received.messages, expected.messages)
        << "rank " << r << " " << dim.str();
  }
}

/// Only its own elements, or what a border maps, does a rank send to itself;
/// own pieces come first and are always that.
static void expectOwnPieces(const Dim &dim, const Plan &plan) {
  bool ownMayFollow = true;
  for (const Piece &piece : plan.pieces) {
    bool own = piece.side == Side::Own;
    ASSERT_TRUE(!own || ownMayFollow) << dim.str();
    ownMayFollow = own;
    for (int64_t r = 0; r < dim.parts(); ++r) {
      int64_t peer = piece.recvPeer.at(r);
      ASSERT_TRUE(peer >= -1 && peer < dim.parts()) << dim.str();
      ASSERT_TRUE(!own || peer < 0 || peer == r) << dim.str();
      ASSERT_TRUE(own || peer != r || dim.window.border != Border::Zero)
          << dim.str();
      ASSERT_TRUE(peer < 0 || piece.sendPeer.at(peer) == r) << dim.str();
      ASSERT_GE(piece.recvSize.at(r), 0) << dim.str();
      ASSERT_GE(piece.sendSize.at(r), 0) << dim.str();
    }
  }
}

/// The interior is inside what reads own elements only; it is the longest such
/// stretch where windows have no holes, leave none between them and do not fit
/// between dilated elements.
static void expectInterior(const Dim &dim, const Plan &plan,
                           const std::vector<int64_t> &padded) {
  const Window &w = dim.window;
  for (int64_t r = 0; r < dim.parts(); ++r) {
    Reads reads(dim, padded, r);
    Interval interior{plan.interiorBegin.at(r), plan.interiorEnd.at(r)};
    int64_t outs = dim.outputs[r].size(), run = 0, longest = 0;
    ASSERT_TRUE(0 <= interior.begin && interior.begin <= interior.end &&
                interior.end <= outs)
        << dim.str();
    for (int64_t o = 0; o < outs; ++o) {
      bool good = reads.isInterior(dim.outputs[r].begin + o);
      longest = std::max(longest, run = good ? run + 1 : 0);
      ASSERT_TRUE(good || o < interior.begin || o >= interior.end)
          << "rank " << r << " " << dim.str();
    }
    bool dense = w.dilation == 1 &&
                 std::max(w.stride, w.baseDilation) <= dim.taps[r].size();
    if (dense || plan.needBegin.at(r) >= plan.needEnd.at(r)) {
      ASSERT_EQ(interior.size(), longest) << "rank " << r << " " << dim.str();
    }
  }
}

/// Slabs have the size of the largest need below or above a shard, in elements
/// of the hull; the low slab is filled up to its end and the high one from its
/// beginning, whatever lies between them and the shard.
static void expectPlaces(const Dim &dim, const Plan &plan) {
  const Window &w = dim.window;
  bool maps = w.border != Border::Zero;
  int64_t low = 0, high = 0;
  std::vector<std::vector<int64_t>> hulls(dim.parts());
  std::vector<int64_t> below(dim.parts(), 0);
  for (int64_t r = 0; r < dim.parts(); ++r) {
    int64_t above = 0;
    if (!dim.computes(r))
      continue;
    int64_t last = tapPosition(w, dim.outputs[r].end - 1, dim.taps[r].end - 1);
    for (int64_t x = tapPosition(w, dim.outputs[r].begin, dim.taps[r].begin);
         x <= last; ++x) {
      int64_t element = floorDiv(x, w.baseDilation);
      if (element * w.baseDilation != x ||
          (!maps && (element < 0 || element >= dim.size())))
        continue;
      hulls[r].push_back(element);
      below[r] += element < dim.inputs.part(r).begin;
      above += element >= dim.inputs.part(r).end &&
               element >= dim.inputs.part(r).begin;
    }
    low = std::max(low, below[r]);
    high = std::max(high, above);
  }
  ASSERT_EQ(plan.low, low) << dim.str();
  ASSERT_EQ(plan.high, high) << dim.str();
  for (int64_t r = 0; r < dim.parts(); ++r) {
    if (hulls[r].empty())
      continue;
    Interval own = dim.inputs.part(r);
    int64_t first = hulls[r].front(), place = low - below[r];
    if (below[r] == 0)
      place = low + std::min(first - own.begin, own.size());
    int64_t tap = tapPosition(w, dim.outputs[r].begin, dim.taps[r].begin);
    ASSERT_EQ(plan.offset.at(r),
              place * w.baseDilation + tap - first * w.baseDilation)
        << "rank " << r << " " << dim.str();
  }
}

TEST(HaloSweep, ExchangeAndWindowsEqualUncut) {
  Random random(1);
  constexpr int kCases = 80000;
  int64_t ranks = 0, messages = 0, elements = 0;
  for (int i = 0; i < kCases; ++i) {
    Dim dim = drawDim(random);
    ASSERT_EQ(numOutputs(dim.window, dim.size()),
              countOutputs(dim.window, dim.size()))
        << dim.str();
    Simulation simulation({dim}, random);
    ASSERT_EQ(simulation.run(), "") << "case " << i;
    std::vector<int64_t> padded = paddedDimension(dim.window, dim.size());
    ASSERT_NO_FATAL_FAILURE(expectTraffic(dim, simulation, padded));
    ASSERT_NO_FATAL_FAILURE(expectOwnPieces(dim, simulation.plans()[0]));
    ASSERT_NO_FATAL_FAILURE(expectPlaces(dim, simulation.plans()[0]));
    ASSERT_NO_FATAL_FAILURE(expectInterior(dim, simulation.plans()[0], padded));
    ranks += dim.parts();
    for (const Traffic &traffic : simulation.received()) {
      messages += traffic.messages;
      elements += traffic.elements;
    }
  }
  std::cout << kCases << " cases, " << ranks << " ranks, " << messages
            << " messages, " << elements << " elements\n";
}

/// Where every part holds the whole dimension, an element of the extended
/// dimension is the element itself.
TEST(HaloSweep, WholeDimensionEqualsUncut) {
  Random random(11);
  constexpr int kCases = 20000;
  for (int i = 0; i < kCases; ++i) {
    Dim dim = drawDim(random);
    const Window &w = dim.window;
    if (w.border != Border::Zero && std::max(w.padLow, w.padHigh) > 0)
      continue;
    Plan plan = planWhole(w, dim.size(), dim.outputs, dim.taps);
    std::vector<int64_t> padded = paddedDimension(w, dim.size());
    ASSERT_TRUE(plan.pieces.empty() && !plan.needsExchange());
    for (int64_t r = 0; r < dim.parts(); ++r) {
      ASSERT_EQ(plan.interiorBegin.at(r), 0) << dim.str();
      ASSERT_EQ(plan.interiorEnd.at(r), dim.outputs[r].size()) << dim.str();
      forEachIndex({dim.outputs[r].size(), dim.taps[r].size()}, [&](Index at) {
        int64_t o = dim.outputs[r].begin + at[0];
        int64_t t = dim.taps[r].begin + at[1];
        int64_t position =
            plan.offset.at(r) + at[0] * w.stride + at[1] * w.dilation;
        int64_t element = floorDiv(position, w.baseDilation);
        bool reads = element * w.baseDilation == position &&
                     element >= plan.validBegin.at(r) &&
                     element < plan.validEnd.at(r);
        ASSERT_EQ(reads ? element : -1,
                  padded.at(o * w.stride + t * w.dilation))
            << "rank " << r << " " << dim.str();
      });
      ASSERT_FALSE(HasFatalFailure());
    }
  }
}
