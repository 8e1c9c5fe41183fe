// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Both operands of a convolution cut along the same dimension: filter
// gradients. One operand's halo must travel, and either will do.
#ifndef RINGCONV_LIB_TRANSFORMS_FILTERGRADIENTS_H
#define RINGCONV_LIB_TRANSFORMS_FILTERGRADIENTS_H

#include "ShardingAnalysis.h"

namespace ringconv {

/// Swaps the operands of convolutions where that moves fewer bytes. True if the
/// function changed, so that it must be analysed anew.
bool swapFilterGradients(mlir::func::FuncOp func, const MeshContext &mesh, const ShardingAnalysis &analysis);

} // namespace ringconv

#endif
