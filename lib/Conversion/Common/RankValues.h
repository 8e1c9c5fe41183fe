// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The numbers that host code computes, for one rank after the other. Sizes that
// differ by rank are functions of its coordinates alone, so that the compiler
// knows them all.
#ifndef RINGCONV_LIB_CONVERSION_COMMON_RANKVALUES_H
#define RINGCONV_LIB_CONVERSION_COMMON_RANKVALUES_H

#include "ringconv/Dialect/RingConv/IR/RingConv.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace ringconv {

class RankValues {
public:
  RankValues(MeshAttr mesh, int64_t rank) : mesh(mesh), rank(rank) {}

  /// An index or integer; nothing if it does not follow from the rank's
  /// coordinates, the shards of the entry's arguments and constants.
  std::optional<int64_t> get(mlir::Value value);
  std::optional<int64_t> get(mlir::OpFoldResult value);
  std::optional<int64_t> sizeOf(mlir::Value memref, int64_t dim);
  std::optional<int64_t> elements(mlir::Value memref);

  /// Runs the region of a group: `piece` is called for each send and recv that
  /// this rank takes part in. False if a bound or condition is not known.
  bool run(GroupOp group, llvm::function_ref<bool(mlir::Operation *piece)> piece);

private:
  std::optional<int64_t> compute(mlir::Operation *op);
  std::optional<int64_t> computeArith(mlir::Operation *op);
  bool run(mlir::Block &block, llvm::function_ref<bool(mlir::Operation *piece)> piece);
  /// Nothing for an axis that the mesh lacks.
  std::optional<int64_t> partOf(llvm::ArrayRef<mlir::Attribute> axes);

  MeshAttr mesh;
  int64_t rank;
  llvm::DenseMap<mlir::Value, int64_t> known;
  /// While loops run, values of their bodies are known for one step only.
  llvm::SmallVector<llvm::SmallVector<mlir::Value> *> steps;
};

/// The largest of all ranks' numbers; nothing if one is not known.
std::optional<int64_t> largestOverRanks(MeshAttr mesh, llvm::function_ref<std::optional<int64_t>(RankValues &)> number);

} // namespace ringconv

#endif
