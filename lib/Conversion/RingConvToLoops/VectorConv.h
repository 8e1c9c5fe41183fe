// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of the vectorised form while its loops are written; VectorLoops.cpp
// says what they are. Blocks and rows are in VectorLoops.cpp, tiles in
// VectorTiles.cpp and VectorDynamic.cpp.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOLOOPS_VECTORCONV_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOLOOPS_VECTORCONV_H

#include "LoopBuilder.h"
#include "VectorMemory.h"
#include "VectorPlan.h"

#include <map>

namespace ringconv {

using Values = llvm::SmallVector<mlir::Value>;

/// Where elements lie: a memref, and its indices but that of the columns.
struct Source {
  mlir::Value memref;
  Values index;
};

enum class Segment { Low, Own, High };

/// The numbers of one dimension at run time.
struct DimValues {
  mlir::Value offset, begin, end, outputs;
  /// Slab and shard extents; null without halos.
  mlir::Value low, own;
};

/// Emits one local convolution. Members that are values belong to the block,
/// row and tile that are being written.
class VectorConv {
public:
  VectorConv(LocalConvOp op, const VectorPlan &plan, const LoopOptions &options)
      : b(op), l{b, op.getLoc()}, op(op), plan(plan), options(options),
        vectorType(mlir::VectorType::get({plan.lanes}, plan.accumulator)) {}
  void emit();

private:
  int64_t yb() { return dimOf(op.getOutputDims(), kBatch); }
  int64_t last() { return plan.taps.size() - 1; }
  /// Loops without state; none around a body that runs once.
  void forEach(mlir::Value count, llvm::function_ref<void(mlir::Value)> body);
  void forEach(int64_t count, llvm::function_ref<void(mlir::Value)> body);

  void prepare();
  /// Entry of halo_dims for a spatial number; -1: none.
  int64_t haloOf(int64_t n);
  int64_t spatialOf(int64_t d) { return llvm::find(plan.inputDims, d) - plan.inputDims.begin(); }
  /// Shard and slabs under one type, so that a select can choose. Strides of 1
  /// stay static.
  void castSources();

  void enterBlock(mlir::Value n, mlir::Value group, mlir::Value block);
  mlir::Value zeros() { return l.zero(vectorType); }
  mlir::Value loadBias(int64_t v);

  /// Loops over the output rows; `position` and the bounds of the taps of each
  /// are computed outside the loop over input features.
  void rowLoops(Values outputs);
  struct TapBounds {
    mlir::Value position, begin, end;
    bool single = false;
  };
  /// Taps whose element is valid, without base dilation: position + t * dilation
  /// in [begin, end).
  TapBounds tapBounds(int64_t n, mlir::Value output);
  bool isAlwaysValid(int64_t n);
  /// The body for each tap row that reads an element, with its taps and extended
  /// coordinates, in dimensions [n, bounds.size()).
  Values forTapRows(
      llvm::ArrayRef<TapBounds> bounds, Values taps, Values coords, mlir::ValueRange state,
      llvm::function_ref<Values(llvm::ArrayRef<mlir::Value>, llvm::ArrayRef<mlir::Value>, mlir::ValueRange)> body);
  mlir::Value isValid(int64_t n, mlir::Value element) {
    return l.both(l.lessEqual(dims[n].begin, element), l.less(element, dims[n].end));
  }

  /// Where elements with these extended coordinates lie. With a segment:
  /// coordinates are those of the rows, and the segment says where the column
  /// lies. Without: all dimensions are given and chosen at run time.
  Source sourceOf(llvm::ArrayRef<mlir::Value> coords, std::optional<Segment> segment, mlir::Value inputFeature);
  /// Slabs of halo dimension i, where the coordinate of spatial number n is
  /// theirs: earlier halo dimensions are extended there, later ones are not.
  void chooseSlab(Source &s, size_t i, size_t n, llvm::ArrayRef<mlir::Value> coords);

  Values initial(int64_t size);
  void store(llvm::ArrayRef<mlir::Value> outputs, mlir::Value column, mlir::ValueRange accumulators);
  void tiles(llvm::ArrayRef<mlir::Value> outputs);
  /// The sums of a tile whose columns are static but for `shift` elements.
  Values reduce(const TileRun &run, mlir::Value shift);
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
  mlir::Value broadcast(const Source &source);
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

  mlir::OpBuilder b;
  Loops l;
  LocalConvOp op;
  const VectorPlan &plan;
  const LoopOptions &options;
  mlir::VectorType vectorType;

  llvm::SmallVector<DimValues> dims;
  // Of columns of unknown extent: the end of the shard, extended; true if border
  // tiles fit.
  mlir::Value shardEnd, bordersKnown;
  mlir::Value shard, filter;
  Values slabs;
  // Of the block of features.
  mlir::Value outputBatch, inputBatch, firstFeature, packedBlock, feature, storedLanes;
  Values start;
  // Of the output row, and of the tile.
  llvm::SmallVector<TapBounds> rows;
  llvm::SmallVector<Place> places;
  std::map<int64_t, mlir::Value> conditions;
  mlir::Value countedColumns;
};

} // namespace ringconv

#endif
