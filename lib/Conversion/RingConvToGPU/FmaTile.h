// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of a matrix product by fused multiply-adds that a block computes.
//
// A slot holds, for each of `depth` terms of the sum, a row of blockM pixels, then
// for each term a row of blockN output features. A VECTOR is 16 bytes: V elements.
// A thread sums 2V pixels by warpN / 4 output features; of the warp's lanes eight
// stand side by side along pixels, four along features, so that both operands are
// read by 16 bytes without bank conflicts:
//
//   pixels    warpM + 8V * h + V * (lane % 8) + e          h < 2, e < V
//   features  warpN + 4V * j + V * (lane / 8) + e          j < warpN / 4V, e < V
//
// Terms are added in their order, one at a time.
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_FMATILE_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_FMATILE_H

#include "OutputWriter.h"
#include "PaddingRepair.h"
#include "TilePlace.h"

namespace ringconv {

/// Elements of 16 bytes.
int64_t vectorWidth(const ConvShape &shape);

class FmaTile {
public:
  /// `pixelPitch`, `featurePitch`: elements from one row to the next, at least
  /// blockM and blockN. Threads that copy different terms of one pixel write to one
  /// column: with rows one vector longer these lie in different banks.
  FmaTile(KernelCode &k, const ConvShape &shape, const Tile &tile, const TilePlace &at, int64_t depth,
          int64_t pixelPitch, int64_t featurePitch);

  int64_t slotElements() const { return (pixelPitch + featurePitch) * depth; }
  /// Place in the slot of term `t` of a pixel (an output feature) of the block.
  mlir::Value pixelPlace(mlir::Value t, mlir::Value pixel) { return k.add(k.mul(t, pixelPitch), pixel); }
  mlir::Value featurePlace(mlir::Value t, mlir::Value feature) {
    return k.add(k.add(k.mul(t, featurePitch), feature), pixelPitch * depth);
  }

  /// No sums yet; the products of a slot added to them; written to the result.
  llvm::SmallVector<mlir::Value> zeros();
  llvm::SmallVector<mlir::Value> compute(mlir::Value memory, mlir::Value slot, mlir::ValueRange sums);
  void store(OutputWriter &output, FilterReader &filter, llvm::ArrayRef<mlir::Value> sums);
  /// What this thread writes.
  ThreadShare pixels() { return {pixel(0), width, 8 * width, 2 * width}; }
  ThreadShare features() { return {feature(0), width, 4 * width, perThread()}; }

private:
  mlir::Value load(mlir::Value memory, mlir::Value base, int64_t offset);
  void storePixels(OutputWriter &output, FilterReader &filter, llvm::ArrayRef<mlir::Value> sums);
  int64_t perThread() const { return tile.warpN / 4; }

  mlir::Value pixel(int64_t h) { return k.add(k.add(at.firstPixel, firstPixel), 8 * width * h); }
  mlir::Value feature(int64_t j) {
    return k.add(k.add(at.firstFeature, firstFeature), 4 * width * (j / width) + j % width);
  }

  KernelCode &k;
  const ConvShape &shape;
  Tile tile;
  const TilePlace &at;
  int64_t width, depth, pixelPitch, featurePitch;
  mlir::VectorType vector;
  mlir::Value firstPixel, firstFeature; // of this thread, within the block
};

} // namespace ringconv

#endif
