// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of operands in the layout that a kernel reads.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_REPACK_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_REPACK_H

#include "ConvShape.h"
#include "Kernels.h"

namespace ringconv {

/// Replaces `buffer` by a dense copy with dimension numbers in the order `order`,
/// made by a kernel in front of `op`, in a workspace that ends behind it. The last
/// dimension is padded with zeros to a multiple of `multiple`.
void repack(LocalConvOp op, KernelModule &kernels, ConvBuffer &buffer, llvm::ArrayRef<int64_t> order,
            int64_t multiple = 1);

} // namespace ringconv

#endif
