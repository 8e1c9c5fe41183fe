// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_DIALECT_RINGCONV_TRANSFORMS_PARTITION_H
#define RINGCONV_DIALECT_RINGCONV_TRANSFORMS_PARTITION_H

#include "ringconv/Dialect/RingConv/IR/RingConv.h"
#include "ringconv/Dialect/RingConv/Transforms/Report.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace ringconv {

/// The pass, which also fills `report` (null: not wanted). The caller keeps the
/// report alive while the pass may run.
std::unique_ptr<mlir::Pass> createPartitionPass(PartitionReport *report);

/// The one mesh of a module, null where there is none; an error for two.
mlir::FailureOr<MeshOp> findMesh(mlir::ModuleOp module);

} // namespace ringconv

#endif
