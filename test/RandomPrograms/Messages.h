// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_TEST_RANDOMPROGRAMS_MESSAGES_H
#define RINGCONV_TEST_RANDOMPROGRAMS_MESSAGES_H

#include "Program.h"

namespace randprog {

struct Box {
  Shape offsets, sizes;
  bool operator==(const Box &other) const { return offsets == other.offsets && sizes == other.sizes; }
};

/// What one rank receives.
struct Traffic {
  int64_t messages = 0, bytes = 0;
};

/// Position in the mesh of a rank.
int64_t positionOfRank(const Mesh &mesh, int64_t rank);
/// The box that an annotation (none: the whole tensor) gives to a rank.
Box annotatedBox(const Program &program, const std::optional<Sharding> &sharding, const Shape &shape, int64_t rank);

/// What each rank must receive: for each operand of each operation the elements
/// that its outputs read and that it does not own, once, in one message from
/// each owner. `results` are the boxes of each result, by rank. Nothing where
/// not every value is a result or an argument, where values are computed at
/// other cuts than their result's, or where operations do not read elements one
/// by one (slices, concatenations, paddings).
std::optional<std::vector<Traffic>> expectedTraffic(const Program &program, const std::vector<Type> &types,
                                                    const std::vector<std::vector<Box>> &results);

} // namespace randprog

#endif
