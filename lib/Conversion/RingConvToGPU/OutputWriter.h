// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a matrix-product kernel ends: bias, one rounding, the epilogue, and stores of
// several values at once, either output features of a pixel or pixels of a feature.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_OUTPUTWRITER_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_OUTPUTWRITER_H

#include "EpilogueReader.h"

#include <utility>

namespace ringconv {

class OutputWriter {
public:
  /// Makes the kernel's arguments for the result and the bias. `width` values are
  /// stored together.
  OutputWriter(KernelCode &k, const ConvShape &shape, InputReader &input, int64_t width);

  /// Writes `offset` elements further on.
  void moveBy(mlir::Value offset) { base = k.add(base, offset); }

  /// Where `condition` (i1) holds, what is stored from here on is without the epilogue.
  void leaveOutEpilogueIf(mlir::Value condition) { withoutEpilogue = condition; }

  /// Runs `body`, which stores sums of the `count` features from `feature` on.
  /// Features are numbers within the group, of which there are `outputs`;
  /// `groupOutput` is the group's first. Nothing happens where the first does not
  /// exist.
  void features(mlir::Value feature, int64_t count, mlir::Value outputs, mlir::Value groupOutput,
                llvm::function_ref<void()> body);

  /// Inside `features`: the bias in the type of sums, or null, for sums that begin
  /// with it; it is not added again.
  mlir::Value takeBias() { return std::exchange(biasVector, mlir::Value()); }
  /// Inside `features` of `width`: their sums, in parts, for pixel `m`.
  void storeFeatures(mlir::Value m, mlir::ValueRange parts);

  /// `width` pixels: whether they exist, and where they are. One entry if they
  /// are stored at once.
  struct Place {
    mlir::Value exists, pixel, offset;
  };
  using Places = llvm::SmallVector<Place>;
  /// Those from `m` on, a multiple of `width`.
  Places places(mlir::Value m);
  /// Inside `features` of 1: the feature's sums for these pixels.
  void storePixels(const Places &places, mlir::Value sums);

private:
  mlir::Value loadBias(int64_t count);
  mlir::Value pixelOffset(mlir::Value m);
  mlir::Value finish(mlir::Value sums);
  mlir::Value applyEpilogue(mlir::Value values, const OutputPlace &place);
  void storeAt(mlir::Value values, mlir::Value offset);
  void storeOne(mlir::Value values, int64_t i, const OutputPlace &place);
  mlir::VectorType vectorOf(mlir::Type element) const { return mlir::VectorType::get({width}, element); }

  KernelCode &k;
  const ConvShape &shape;
  InputReader &input;
  EpilogueReader epilogue;
  mlir::Value withoutEpilogue;
  int64_t width;
  mlir::Type sumType;
  mlir::Value pointer, base, batch, feature, bias, biasStride;
  llvm::SmallVector<mlir::Value> spatial;
  /// All `width` features (pixels) exist where the first does, at an aligned address.
  bool wholeFeatures, wholePixels;
  // The features of the current body: number of the first, in its group too.
  mlir::Value first, inGroup, outputs, biasVector;
};

} // namespace ringconv

#endif
