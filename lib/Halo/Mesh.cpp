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
  Sender(const std::vector<int64_t> &extents, const std::vector<MeshDim> &dims, int64_t rank)
      : extents(extents), dims(dims), rank(rank) {}

  /// Elements by receiver.
  std::map<int64_t, int64_t> run() {
    visit(0, rank, 1);
    return sums;
  }

private:
  void visit(size_t d, int64_t to, int64_t elements) {
    if (d == dims.size()) {
      if (to != rank && elements > 0)
        sums[to] += elements;
      return;
    }
    const MeshDim &dim = dims[d];
    int64_t part = partOf(extents, dim.axes, rank);
    if (dim.pieces.empty())
      return visit(d + 1, to, elements * dim.part(part).size());
    for (const Piece &piece : dim.pieces)
      if (int64_t peer = piece.sendPeer.at(part); peer >= 0)
        visit(d + 1, rankAt(extents, dim.axes, to, peer), elements * piece.sendSize.at(part));
  }

  const std::vector<int64_t> &extents;
  const std::vector<MeshDim> &dims;
  int64_t rank;
  std::map<int64_t, int64_t> sums;
};
} // namespace

std::vector<Message> ringconv::halo::messages(const std::vector<int64_t> &extents, const std::vector<MeshDim> &dims) {
  std::vector<Message> all;
  for (int64_t rank = 0; rank < numRanks(extents); ++rank)
    for (auto [to, elements] : Sender(extents, dims, rank).run())
      all.push_back({rank, to, elements});
  return all;
}
