// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elementwise work behind a convolution, done by the convolution's kernel on what
// it is about to store:
//
//   ringconv.local_conv ... outs(%y)              one, or the parts of a split result
//   linalg.generic ins(%y, %r ...) outs(%y)       each element from itself and others
//
// The sum is rounded to the result's type in between, as if it had been stored: the
// bits are those of the two operations one after the other.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_EPILOGUE_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_EPILOGUE_H

#include "Kernels.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"

namespace ringconv {

/// The elementwise operation and its operands, cut to what one convolution writes.
struct Epilogue {
  mlir::linalg::GenericOp op;
  llvm::SmallVector<mlir::Value> operands;

  /// True if operand `n` is the result itself.
  bool isResult(int64_t n) const {
    mlir::Operation *all = op;
    return all->getOperand(n) == all->getOperands().back();
  }
};

/// Which convolutions of `func` have one. `takes` says whether the kernel of a
/// convolution can do it. Views of operands are made in front of convolutions.
llvm::MapVector<mlir::Operation *, Epilogue> findEpilogues(mlir::func::FuncOp func,
                                                           llvm::function_ref<bool(LocalConvOp)> takes);

/// Makes the kernel's arguments for numbers that the operation uses.
void passNumbers(KernelBuilder &kernel, const Epilogue &epilogue);
/// The operation on one element: `values` of its operands.
mlir::Value applyEpilogue(KernelBuilder &kernel, const Epilogue &epilogue, mlir::ValueRange values);
/// The same on element `y` of `result`, in place.
void applyEpilogueAt(KernelBuilder &kernel, const Epilogue &epilogue, mlir::Value result,
                     llvm::ArrayRef<mlir::Value> y);

} // namespace ringconv

#endif
