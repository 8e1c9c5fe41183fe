// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_TARGET_REPORT_H
#define RINGCONV_TARGET_REPORT_H

#include "ringconv/Dialect/RingConv/Transforms/Report.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

namespace ringconv {

/// JSON. `mesh`: extents by axis. `operations`: one for each convolution and pool
/// of the partitioned program, in its order:
///   label, location   what it is, and where in the user's program
///   exchanges         whether it has halos
///   dims              one for each cut dimension of its input: `dim`, the `axes`
///                     whose parts differ, slab sizes `low` and `high` in
///                     elements, and for each of its `parts` the interval of
///                     elements it has (`own`) and that its windows reach
///                     (`need`, before border modes map it)
///   ranks             for each position in the mesh its halo messages and their
///                     bytes, sent and received, the most parts that one of the
///                     latter passes (`hops`), and bytes of `memory`: the `shard`
///                     of the input (and of what is read with it: a gradient's
///                     selector), the halo `slabs` around it, what is `packed`
///                     because it is no stretch of the shard, the `result`
/// Sums over ranks and moves to other cuts are not in it, but in `cost`, which
/// `costs` adds: what every step is predicted to cost, see ringconv/Cost/Cost.h.
void writeReport(llvm::raw_ostream &os, llvm::StringRef entry, const FuncReport &report, bool costs = false);

} // namespace ringconv

#endif
