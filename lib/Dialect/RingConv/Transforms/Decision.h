// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How one operation is computed by the ranks: the sharding of its iteration
// space decides what each operand must be, what the result is, and which axes
// hold partial sums. Pure attribute arithmetic; nothing is rewritten here.
#ifndef RINGCONV_LIB_TRANSFORMS_DECISION_H
#define RINGCONV_LIB_TRANSFORMS_DECISION_H

#include "ringconv/Dialect/RingConv/IR/RingConv.h"

namespace ringconv {

/// The mesh of a module; one rank and no axes where it has none.
struct MeshContext {
  mlir::FlatSymbolRefAttr name;
  MeshAttr mesh;

  halo::Cuts cuts(DimShardingAttr dim, int64_t size) const { return cutsOf(dim, size, mesh); }
  DimShardingAttr whole() const { return DimShardingAttr::get(mesh.getContext(), {}, {}); }
  ShardingAttr replicated(int64_t rank) const { return ShardingAttr::replicated(name, rank); }
};

/// How spatial dimension n of a windowed operation is cut.
struct WindowCut {
  /// Axes of the part number: they cut the outputs, or the taps.
  llvm::SmallVector<mlir::StringAttr> axes;
  bool cutsTaps = false;
  /// The input dimension is cut by `axes` too (else it is whole on each rank).
  bool cutsInput = false;
  halo::Cuts input, output;           ///< Cuts::whole where not cut
  std::vector<halo::Interval> taps;   ///< per part, empty: all
};

struct Decision {
  /// Required sharding per operand; null: no tensor, or as it is.
  llvm::SmallVector<ShardingAttr> operands;
  /// Sharding of the computed results.
  llvm::SmallVector<ShardingAttr> results;
  /// Axes over which the computed results are partial sums.
  llvm::SmallVector<mlir::StringAttr> reduceAxes;
  /// By spatial number, for windowed operations.
  llvm::SmallVector<WindowCut> windows;
};

/// Iteration space of any operation that can be cut: the interface, or what is
/// known of upstream operations. Fails for an operation without rules.
mlir::FailureOr<llvm::SmallVector<Factor>> factorsOf(mlir::Operation *op);
/// ShardableOpInterface::createLocal for the same operations.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> createLocal(mlir::Operation *op, LocalBuilder &local);

/// Decides from the shardings of the operands (null for non-tensors) and the
/// wanted sharding of the first result (null: none; then `hint` counts where
/// no operand is cut).
mlir::FailureOr<Decision> decide(mlir::Operation *op, const MeshContext &mesh,
                                 llvm::ArrayRef<ShardingAttr> operands, ShardingAttr wanted, ShardingAttr hint);

} // namespace ringconv

#endif
