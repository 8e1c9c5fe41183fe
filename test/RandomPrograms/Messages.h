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

/// What each rank must receive, element by element of what its windows read, by
/// the boxes of the only result. Nothing for programs in which more than the
/// halos of one operation travels, or where a rank may receive elements between
/// those it reads (dilations, strides above the kernel) or an element more than
/// once (border modes in several dimensions).
std::optional<std::vector<Traffic>> expectedTraffic(const Program &program, const std::vector<Type> &types,
                                                    const std::vector<Box> &results);

} // namespace randprog

#endif
