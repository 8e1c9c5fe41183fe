// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOLOOPS_LOOPS_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOLOOPS_LOOPS_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "ringconv/Dialect/RingConv/IR/RingConv.h"

namespace ringconv {

struct LoopOptions {
  bool vectorize = true;
  int64_t vectorWidth = 8;
  bool count = false;
};

/// Marks around an operation of the report's entry `report` (null: none), between
/// which all code that it becomes will stand.
void markWork(mlir::Operation *op, mlir::IntegerAttr report);

/// Loops over outputs, input features and taps, for any form.
void lowerToPlainLoops(LocalConvOp op, const LoopOptions &options);
void lowerToPlainLoops(LocalPoolOp op, const LoopOptions &options);

/// The vectorised form; false, with the operation untouched, where it does not
/// fit.
bool lowerToVectorLoops(LocalConvOp op, const LoopOptions &options);

/// Loops for a copy whose source or target is strided; others stay as they are.
void lowerStridedCopy(mlir::memref::CopyOp op, const LoopOptions &options);

/// Loops over vectors of elements, where all operands allow it; other operations
/// stay as they are, and become plain loops later.
void lowerElementwise(mlir::linalg::GenericOp op, const LoopOptions &options);

/// Arithmetic instead of math.erf of f32, everywhere in `root`.
void expandErrorFunctions(mlir::Operation *root);

/// True if neighbours along the dimension are neighbours in memory.
bool isContiguousDim(mlir::MemRefType type, int64_t d);

/// True if vectors along the dimension can be loaded and stored: upstream's
/// operations ask for neighbours along the last dimension too, even of one element.
bool isVectorDim(mlir::MemRefType type, int64_t d);

} // namespace ringconv

#endif
