// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A local convolution as the GPU kernels see it: numbers and strides instead of
// tensors. Sizes that differ by rank are values of the host program; a kernel
// gets them as arguments.
//
// The kernels are matrix products: a row is a PIXEL, that is a batch element and
// a position of the result; a column is an output feature of one group; what is
// summed over are input features and taps.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_CONVSHAPE_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_CONVSHAPE_H

#include "ringconv/Dialect/RingConv/IR/RingConv.h"

#include "mlir/IR/OpDefinition.h"

namespace ringconv {

struct Epilogue;

/// One spatial dimension. Coordinates of the input are those of
/// `ringconv.local_conv`: extended by the slabs.
struct ConvDim {
  int64_t taps, stride, dilation, base;
  bool reverse;
  /// Where the number of taps depends on the rank: it is at most `taps`.
  mlir::OpFoldResult tapCount;
  /// Extent of the result; extended coordinate that output 0 reads by tap 0; the
  /// elements that may be read.
  mlir::OpFoldResult outputs, offset, validBegin, validEnd;
  /// Place among the dimensions with slabs, -1 for none; extents of the low slab,
  /// of the shard, and of the high slab there.
  int64_t halo = -1;
  mlir::OpFoldResult low, own, high;
  /// Output o is output firstOutput + outputStep * o of the operation.
  int64_t firstOutput = 0, outputStep = 1;

  /// True if every tap of every output is known to lead to an element.
  bool readsOnlyElements() const;
};

/// A buffer and its strides, in elements. In a filter `batch` stands for output
/// features.
struct ConvBuffer {
  mlir::Value buffer;
  /// The numbers of its dimensions.
  llvm::SmallVector<int64_t> dims;
  /// Of element (0, ..., 0) from the buffer's first.
  mlir::OpFoldResult offset;
  mlir::OpFoldResult batch, feature;
  llvm::SmallVector<mlir::OpFoldResult> spatial;
  /// The dimension number that is contiguous and last; kNone where there is none.
  static constexpr int64_t kNone = -3;
  int64_t innermost = kNone;
  /// 8, 4, 2 or 1: the first element and all other strides are multiples of it.
  int64_t alignment = 1;

  /// True if `width` elements along dimension `number` can be accessed at once
  /// wherever its index is a multiple of `width`.
  bool isVector(int64_t number, int64_t width) const { return innermost == number && alignment % width == 0; }
};

struct ConvShape {
  mlir::Type element, result;
  /// Input features per group, output features per group, groups. A grouped
  /// convolution may have one group left on this rank.
  int64_t features;
  bool grouped;
  mlir::OpFoldResult batch, outputs, groups;
  llvm::SmallVector<ConvDim> dims;
  /// The shard, then a low and a high slab per dimension with slabs.
  llvm::SmallVector<ConvBuffer> sources;
  ConvBuffer filter, output;
  /// Of the result's type; its buffer may be null.
  ConvBuffer bias;
  /// Positions of one batch element (of all) follow each other in the result at
  /// one distance.
  bool densePositions = false, densePixels = false;
  /// What is done to the result's elements; null for nothing.
  const Epilogue *epilogue = nullptr;

  int64_t taps() const;
  /// Extended coordinate, in dimension `d`, of the first element of source `s`.
  mlir::OpFoldResult origin(mlir::OpBuilder &b, mlir::Location loc, size_t s, size_t d) const;
  /// The dimension with slabs that source `s` is a slab of, -1 for the shard.
  static int64_t haloOf(size_t s) { return s == 0 ? -1 : int64_t(s - 1) / 2; }
  static bool isHigh(size_t s) { return s != 0 && (s - 1) % 2; }
};

/// The description of a memref whose dimensions have these numbers, after `leading`
/// ones of which element 0 is meant.
ConvBuffer describeBuffer(mlir::OpBuilder &b, mlir::Location loc, mlir::Value memref, llvm::ArrayRef<int64_t> dims,
                          int64_t leading = 0);

/// Reads reversed taps by negative strides of the filter; no dimension is reversed
/// after it.
void reverseTaps(mlir::OpBuilder &b, mlir::Location loc, ConvShape &shape);

/// The description of `op`, which stands on memrefs; arithmetic that sizes need
/// is made at `b`. Why not, where the shape has batch groups.
std::optional<ConvShape> describeConv(mlir::OpBuilder &b, LocalConvOp op, std::string &reason);

} // namespace ringconv

#endif
