// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What ShardableOpInterface and WindowedOpInterface speak about.
#ifndef RINGCONV_DIALECT_RINGCONV_IR_INTERFACES_H
#define RINGCONV_DIALECT_RINGCONV_IR_INTERFACES_H

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include "ringconv/Halo/Halo.h"

namespace ringconv {

/// One dimension of an iteration space: where it appears in the operands and
/// results. A unit is what may not be divided (the features of one group).
struct Factor {
  using Dims = llvm::SmallVector<int64_t, 3>;
  int64_t size = 0; ///< units
  bool reduction = false;
  /// Per operand, per result: its dimension, or -1; and elements per unit.
  Dims operandDims, resultDims, operandUnits, resultUnits;
  /// A concatenation: per operand, the place of its first unit among all.
  /// Empty: every operand has all units.
  Dims operandBegins;

  Factor(int64_t size, bool reduction, llvm::ArrayRef<int64_t> operandDims, llvm::ArrayRef<int64_t> resultDims)
      : size(size), reduction(reduction), operandDims(operandDims), resultDims(resultDims),
        operandUnits(operandDims.size(), 1), resultUnits(resultDims.size(), 1) {}
};

/// How a local operation with windows reads its input; by spatial number.
struct LocalWindows {
  llvm::SmallVector<mlir::OpFoldResult> offset, validBegin, validEnd;
  llvm::SmallVector<int64_t> haloDims; ///< dimensions of operand 0 with slabs, ascending
  llvm::SmallVector<mlir::Value> halos;
  mlir::IntegerAttr report;
};

/// What createLocal gets.
struct LocalBuilder {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  llvm::SmallVector<mlir::Value> operands;           ///< local operands
  llvm::SmallVector<mlir::RankedTensorType> results; ///< local result types
  /// Extents of result i, static or dynamic.
  llvm::SmallVector<llvm::SmallVector<mlir::OpFoldResult>> sizes;
  /// A reduction is cut: no bias, result in the accumulation type.
  bool partial = false;
  LocalWindows windows;

  /// An uninitialised tensor with the extents of result i.
  mlir::Value empty(unsigned i = 0);
};

} // namespace ringconv

#endif
