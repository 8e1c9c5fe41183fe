// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operands of a local convolution in the form that cuDNN takes: one tensor with
// strides as input, a packed filter. Copies that this needs stand in front of the
// operation, in workspace of the arena.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOCUDNN_CONVOPERANDS_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOCUDNN_CONVOPERANDS_H

#include "../RingConvToGPU/ConvShape.h"

namespace ringconv {

/// Of `buffer`, output 0 reads by tap 0 element -padding[d] in spatial dimension d,
/// and elements outside of the buffer are zero.
struct ConvInput {
  mlir::Value buffer;
  llvm::SmallVector<int64_t> padding;
  bool copied = false;
};

/// Without halos the shard itself, or the part of it that is read, where cuDNN's
/// padding (as much at the low end as at the high end) describes what is read
/// beyond it. Else a copy of all that is read, slabs and padding included.
ConvInput makeConvInput(LocalConvOp op, const ConvShape &shape);

/// True if the filter is to be packed with its input features last, as cuDNN wants
/// it beside an input that has them last.
bool hasFeaturesLast(LocalConvOp op);

/// The filter, dense with output features first; itself where it is that.
mlir::Value makeConvFilter(LocalConvOp op);

} // namespace ringconv

#endif
