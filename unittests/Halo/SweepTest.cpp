// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Random windows in one dimension: what plans say is executed and compared with
// an uncut computation; messages and interiors are compared with their
// definitions, element by element.
#include "Simulation.h"

#include <gtest/gtest.h>
#include <numeric>
#include <set>

using namespace ringconv::halo;
using namespace ringconv::halo::test;

namespace {
/// What one rank reads, by definition.
class Reads {
public:
  Reads(const Dim &dim, const std::vector<int64_t> &padded, int64_t r)
      : dim(dim), padded(padded), r(r) {}

  /// Elements of others that some tap of some output reads.
  std::set<int64_t> wanted() const;
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
  /// The output reads own elements only.
  bool isInterior(int64_t output) const;

private:
  const Dim &dim;
  const std::vector<int64_t> &padded;
  int64_t r;
};
} // namespace

std::set<int64_t> Reads::wanted() const {
  std::set<int64_t> elements;
  for (int64_t o = dim.outputs[r].begin; o < dim.outputs[r].end; ++o)
    for (int64_t t = dim.taps[r].begin; t < dim.taps[r].end; ++t)
      if (int64_t element = elementAt(tapPosition(dim.window, o, t)); element >= 0 && ownerOf(element) != r)
        elements.insert(element);
  return elements;
}

bool Reads::isInterior(int64_t output) const {
  for (int64_t t = dim.taps[r].begin; t < dim.taps[r].end; ++t) {
    int64_t position = tapPosition(dim.window, output, t);
    if (elementAt(position) >= 0 && !owns(position))
      return false;
  }
  return true;
}

/// Each element that a rank reads of others travels to it, once.
static void expectTraffic(const Dim &dim, const Simulation &simulation,
                          const std::vector<int64_t> &padded) {
  for (int64_t r = 0; r < dim.parts(); ++r)
    ASSERT_EQ(simulation.received()[r].elements,
              static_cast<int64_t>(Reads(dim, padded, r).wanted().size()))
        << "rank " << r << " " << dim.str();
}

/// A rank sends itself what it reads of its shard and nothing else; these pieces
/// come first.
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
      ASSERT_TRUE(own || peer != r) << dim.str();
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

/// Extended places of a rank that holds all elements, or -1.
static std::vector<int64_t> extendedWhole(const Dim &dim, const Plan &plan, int64_t r) {
  std::vector<int64_t> places(plan.low + dim.size() + plan.high, -1);
  std::iota(places.begin() + plan.low, places.end() - plan.high, 0);
  for (const Fill &fill : plan.fills)
    for (int64_t j = 0; j < fill.size.at(r); ++j)
      places.at(fill.extended.at(r) + j * fill.step) = places.at(fill.fromExtended.at(r) + j * fill.fromStep);
  return places;
}

static void expectWhole(const Dim &dim, const Plan &plan, const std::vector<int64_t> &padded, int64_t r) {
  const Window &w = dim.window;
  std::vector<int64_t> places = extendedWhole(dim, plan, r);
  std::set<int64_t> read;
  forEachIndex({dim.outputs[r].size(), dim.taps[r].size()}, [&](Index at) {
    int64_t o = dim.outputs[r].begin + at[0], t = dim.taps[r].begin + at[1];
    int64_t position = plan.offset.at(r) + at[0] * w.stride + at[1] * w.dilation;
    int64_t element = floorDiv(position, w.baseDilation), expected = padded.at(o * w.stride + t * w.dilation);
    bool reads = element * w.baseDilation == position && element >= plan.validBegin.at(r) &&
                 element < plan.validEnd.at(r);
    ASSERT_EQ(reads ? places.at(element) : -1, expected);
    if (expected >= 0)
      read.insert(expected);
    bool interior = at[0] >= plan.interiorBegin.at(r) && at[0] < plan.interiorEnd.at(r);
    ASSERT_TRUE(!interior || !reads || (element >= plan.low && element < plan.low + dim.size()));
  });
  std::set<int64_t> said;
  for (const Piece &piece : plan.pieces)
    for (int64_t j = 0; piece.recvPeer.at(r) >= 0 && j < piece.recvSize.at(r); ++j)
      said.insert(piece.recvAt.at(r) + j * piece.step);
  ASSERT_EQ(said, read);
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

/// Where every part holds the whole dimension nothing travels. With a zero
/// border an element of the extended dimension is the element itself; the others
/// are filled.
TEST(HaloSweep, WholeDimensionEqualsUncut) {
  Random random(11);
  constexpr int kCases = 20000;
  for (int i = 0; i < kCases; ++i) {
    Dim dim = drawDim(random);
    Plan plan = planWhole(dim.window, dim.size(), dim.outputs, dim.taps);
    std::vector<int64_t> padded = paddedDimension(dim.window, dim.size());
    ASSERT_TRUE(dim.window.border != Border::Zero || !plan.needsExchange());
    for (const Piece &piece : plan.pieces)
      ASSERT_EQ(piece.side, Side::Own);
    for (int64_t r = 0; r < dim.parts(); ++r)
      ASSERT_NO_FATAL_FAILURE(expectWhole(dim, plan, padded, r)) << "rank " << r << " " << dim.str();
  }
}
