// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules for operations of upstream dialects, by kind: how their iteration spaces
// can be cut, and their local forms where these are not the same operation on
// local values.
#ifndef RINGCONV_LIB_TRANSFORMS_UPSTREAM_H
#define RINGCONV_LIB_TRANSFORMS_UPSTREAM_H

#include "Decision.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace ringconv::upstream {

using Factors = llvm::SmallVector<Factor>;

// UpstreamLinalg.cpp
mlir::FailureOr<Factors> linalgFactors(mlir::linalg::LinalgOp op);
/// The operation that combines two partial results of `op` where they may be
/// combined more than once (a maximum, say); null: partial results are added.
mlir::Operation *idempotentCombiner(mlir::Operation *op);

// UpstreamReshape.cpp
/// `groups`: the dimensions of the larger rank that make up each of the smaller.
Factors reshapeFactors(mlir::Operation *op, llvm::ArrayRef<mlir::ReassociationIndices> groups, bool expands);

// UpstreamConcat.cpp
Factors concatFactors(mlir::tensor::ConcatOp op);
mlir::Value localConcat(mlir::tensor::ConcatOp op, LocalBuilder &local);

} // namespace ringconv::upstream

#endif
