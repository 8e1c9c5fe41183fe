// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a kernel reads the input of a convolution: which taps of a pixel read an
// element, from which buffer (the shard or a slab), at which offset.
//
// All that depends on the pixel is computed once, before the loop over features
// and taps: per buffer the offset of tap 0, and words with one bit per tap. All
// that depends on the tap is the same for every thread. In the loop remain a few
// bit tests, selections and one addition; there is no branch:
//
//   reads an element   valid & bit(tap) != 0          (else zeros are copied)
//   reads slab s       inSlab[s] & bit(tap) != 0
//   offset             base[s](pixel) + offset[s](tap, feature)
#ifndef RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_INPUTREADER_H
#define RINGCONV_LIB_CONVERSION_RINGCONVTOGPU_INPUTREADER_H

#include "ConvShape.h"
#include "KernelCode.h"

namespace ringconv {

/// What a thread knows of a pixel. The lists have an entry per buffer that is
/// read; the shard is the first and needs no word.
struct PixelInput {
  mlir::Value valid;
  llvm::SmallVector<mlir::Value> inSlab, base;
};

/// A tap and a feature, the same for all threads.
struct TapInput {
  /// One bit, or 0 where nothing is read.
  mlir::Value bit;
  llvm::SmallVector<mlir::Value> offset;
};

/// Place of one element. `reads` is false in padding; the address is then not to
/// be used.
struct InputElement {
  mlir::Value reads, buffer, offset;
  /// Distance of neighbouring features in this buffer.
  mlir::Value featureStride;
};

/// Why a kernel with an InputReader does not take a shape; empty where it does.
std::string whyNotTaps(const ConvShape &shape);

class InputReader {
public:
  /// Words hold a bit per tap.
  static constexpr int64_t kMaxTaps = 64;

  /// Makes the kernel's arguments for the input.
  InputReader(KernelCode &k, const ConvShape &shape);

  /// Pixel `m`, in the order batch, then spatial dimensions; reads nothing from
  /// `pixels` on. The address is that of input feature `feature`.
  PixelInput pixel(mlir::Value m, mlir::Value feature);
  /// Tap `taps` (per spatial dimension), `features` further on; reads nothing
  /// unless `live`.
  TapInput tap(mlir::ValueRange taps, mlir::Value features, mlir::Value live);
  InputElement element(const PixelInput &pixel, const TapInput &tap);
  /// The element of a batch element and feature at these coordinates, without
  /// words: for kernels whose taps differ by thread. Not read unless `exists`.
  InputElement element(mlir::Value batch, mlir::ValueRange at, mlir::Value feature, mlir::Value exists);

  /// Other memory in the type that elements' buffers have.
  mlir::Value asBuffer(mlir::Value pointer);
  /// Number of pixels, and of those of one batch element.
  mlir::Value pixels() const { return pixelCount; }
  mlir::Value positions() const { return positionCount; }
  /// Batch element and position of a pixel.
  llvm::SmallVector<mlir::Value> coordinates(mlir::Value m);
  /// Coordinate that output `o` reads by tap 0 of dimension `d`.
  mlir::Value first(size_t d, mlir::Value o);
  /// False (i1) for taps that this rank does not have.
  mlir::Value hasTaps(mlir::ValueRange taps);
  /// Number of a tap, the last spatial dimension fastest.
  mlir::Value tapNumber(mlir::ValueRange taps);

private:
  /// A dimension's numbers in the kernel.
  struct Dim {
    mlir::Value outputs, offset, validBegin, validCount, tapCount, low, own;
  };
  /// A buffer: strides, and which side of which dimension with slabs it is.
  struct Source {
    mlir::Value pointer, batch, feature;
    llvm::SmallVector<mlir::Value> spatial, origin;
    int64_t halo = -1;
    bool high = false;
  };
  using Flags = llvm::SmallVector<mlir::Value>;

  void addSource(size_t s);
  mlir::Value tapWord(llvm::ArrayRef<Flags> flags);
  Flags validTaps(size_t d, mlir::Value first);
  Flags tapsIn(const Source &source, size_t d, mlir::Value first);
  mlir::Value isIn(const Source &source, size_t d, mlir::Value at);
  mlir::Value open(const Source &source) { return asBuffer(source.pointer); }

  KernelCode &k;
  const ConvShape &shape;
  mlir::Type wordType;
  llvm::SmallVector<Dim> dims;
  llvm::SmallVector<Source> sources;
  mlir::Value pixelCount, positionCount;
};

} // namespace ringconv

#endif
