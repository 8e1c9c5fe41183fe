// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How kernels reach the input of a local convolution or pool: which taps read an
// element, and whether it lies in the shard or in a slab. Extended coordinates
// count [low slab | shard | high slab].
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOLOOPS_WINDOWACCESS_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOLOOPS_WINDOWACCESS_H

#include "LoopBuilder.h"
#include "VectorPlan.h"

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

/// What local convolutions and pools have in common.
struct LocalWindow {
  template <typename OpTy>
  explicit LocalWindow(OpTy op)
      : operation(op), input(op.getInput()), init(op.getInit()), halos(op.getHalos()), scalars(op.getScalars()),
        inputDims(op.getInputDims()), outputDims(op.getOutputDims()), haloDims(op.getHaloDims()),
        stride(op.getStride()), lhsDilate(op.getLhsDilate()), rhsDilate(op.getRhsDilate()), offset(op.getOffset()),
        validBegin(op.getValidBegin()), validEnd(op.getValidEnd()) {}

  mlir::Operation *operation;
  mlir::Value input, init;
  mlir::ValueRange halos, scalars;
  llvm::ArrayRef<int64_t> inputDims, outputDims, haloDims, stride, lhsDilate, rhsDilate, offset, validBegin, validEnd;
};

class WindowAccess {
protected:
  WindowAccess(LocalWindow window, const VectorShape &shape)
      : b(window.operation), l{b, window.operation->getLoc()}, window(window), shape(shape),
        vectorType(mlir::VectorType::get({shape.lanes}, shape.accumulator)) {}

  int64_t last() { return shape.taps.size() - 1; }
  /// Loops without state; none around a body that runs once.
  void forEach(mlir::Value count, llvm::function_ref<void(mlir::Value)> body);
  void forEach(int64_t count, llvm::function_ref<void(mlir::Value)> body);

  /// Reads the operation's numbers. First of all.
  void prepare();
  /// Sets the batch and the first input feature that outputs of a group read.
  void enterGroup(mlir::Value n, mlir::Value group);

  struct TapBounds {
    mlir::Value position, begin, end;
    bool single = false;
  };
  /// Taps whose element is valid, without base dilation: position + t * dilation
  /// in [begin, end).
  TapBounds tapBounds(int64_t n, mlir::Value output);
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

  /// The filter at an output feature, an input feature of its group, and the taps of
  /// the rows and of the column, in the accumulator's type.
  mlir::Value filterElement(LocalConvOp op, mlir::Value output, mlir::Value feature,
                            llvm::ArrayRef<mlir::Value> rowTaps, int64_t tap);

  mlir::OpBuilder b;
  Loops l;
  LocalWindow window;
  const VectorShape &shape;
  mlir::VectorType vectorType;

  llvm::SmallVector<DimValues> dims;
  mlir::Value shard;
  Values slabs;
  // Of the group of features.
  mlir::Value outputBatch, inputBatch, firstFeature;

private:
  /// Entry of halo_dims for a spatial number; -1: none.
  int64_t haloOf(int64_t n);
  int64_t spatialOf(int64_t d) { return llvm::find(shape.inputDims, d) - shape.inputDims.begin(); }
  /// Shard and slabs under one type, so that a select can choose. Strides of 1
  /// stay static.
  void castSources();
  bool isAlwaysValid(int64_t n);
  /// Slabs of halo dimension i, where the coordinate of spatial number n is
  /// theirs: earlier halo dimensions are extended there, later ones are not.
  void chooseSlab(Source &s, size_t i, size_t n, llvm::ArrayRef<mlir::Value> coords);
};

} // namespace ringconv

#endif
