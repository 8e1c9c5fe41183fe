// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a matrix-product kernel ends: bias, one rounding, and stores of several
// output features of a pixel at once.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_OUTPUTWRITER_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_OUTPUTWRITER_H

#include "InputReader.h"

namespace ringconv {

class OutputWriter {
public:
  /// Output features that are stored at once.
  static constexpr int64_t kWidth = 8;

  /// Makes the kernel's arguments for the result and the bias.
  OutputWriter(KernelBuilder &k, const ConvShape &shape, InputReader &input);

  /// Features of the group from `feature` (a multiple of kWidth) on; those from
  /// `outputs` on do not exist. `body` calls store for pixels; nothing happens
  /// where all features lie outside.
  void features(mlir::Value feature, mlir::Value outputs, mlir::Value groupOutput, llvm::function_ref<void()> body);
  /// Adds the bias to kWidth sums in f32, given in parts, and writes them to
  /// pixel `m`, if that exists.
  void store(mlir::Value m, mlir::ValueRange parts);

private:
  mlir::Value loadBias();
  mlir::Value pixelOffset(mlir::Value m);

  KernelBuilder &k;
  const ConvShape &shape;
  InputReader &input;
  mlir::Value pointer, batch, feature, bias, biasStride;
  llvm::SmallVector<mlir::Value> spatial;
  /// All kWidth features exist where the first does, at an aligned address.
  bool whole;
  // The features of the current body.
  mlir::Value first, inGroup, outputs, biasVector;
};

} // namespace ringconv

#endif
