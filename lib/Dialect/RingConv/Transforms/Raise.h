// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-raise, split by source dialect.
#ifndef RINGCONV_LIB_TRANSFORMS_RAISE_H
#define RINGCONV_LIB_TRANSFORMS_RAISE_H

#include "ringconv/Dialect/RingConv/IR/RingConv.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"

namespace ringconv::raise {

/// Dimension numbers of a tensor, in the order of its dimensions.
using Names = llvm::SmallVector<int64_t>;
using Windows = llvm::SmallVector<halo::Window>;

/// Element types that a convolution and a pool take.
bool convTypes(mlir::Type input, mlir::Type filter, mlir::Type result);
bool poolType(mlir::Type type);
/// True if `value` has a static shape without a 0.
bool isStatic(mlir::Value value);

struct Conv {
  mlir::Value input, filter, bias;
  Names inputNames, filterNames, resultNames;
  Windows windows{};
  bool reverse = false;
  int64_t featureGroups = 1;
};
mlir::Value makeConv(mlir::OpBuilder &b, mlir::Location loc, mlir::RankedTensorType result, const Conv &conv);
mlir::Value makePool(mlir::OpBuilder &b, mlir::Location loc, mlir::RankedTensorType result, PoolKind kind,
                     mlir::Value input, llvm::ArrayRef<int64_t> inputNames, llvm::ArrayRef<int64_t> resultNames,
                     const Windows &windows);

/// A pad or a slice as a pool: one window of 1 per dimension.
mlir::Value makeMove(mlir::OpBuilder &b, mlir::Location loc, mlir::RankedTensorType result, PoolKind kind,
                     mlir::Value input, llvm::ArrayRef<halo::Window> windows);

/// The constant that all elements of `value` have: a splat, or a fill; null if
/// there is none.
mlir::Attribute splatOf(mlir::Value value);
bool isZero(mlir::Attribute value);
bool isMinusInfinity(mlir::Attribute value);
/// The lowest finite number, or the lowest integer.
bool isLowest(mlir::Attribute value);

/// A pad with static amounts and one constant value; null value where not.
struct Pad {
  mlir::Value source;
  llvm::SmallVector<int64_t> low, high;
  mlir::Attribute value;
};
Pad padOf(mlir::Value value);

/// How dimension `d` of a structured operation's operand is accessed: by one
/// loop, or by out * stride + tap * dilation.
struct Access {
  int64_t loop = -1, out = -1, tap = -1, stride = 1, dilation = 1;
  bool isWindow() const { return loop < 0; }
};
/// Nothing if a dimension is accessed in another way.
std::optional<llvm::SmallVector<Access>> accessesOf(mlir::linalg::LinalgOp op, mlir::OpOperand *operand);
/// Spatial numbers in the order of the result's dimensions: entry n is the
/// window access of number n. Nothing if an output loop is not the result's.
std::optional<llvm::SmallVector<Access>> spatialAccesses(llvm::ArrayRef<Access> input, llvm::ArrayRef<Access> result);
/// Gives windows exactly the outputs that the result has: structured operations
/// may leave out the last ones.
void cropToOutputs(Windows &windows, llvm::ArrayRef<int64_t> sizes, llvm::ArrayRef<int64_t> outputs);

/// Each replaces the operation and returns true, or leaves everything as it is.
bool raiseLinalgConv(mlir::Operation *op);
bool raiseLinalgPooling(mlir::Operation *op);
bool raiseTosa(mlir::Operation *op);
bool raiseTensor(mlir::Operation *op, bool slices);
bool raiseSwitch(mlir::Operation *op);
/// Errors are reported at their operation.
mlir::LogicalResult raiseShard(mlir::ModuleOp module);

} // namespace ringconv::raise

#endif
