// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tap in padding adds nothing, also where its weight is infinite or NaN. Kernels
// that copy zeros for it compute 0 * infinity there, which is NaN. So a thread that
// meets NaN among its sums looks at the elements that it wrote, and computes those
// that are NaN again as the plain kernel does, without the taps in padding. Without
// NaN this costs one addition for each sum.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_PADDINGREPAIR_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_PADDINGREPAIR_H

#include "InputReader.h"

namespace ringconv {

/// The pixels, or the output features of its group, that a thread writes:
///   first + i / run * distance + i % run,  0 <= i < count
struct ThreadShare {
  mlir::Value first;
  int64_t run, distance, count;
};

/// Whether this thread meets NaN (i1); null where no tap can lie in padding. What it
/// then stores must be without the epilogue, which repairPadding applies.
mlir::Value meetsNaN(KernelCode &k, const ConvShape &shape, mlir::ValueRange sums);
/// Behind the stores, if `nan` is not null: repairs where it holds. `firstOutput` is
/// the group's first output feature, `outputs` their number.
void repairPadding(KernelCode &k, LocalConvOp op, const ConvShape &shape, InputReader &input, mlir::Value nan,
                   const ThreadShare &pixels, const ThreadShare &features, mlir::Value outputs,
                   mlir::Value firstOutput);

/// Computes element `y` of the result of `op` again, inside a kernel, if `value` is
/// NaN.
void repairIfNaN(KernelBuilder &kernel, LocalConvOp op, mlir::Value value, llvm::ArrayRef<mlir::Value> y);

} // namespace ringconv

#endif
