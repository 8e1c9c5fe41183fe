// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of operands in the layout that a kernel reads.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_REPACK_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_REPACK_H

#include "ConvShape.h"
#include "Kernels.h"

namespace ringconv {

/// Replaces the filter by a dense copy with dimension numbers in the order `order`,
/// made by a kernel in front of `op`, in a workspace that ends behind it. The last
/// dimension is padded with zeros to a multiple of `multiple`.
void repackFilter(LocalConvOp op, KernelModule &kernels, ConvShape &shape, llvm::ArrayRef<int64_t> order,
                  int64_t multiple = 1);
/// The same for source `s` of the input. Only elements that outputs read are
/// copied: others may never have been written.
void repackSource(LocalConvOp op, KernelModule &kernels, ConvShape &shape, size_t s, llvm::ArrayRef<int64_t> order,
                  int64_t multiple = 1);

/// Both, for the operands that do not fit; true if there are any.
bool repackUnless(LocalConvOp op, KernelModule &kernels, ConvShape &shape, llvm::ArrayRef<int64_t> order,
                  int64_t multiple, llvm::function_ref<bool(const ConvBuffer &)> fits);

} // namespace ringconv

#endif
