// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors on a mesh, and the messages between ranks.
#include "ringconv/Halo/Mesh.h"

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

namespace {
/// What one rank sends: every choice of one piece for each exchanged dimension,
/// but for the one where all are its own.
class Sender {
public:
  Sender(const std::vector<int64_t> &extents, const std::vector<ExchangeDim> &exchange, int64_t rank)
      : extents(extents), exchange(exchange), rank(rank) {}

  /// Elements by receiver; `elements` are those of the dimensions that are not exchanged.
  std::map<int64_t, int64_t> run(int64_t elements) {
    visit(0, rank, elements);
    return sums;
  }

private:
  void visit(size_t i, int64_t to, int64_t elements) {
    if (i == exchange.size()) {
      if (to != rank && elements > 0)
        sums[to] += elements;
      return;
    }
    const auto &[dim, axes, pieces] = exchange[i];
    int64_t part = partOf(extents, axes, rank);
    for (const Piece &piece : pieces)
      if (int64_t peer = piece.sendPeer.at(part); peer >= 0)
        visit(i + 1, rankAt(extents, axes, to, peer), elements * piece.sendSize.at(part));
  }

  const std::vector<int64_t> &extents;
  const std::vector<ExchangeDim> &exchange;
  int64_t rank;
  std::map<int64_t, int64_t> sums;
};
} // namespace

std::vector<Message> ringconv::halo::messages(const std::vector<int64_t> &extents, const std::vector<MeshDim> &dims,
                                              const std::vector<ExchangeDim> &exchange) {
  std::vector<bool> whole(dims.size(), true);
  for (const ExchangeDim &dim : exchange)
    whole[dim.dim] = false;
  std::vector<Message> all;
  for (int64_t rank = 0; rank < numRanks(extents); ++rank) {
    int64_t elements = 1;
    for (size_t d = 0; d < dims.size(); ++d)
      if (whole[d])
        elements *= dims[d].part(partOf(extents, dims[d].axes, rank)).size();
    for (auto [to, sum] : Sender(extents, exchange, rank).run(elements))
      all.push_back({rank, to, sum});
  }
  return all;
}
