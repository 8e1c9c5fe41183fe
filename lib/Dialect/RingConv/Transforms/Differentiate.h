// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-differentiate: the rules, one function per kind of operation. A rule
// gets an operation and the gradients of its results, and adds to the gradients
// of the operands that are wanted (the vector-Jacobian product).
#ifndef RINGCONV_LIB_TRANSFORMS_DIFFERENTIATE_H
#define RINGCONV_LIB_TRANSFORMS_DIFFERENTIATE_H

#include "ringconv/Dialect/RingConv/IR/RingConv.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace ringconv {

/// The gradients of the values of one block, tensors or scalars.
class Gradients {
public:
  Gradients(mlir::OpBuilder &b, mlir::Location loc) : b(b), loc(loc) {}

  /// Marks what depends on `sources` within `block`: only that has gradients.
  void follow(mlir::Block &block, mlir::ArrayRef<mlir::Value> sources);

  bool wants(mlir::Value value) const { return wanted.contains(value); }
  /// Null: nothing flows back to this value.
  mlir::Value of(mlir::Value value) const { return gradients.lookup(value); }
  /// Adds `gradient` to that of `value`, if it is wanted.
  void add(mlir::Value value, mlir::Value gradient);
  /// The same, cut as the value is.
  void addLike(mlir::Value value, mlir::Value gradient);

  /// Applies the rules from the last operation of `block` to the first.
  mlir::LogicalResult run(mlir::Block &block);

  mlir::OpBuilder &b;
  mlir::Location loc; ///< of the operation whose rule runs

private:
  llvm::DenseSet<mlir::Value> wanted;
  llvm::DenseMap<mlir::Value, mlir::Value> gradients;
};

/// Rules. `dy`: the gradient of the one result.
mlir::LogicalResult pullBack(ConvOp op, mlir::Value dy, Gradients &gradients);
mlir::LogicalResult pullBack(PoolOp op, mlir::Value dy, Gradients &gradients);
mlir::LogicalResult pullBack(mlir::linalg::LinalgOp op, Gradients &gradients);
/// tensor.pad, extract_slice, insert_slice, concat, collapse_shape, expand_shape.
mlir::LogicalResult pullBackTensor(mlir::Operation *op, mlir::Value dy, Gradients &gradients);
/// arith and math, on scalars or elementwise on tensors.
mlir::LogicalResult pullBackScalar(mlir::Operation *op, mlir::Value dy, Gradients &gradients);

/// "has no rule": the error of an operation that cannot be differentiated.
mlir::LogicalResult noRule(mlir::Operation *op, const llvm::Twine &why);

// What several rules write.

/// Dimension numbers with batch and feature, or output and input, in each other's
/// place.
llvm::SmallVector<int64_t> swapLetters(llvm::ArrayRef<int64_t> numbers);

/// `value` of a scalar or tensor type that is everywhere the same.
mlir::Value makeConstant(mlir::OpBuilder &b, mlir::Location loc, mlir::Type type, double value);
/// `value` in another float type.
mlir::Value convertTo(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, mlir::Type element);
/// The values in the reverse order along dimensions `dims`.
mlir::Value reverseAlong(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, llvm::ArrayRef<int64_t> dims);
/// The sum over all dimensions but `kept`, in the type of `value`, kept in the
/// accumulation type until it is complete.
mlir::Value sumAllBut(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, int64_t kept);
/// Dimension `from` of size groups * n becomes n, `to` of size m becomes
/// groups * m: the group is the major part of both.
mlir::Value moveGroups(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, int64_t from, int64_t to,
                       int64_t groups);
/// What padding extended is added to the elements that it was read from, for
/// each window whose border is mapped; `dims` by spatial number.
mlir::Value foldBorders(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, llvm::ArrayRef<halo::Window> windows,
                        llvm::ArrayRef<int64_t> dims);

} // namespace ringconv

#endif
