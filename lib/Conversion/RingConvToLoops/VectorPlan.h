// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the vectorised form of a local convolution knows before any loop is
// written: lanes, tiles of output columns, and what each tile reads.
//
// Lanes are output features. A tile is a run of outputs along the last spatial
// dimension (its COLUMNS), one vector of accumulators each. A scalar of the
// input is broadcast once and feeds every output of the tile that a tap leads
// to. The other spatial dimensions are ROWS, walked by loops.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOLOOPS_VECTORPLAN_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOLOOPS_VECTORPLAN_H

#include "Loops.h"

namespace ringconv {

/// Bounds of a number that ranks may have different values of.
struct Bounds {
  int64_t min, max;
};
/// Bounds of an index value, from tables and simple arithmetic on them; the
/// whole range of the type where nothing is known.
Bounds boundsOf(mlir::Value value);
/// The value modulo `modulus`, where it is the same on all ranks.
std::optional<int64_t> residueOf(mlir::Value value, int64_t modulus);

/// A tap that leads from an element to an output of the tile.
struct TileUse {
  int64_t output, tap;
};
/// An element that a tile reads, and the taps by which it does.
struct TileColumn {
  int64_t element;
  llvm::SmallVector<TileUse> uses;
};
/// `count` equal tiles of `size` outputs from `begin` on. More than one: all
/// read valid elements of the shard only, `step` elements further each time.
struct TileRun {
  int64_t begin, size, count = 1, step = 0;
  bool interior = false;
};

/// The last spatial dimension; kDynamic where a number is not known.
struct ColumnWindow {
  int64_t taps, stride, dilation, base;
  int64_t offset, outputs;
  int64_t low = 0, own, high = 0;
  Bounds validBegin, validEnd;
  bool isStatic() const;
  /// True if the element may (must) be read where a tap leads to it.
  bool mayBeValid(int64_t e) const { return e >= validBegin.min && e < validEnd.max; }
  bool mustBeValid(int64_t e) const { return e >= validBegin.max && e < validEnd.min; }
  /// Columns that outputs [begin, begin + size) read, ascending; holes are left
  /// out, padding where it is known.
  llvm::SmallVector<TileColumn> columns(int64_t begin, int64_t size) const;
};

/// What all vectorised forms ask of a local convolution or pool.
struct VectorShape {
  mlir::Type element, accumulator;
  int64_t lanes;
  /// Output features per group, input features that each of them reads; what
  /// groups divide.
  int64_t groups = 1, perGroup = 1, features = 1;
  bool featureGroups = false, batchGroups = false;
  llvm::SmallVector<int64_t> taps;
  /// Dimension of each spatial number.
  llvm::SmallVector<int64_t> inputDims, filterDims, outputDims;
};

/// The shape, or why no vectorised form fits.
std::optional<VectorShape> readVectorShape(LocalConvOp op, const LoopOptions &options, std::string &reason);
std::optional<VectorShape> readVectorShape(LocalPoolOp op, const LoopOptions &options, std::string &reason);

struct VectorPlan : VectorShape {
  /// Lanes are groups of one feature each, which lie side by side in the input
  /// too: in place of a broadcast scalar there is a vector of it. The groups count
  /// as the output features of one group.
  bool depthwise = false;
  /// Vectors of output features per tile, outputs per tile.
  int64_t vectors, tile;
  /// Entries of the batch per tile: where outputs are few, as in the gradient of a
  /// filter, they give the accumulators that hide the latency.
  int64_t batch = 1;
  /// Input features per pass over the outputs of a block. Of more than one pass,
  /// all but the last leave their sums in a buffer.
  int64_t pass;
  /// Tiles of a row that all blocks compute before the next tiles, where there are
  /// no other rows: their input stays in the second cache.
  int64_t stretch;
  ColumnWindow columns;
  /// Empty where columns are not static.
  llvm::SmallVector<TileRun> tiles;

  int64_t width() const { return lanes * vectors; }
  int64_t blocks() const { return (perGroup + width() - 1) / width(); }
  int64_t rows() const { return int64_t(taps.size()) - 1; }
  int64_t passes() const { return (features + pass - 1) / pass; }
};

/// The plan, or why the vectorised form does not fit.
std::optional<VectorPlan> planVectorLoops(LocalConvOp op, const LoopOptions &options, std::string &reason);

/// The columns of an operation.
ColumnWindow readColumns(LocalConvOp op, const VectorShape &shape);

/// The forms with lanes along the columns: convolutions with few output features
/// per group, and pools; false, with the operation untouched, where they do not
/// fit.
bool lowerToColumns(LocalConvOp op, const LoopOptions &options, std::string &reason);
bool lowerToColumns(LocalPoolOp op, const LoopOptions &options, std::string &reason);

/// The form of the former that needs columns whose extents and borders are known;
/// false where they are not, or where it does not fit otherwise.
bool lowerToDirectColumns(LocalConvOp op, const VectorShape &shape, const LoopOptions &options);

/// The operation once for each size and offset that its columns have on some
/// rank, with static columns, in branches of which each rank takes one; none, with
/// the operation untouched, where there are too many or they are not known.
llvm::SmallVector<LocalConvOp> specializeColumns(LocalConvOp op);

/// The operation with one spatial dimension, in place of one whose outputs read
/// nothing but the element of their own coordinates; others as they are.
LocalConvOp flattenPointwise(LocalConvOp op);

/// Exchanges input and filter in place, where each output is one sum over the whole
/// input and the input has fewer entries of the batch than the filter has outputs.
bool swapOperands(LocalConvOp op);

} // namespace ringconv

#endif
