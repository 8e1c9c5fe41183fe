// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of the vectorised form while its loops are written; VectorLoops.cpp
// says what they are. Blocks and rows are in VectorLoops.cpp, tiles in
// VectorTiles.cpp and VectorDynamic.cpp.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOLOOPS_VECTORCONV_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOLOOPS_VECTORCONV_H

#include "WindowAccess.h"
#include "VectorMemory.h"

#include <map>

namespace ringconv {

/// Emits one local convolution. Members that are values belong to the block,
/// row and tile that are being written.
class VectorConv : WindowAccess {
public:
  VectorConv(LocalConvOp op, const VectorPlan &plan, const LoopOptions &options)
      : WindowAccess(LocalWindow(op), plan), op(op), plan(plan), options(options) {}
  void emit();

private:
  int64_t yb() { return dimOf(op.getOutputDims(), kBatch); }
  /// All output features of a group, or of all groups (depthwise).
  void computeGroup(mlir::Value group);
  void enterBlock(mlir::Value group, mlir::Value block);
  /// The body for each pass over the input features.
  void forPasses(llvm::function_ref<void()> body);
  mlir::Value zeros() { return l.zero(vectorType); }
  mlir::Value loadBias(int64_t v);

  /// Loops over the output rows; `position` and the bounds of the taps of each
  /// are computed outside the loop over input features.
  void rowLoops(Values outputs);
  /// The bias, or what the pass before has left.
  Values initial(llvm::ArrayRef<mlir::Value> outputs, mlir::Value column, int64_t size);
  void store(llvm::ArrayRef<mlir::Value> outputs, mlir::Value column, mlir::ValueRange accumulators);
  void storeResult(llvm::ArrayRef<mlir::Value> outputs, mlir::Value column, mlir::ValueRange accumulators);
  /// Where `partial` holds accumulator `i` of a tile.
  Values partialIndex(llvm::ArrayRef<mlir::Value> outputs, mlir::Value column, int64_t i);
  void tiles(llvm::ArrayRef<mlir::Value> outputs);
  /// Tile `k` of a run.
  void tile(llvm::ArrayRef<mlir::Value> outputs, const TileRun &run, mlir::Value k);
  /// All tiles of the only row, in stretches, each for all blocks of features.
  void stretches(mlir::Value group);
  struct Place {
    Segment segment;
    mlir::Value index;
  };
  /// An element's segment and its column in it.
  Place placeOf(int64_t element, mlir::Value shift);
  /// Windows of one tap have short bodies: several features per step.
  Values overFeatures(llvm::ArrayRef<TileColumn> columns, Values state);
  /// All multiply-adds of a tile for one input feature and tap row.
  Values multiplyColumns(llvm::ArrayRef<TileColumn> columns, mlir::Value f, llvm::ArrayRef<mlir::Value> taps,
                         llvm::ArrayRef<mlir::Value> coords, mlir::ValueRange state);
  void multiplyColumn(const TileColumn &c, const Source &source, std::map<int64_t, Values> &weights, Values &sums);
  /// What each vector of the tile multiplies: one scalar of the input, or as many
  /// vectors of it (depthwise), of entry `n` of the batch.
  Values inputVectors(Source source, int64_t n);
  Values loadWeights(mlir::Value f, llvm::ArrayRef<mlir::Value> taps, mlir::Value tap);
  /// Counts per element; tiles that overlap count whole rows of taps instead
  /// (see dynamicTiles).
  void count(int64_t uses);

  // Columns of unknown extent (VectorDynamic.cpp).
  void dynamicTiles(llvm::ArrayRef<mlir::Value> outputs);
  /// The guard of border tiles, if they are possible.
  void prepareBorders();
  ColumnWindow leftWindow();
  ColumnWindow rightWindow();
  void borderTile(llvm::ArrayRef<mlir::Value> outputs, mlir::Value column, const ColumnWindow &w, bool isLeft);
  void interiorTiles(llvm::ArrayRef<mlir::Value> outputs, mlir::Value begin, mlir::Value end);
  /// Tiles inside the shard, then the columns at the borders one by one, with
  /// every place chosen at run time.
  void mixedColumns(llvm::ArrayRef<mlir::Value> outputs);
  std::pair<mlir::Value, mlir::Value> interiorColumns();
  void interiorTile(llvm::ArrayRef<mlir::Value> outputs, mlir::Value column);
  void singleColumn(llvm::ArrayRef<mlir::Value> outputs, mlir::Value column);

  LocalConvOp op;
  const VectorPlan &plan;
  const LoopOptions &options;
  // Of columns of unknown extent: the end of the shard, extended; true if border
  // tiles fit.
  mlir::Value shardEnd, bordersKnown;
  mlir::Value filter;
  // Of the block of features.
  mlir::Value packedBlock, feature, storedLanes;
  Values start;
  // Of the pass; null where there is only one.
  mlir::Value partial, passBegin, passEnd, isLastPass;
  // Of the output row, and of the tile.
  llvm::SmallVector<TapBounds> rows;
  llvm::SmallVector<Place> places;
  std::map<int64_t, mlir::Value> conditions;
  mlir::Value countedColumns;
};

} // namespace ringconv

#endif
