// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The adjoint of a border mode on cut data (halo rules, 5, backward): what
// stands on the positions outside a dimension goes to the ranks that own the
// elements it was read from, and is added there.
#ifndef RINGCONV_HALO_FOLD_H
#define RINGCONV_HALO_FOLD_H

#include "ringconv/Halo/Halo.h"

namespace ringconv::halo {

/// Elements [at, at + size) of one side (Side::Own: of the extended shard; else
/// of a slab) that are added to elements to, to + 1, ... of the result's shard,
/// or all to element `to` (repeat). Functions of the part number; size 0 where
/// a rank has none.
struct FoldPart {
  Side side;
  bool repeat;
  Table at, size, to;
  /// Elements of the result that are added to: size, or one if repeated.
  Table targets;
};

/// The exchange as in Plan; the sums in the order of `parts`: the own positions,
/// then what lies below, then what lies above, both ascending.
struct FoldPlan {
  int64_t low = 0, high = 0;
  std::vector<Piece> pieces;
  std::vector<FoldPart> parts;
  bool needsExchange() const { return low > 0 || high > 0; }
};

/// Where the extended dimension is cut so that each rank has the own positions
/// of its elements: `elements` moved by the padding, ends forced.
Cuts foldCuts(const Window &extension, const Cuts &elements);

/// `extension`: one tap, stride 1, with padding and border; `elements`: cuts of
/// the dimension, the extended one being cut by foldCuts.
FoldPlan planFold(const Window &extension, const Cuts &elements);

} // namespace ringconv::halo

#endif
