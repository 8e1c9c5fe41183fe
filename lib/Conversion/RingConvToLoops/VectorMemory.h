// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the vectorised form reads its filter and writes its result.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOLOOPS_VECTORMEMORY_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOLOOPS_VECTORMEMORY_H

#include "LoopBuilder.h"
#include "VectorPlan.h"

namespace ringconv {

/// The first `n` elements at `index`, zeros after them, in `type`'s element type.
mlir::Value loadVector(Loops &l, mlir::VectorType type, mlir::Value memref, mlir::ValueRange index, int64_t n);

/// First output feature of a block. The last block of a group is moved back so
/// that it is full: some features are computed twice, and stored alike.
mlir::Value firstOutput(Loops &l, const VectorPlan &plan, mlir::Value group, mlir::Value block);

/// The filter as [group * blocks + block][input feature][taps...][lanes], in the
/// accumulation type and in the order of the taps (reversal is undone), zeros
/// where a block has more lanes than features. What is the same in each run is
/// packed once into a kept buffer, else into a new one that lives until release.
mlir::Value packFilter(Loops &l, LocalConvOp op, const VectorPlan &plan);
void releaseFilter(Loops &l, mlir::Value packed);

/// Writes a tile: accumulators[i * plan.vectors + v] to the output at `at`[dim] + i,
/// features from `at`[feature dimension] on. `dim` is that of the columns or of the
/// batch.
void storeTile(Loops &l, LocalConvOp op, const VectorPlan &plan, mlir::ValueRange accumulators,
               llvm::ArrayRef<mlir::Value> at, int64_t dim);

} // namespace ringconv

#endif
