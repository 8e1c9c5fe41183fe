// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors on a mesh of ranks: part numbers of a rank, and the messages of one
// exchange as the product of its dimensions. No IR. Ranks are row-major
// positions in the mesh, the last axis fastest.
#ifndef RINGCONV_HALO_MESH_H
#define RINGCONV_HALO_MESH_H

#include "ringconv/Halo/Halo.h"

namespace ringconv::halo {

/// One dimension of a tensor on a mesh.
struct MeshDim {
  std::vector<int64_t> axes; ///< positions in the mesh, major first; none: whole on every rank
  Table bounds;              ///< of 0 .. number of parts: part c owns [bounds(c), bounds(c + 1))
  Interval part(int64_t c) const { return {bounds.at(c), bounds.at(c + 1)}; }
};
/// What an exchange does along one dimension: pieces with tables of the part number along `axes`.
struct ExchangeDim {
  int64_t dim;
  std::vector<int64_t> axes;
  std::vector<Piece> pieces;
  int64_t low = 0, high = 0; ///< slab sizes
  bool circular = false;     ///< the first part and the last are neighbours
};

/// Ranks of a mesh: the product of its extents.
int64_t numRanks(const std::vector<int64_t> &extents);
/// Parts of a dimension that `axes` cut.
int64_t numParts(const std::vector<int64_t> &extents, const std::vector<int64_t> &axes);
/// The part number of a rank along `axes`.
int64_t partOf(const std::vector<int64_t> &extents, const std::vector<int64_t> &axes, int64_t rank);
/// The rank that has this part number along `axes`, and the coordinates of `rank` on all others.
int64_t rankAt(const std::vector<int64_t> &extents, const std::vector<int64_t> &axes, int64_t rank, int64_t part);

/// The part number of a rank as a sum: of rank / divisor % modulus * factor.
struct Digit {
  int64_t divisor, modulus, factor;
};
std::vector<Digit> digitsOfPart(const std::vector<int64_t> &extents, const std::vector<int64_t> &axes);

/// All that one rank sends another in one exchange.
struct Message {
  int64_t from, to, elements;
  /// Several boxes, or one that is no stretch of the sender's shard: a transport
  /// that sends stretches packs it.
  bool packed = false;
  bool operator==(const Message &o) const { return from == o.from && to == o.to && elements == o.elements; }
};
/// The messages of an exchange of a tensor with these dimensions, by sender,
/// then receiver; one for each pair, none empty. What a rank copies to itself
/// is no message. Dimensions that the exchange does not name travel as they are.
std::vector<Message> messages(const std::vector<int64_t> &extents, const std::vector<MeshDim> &dims,
                              const std::vector<ExchangeDim> &exchange);
/// Parts that a message from one rank to another passes, the last included: the
/// most along any dimension.
int64_t hopsOf(const std::vector<int64_t> &extents, const std::vector<MeshDim> &dims,
               const std::vector<ExchangeDim> &exchange, int64_t from, int64_t to);

/// Elements of a rank's shard, and of the slabs around it: of dimension k, its
/// own size in later dimensions and the extended one in earlier.
int64_t shardElements(const std::vector<int64_t> &extents, const std::vector<MeshDim> &dims, int64_t rank);
int64_t slabElements(const std::vector<int64_t> &extents, const std::vector<MeshDim> &dims,
                     const std::vector<ExchangeDim> &exchange, int64_t rank);

} // namespace ringconv::halo

#endif
