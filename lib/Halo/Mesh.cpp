// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors on a mesh, and the messages between ranks.
#include "ringconv/Halo/Mesh.h"

#include <algorithm>
#include <cstdlib>
#include <map>

using namespace ringconv::halo;

/// Distance in ranks of two neighbours along an axis.
static int64_t strideOf(const std::vector<int64_t> &extents, int64_t axis) {
  int64_t stride = 1;
  for (size_t a = axis + 1; a < extents.size(); ++a)
    stride *= extents[a];
  return stride;
}

int64_t ringconv::halo::numRanks(const std::vector<int64_t> &extents) { return strideOf(extents, -1); }

int64_t ringconv::halo::numParts(const std::vector<int64_t> &extents, const std::vector<int64_t> &axes) {
  int64_t parts = 1;
  for (int64_t axis : axes)
    parts *= extents[axis];
  return parts;
}

int64_t ringconv::halo::partOf(const std::vector<int64_t> &extents, const std::vector<int64_t> &axes, int64_t rank) {
  int64_t part = 0;
  for (int64_t axis : axes)
    part = part * extents[axis] + rank / strideOf(extents, axis) % extents[axis];
  return part;
}

int64_t ringconv::halo::rankAt(const std::vector<int64_t> &extents, const std::vector<int64_t> &axes, int64_t rank,
                               int64_t part) {
  for (size_t i = axes.size(); i-- > 0;) {
    int64_t extent = extents[axes[i]], stride = strideOf(extents, axes[i]);
    rank += (part % extent - rank / stride % extent) * stride;
    part /= extent;
  }
  return rank;
}

std::vector<Digit> ringconv::halo::digitsOfPart(const std::vector<int64_t> &extents,
                                                const std::vector<int64_t> &axes) {
  std::vector<Digit> digits(axes.size());
  int64_t factor = 1;
  for (size_t i = axes.size(); i-- > 0; factor *= extents[axes[i]])
    digits[i] = {strideOf(extents, axes[i]), extents[axes[i]], factor};
  return digits;
}

namespace {
/// A box of the shard while its dimensions are gone through, the outermost
/// first: behind one of which it has several elements, all others must be whole
/// for it to be one stretch.
struct Box {
  int64_t elements = 1;
  bool open = false, stretch = true;

  Box inner(int64_t size, int64_t step, int64_t whole) const {
    bool gap = (open && size != whole) || (size > 1 && step > 1);
    return {elements * size, open || size > 1, stretch && !gap};
  }
};

/// What one rank sends: every choice of one piece for each exchanged dimension,
/// but for the one where all are its own.
class Sender {
public:
  Sender(const std::vector<int64_t> &extents, const std::vector<MeshDim> &dims,
         const std::vector<ExchangeDim> &exchange, int64_t rank)
      : extents(extents), dims(dims), exchange(exchange), rank(rank) {}

  /// By receiver.
  std::map<int64_t, Message> run() {
    visit(0, exchange.begin(), rank, {});
    return sums;
  }

private:
  void visit(size_t d, std::vector<ExchangeDim>::const_iterator next, int64_t to, const Box &box) {
    if (d == dims.size()) {
      if (to != rank && box.elements > 0)
        add(to, box);
      return;
    }
    int64_t own = dims[d].part(partOf(extents, dims[d].axes, rank)).size();
    if (next == exchange.end() || next->dim != int64_t(d))
      return visit(d + 1, next, to, box.inner(own, 1, own));
    int64_t part = partOf(extents, next->axes, rank);
    for (const Piece &piece : next->pieces)
      if (int64_t peer = piece.sendPeer.at(part); peer >= 0)
        visit(d + 1, next + 1, rankAt(extents, next->axes, to, peer),
              box.inner(piece.sendSize.at(part), piece.step, own));
  }

  void add(int64_t to, const Box &box) {
    auto [entry, isFirst] = sums.insert({to, Message{rank, to, 0, !box.stretch}});
    entry->second.elements += box.elements;
    entry->second.packed |= !isFirst;
  }

  const std::vector<int64_t> &extents;
  const std::vector<MeshDim> &dims;
  const std::vector<ExchangeDim> &exchange;
  int64_t rank;
  std::map<int64_t, Message> sums;
};
} // namespace

std::vector<Message> ringconv::halo::messages(const std::vector<int64_t> &extents, const std::vector<MeshDim> &dims,
                                              const std::vector<ExchangeDim> &exchange) {
  std::vector<Message> all;
  for (int64_t rank = 0; rank < numRanks(extents); ++rank)
    for (const auto &[to, message] : Sender(extents, dims, exchange, rank).run())
      all.push_back(message);
  return all;
}

int64_t ringconv::halo::hopsOf(const std::vector<int64_t> &extents, const std::vector<MeshDim> &dims,
                               const std::vector<ExchangeDim> &exchange, int64_t from, int64_t to) {
  int64_t hops = 0;
  for (const ExchangeDim &dim : exchange) {
    const std::vector<int64_t> &axes = dims[dim.dim].axes;
    int64_t parts = numParts(extents, axes);
    int64_t distance = std::abs(partOf(extents, axes, from) - partOf(extents, axes, to));
    hops = std::max(hops, dim.circular ? std::min(distance, parts - distance) : distance);
  }
  return hops;
}

int64_t ringconv::halo::shardElements(const std::vector<int64_t> &extents, const std::vector<MeshDim> &dims,
                                      int64_t rank) {
  int64_t elements = 1;
  for (const MeshDim &dim : dims)
    elements *= dim.part(partOf(extents, dim.axes, rank)).size();
  return elements;
}

int64_t ringconv::halo::slabElements(const std::vector<int64_t> &extents, const std::vector<MeshDim> &dims,
                                     const std::vector<ExchangeDim> &exchange, int64_t rank) {
  int64_t extended = 1, own = shardElements(extents, dims, rank);
  auto next = exchange.begin();
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t size = dims[d].part(partOf(extents, dims[d].axes, rank)).size();
    if (next != exchange.end() && next->dim == int64_t(d)) {
      size += next->low + next->high;
      ++next;
    }
    extended *= size;
  }
  return extended - own;
}
