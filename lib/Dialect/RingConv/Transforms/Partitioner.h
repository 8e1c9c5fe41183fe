// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the program of one rank for one analysed function. Operations arrive
// in order; each whole value has one local value at the sharding that the
// analysis gave it.
#ifndef RINGCONV_LIB_TRANSFORMS_PARTITIONER_H
#define RINGCONV_LIB_TRANSFORMS_PARTITIONER_H

#include "ShardingAnalysis.h"
#include "ringconv/Dialect/RingConv/Transforms/Report.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/DenseSet.h"

namespace ringconv {

class Partitioner {
public:
  Partitioner(mlir::func::FuncOp whole, const MeshContext &mesh, const ShardingAnalysis &analysis, FuncReport &report)
      : whole(whole), mesh(mesh), analysis(analysis), report(report), builder(whole.getContext()) {}

  /// Replaces the function's signature and body.
  mlir::LogicalResult run();

private:
  mlir::LogicalResult convert(mlir::Operation *op);
  mlir::LogicalResult convertBlock(mlir::Block &block);
  mlir::LogicalResult convertFor(mlir::Operation *op);
  mlir::LogicalResult convertWhile(mlir::Operation *op);
  mlir::LogicalResult convertIf(mlir::Operation *op);
  mlir::LogicalResult convertCut(mlir::Operation *op, const Decision &decision);
  void convertReturn(mlir::Operation *op);

  /// The windows of a local operation: exchange, offsets, bounds.
  mlir::FailureOr<LocalWindows> makeWindows(WindowedOpInterface op, const Decision &decision,
                                            llvm::ArrayRef<mlir::Value> operands);
  halo::Plan planWindow(const halo::Window &window, const WindowCut &cut);
  std::vector<int64_t> meshPositions(llvm::ArrayRef<mlir::StringAttr> axes);
  TensorReport reportTensor(mlir::RankedTensorType type, ShardingAttr sharding);
  /// Adds a step for `op`, which is cut as `decision` says, or not at all (null).
  void reportStep(mlir::Operation *op, const Decision *decision);
  void reportValue(mlir::Value value, bool throughout);
  void reportReturn(mlir::Operation *op);
  llvm::SmallVector<mlir::Value> exchange(mlir::Location loc, mlir::Value input, llvm::ArrayRef<HaloDimAttr> dims,
                                          mlir::IntegerAttr id);

  mlir::Value foldBorder(FoldBorderOp op, const Decision &decision, LocalBuilder &local);

  /// Computed values become the results: partial ones are combined over the ranks,
  /// what is added once is added, and all are cut as the analysis says.
  void combinePartials(mlir::Operation *op, const Decision &decision, llvm::SmallVectorImpl<mlir::Value> &values);
  mlir::Value sumPartial(mlir::Operation *op, const Decision &decision, mlir::OpResult result, mlir::Value partial);
  void sumTogether(mlir::Operation *op, const Decision &decision, llvm::SmallVectorImpl<mlir::Value> &partials);
  mlir::Value combineGathered(mlir::Operation *op, const Decision &decision, mlir::Value partial,
                              mlir::Operation *combiner);
  mlir::Value addBias(mlir::Operation *op, mlir::Value sum, ShardingAttr sharding);

  /// The type of a value of a function or region: a shard's, or as it is.
  mlir::Type valueType(mlir::Value value) {
    ShardingAttr sharding = analysis.of(value);
    return sharding ? localType(mlir::cast<mlir::RankedTensorType>(value.getType()), sharding) : value.getType();
  }
  /// The local value of a whole one, cut as `to`.
  mlir::Value localValue(mlir::Value value, ShardingAttr to);
  mlir::Value redistribute(mlir::Location loc, mlir::Value local, mlir::RankedTensorType type, ShardingAttr from,
                           ShardingAttr to);
  mlir::Value makeFree(mlir::Value value, ShardingAttr to);

  mlir::Value coord(llvm::ArrayRef<mlir::StringAttr> axes);
  mlir::OpFoldResult lookup(llvm::ArrayRef<mlir::StringAttr> axes, const halo::Table &table);
  llvm::SmallVector<mlir::OpFoldResult> localSizes(mlir::RankedTensorType type, ShardingAttr sharding);
  mlir::RankedTensorType localType(mlir::RankedTensorType type, ShardingAttr sharding) {
    return shardType(type, sharding, mesh.mesh);
  }

  mlir::func::FuncOp whole;
  const MeshContext &mesh;
  const ShardingAnalysis &analysis;
  FuncReport &report;
  mlir::OpBuilder builder;
  mlir::IRMapping locals;
  llvm::DenseMap<mlir::Attribute, mlir::Value> coords; ///< made once, at the entry
  llvm::DenseSet<mlir::Operation *> unused;            ///< of the whole program: not converted
  llvm::DenseMap<mlir::Value, int64_t> reported;       ///< places in the report's values
  mlir::Block *entry = nullptr;
};

/// Operations of `body` that no result of the program needs. That something is
/// cut like a value does not need the value.
llvm::DenseSet<mlir::Operation *> findUnused(mlir::Block &body);

/// `file:line:column`, or nothing.
std::string locationText(mlir::Location loc);

/// A piece of a plan as an attribute.
PieceAttr makePiece(mlir::MLIRContext *ctx, const halo::Piece &piece);

} // namespace ringconv

#endif
