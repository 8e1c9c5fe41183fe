// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolution of f32 and f64 as a matrix product by fused multiply-adds, for
// every layout of input and result (see FmaTile.h).
//
// A step has `depth` input features of one tap. The input is copied element by
// element, since a tap shifts it by any number of elements. Neighbouring threads
// take what is contiguous: pixels (they then share one pixel for all features of
// the step), or features.
//
// Terms are added in the order of TapWalk, with a depth that depends on the input
// features alone, whatever the tile; the bias is added to the sum.
#include "ConvKernels.h"
#include "FmaTile.h"
#include "Repack.h"

using namespace mlir;
using namespace ringconv;

/// Input features of a step.
static int64_t stepFeatures(const ConvShape &shape) { return shape.features <= 4 ? 4 : 8; }

/// True if the filter is copied by vectors of output features.
static bool hasWideFilter(const ConvShape &shape) {
  std::optional<int64_t> outputs = getConstantIntValue(shape.outputs);
  int64_t width = vectorWidth(shape);
  return shape.filter.isVector(kOutput, width) && outputs && *outputs % width == 0;
}

namespace {

class ImplicitGemmFMA {
public:
  ImplicitGemmFMA(LocalConvOp op, KernelModule &kernels, const ConvShape &shape, const Tile &tile)
      : depth(stepFeatures(shape)), featuresFastest(shape.sources[0].innermost == kFeature),
        filterWidth(hasWideFilter(shape) ? vectorWidth(shape) : 1), k(kernels, op, "conv_fma"), op(op), shape(shape),
        tile(tile), input(k, shape), filter(k, shape), output(k, shape, input, vectorWidth(shape)), at(k, shape, tile),
        product(k, shape, tile, at, depth, pitch(), tile.blockN),
        pipeline(k, shape.element, product.slotElements(), tile.stages) {}

  void build();

private:
  /// A pixel of which this thread copies some features.
  struct PixelColumn {
    PixelInput pixel;
    Value to;
  };
  /// One element or vector of the filter that this thread copies.
  struct FilterPiece {
    Value from, exists, inputFeature, to; // exists: null for true
  };

  void placePixels();
  void placeFilter();
  void fill(SumStep step, Value slot);
  void fillPixels(const SumStep &step, Value slot);
  int64_t pitch() const { return tile.blockM + (featuresFastest ? vectorWidth(shape) : 0); }

  const int64_t depth;
  const bool featuresFastest;
  const int64_t filterWidth; // output features that are copied at once
  KernelCode k;
  LocalConvOp op;
  const ConvShape &shape;
  Tile tile;
  InputReader input;
  FilterReader filter;
  OutputWriter output;
  TilePlace at;
  FmaTile product;
  CopyPipeline pipeline;

  /// The first input feature, within the step, that this thread copies of its
  /// pixels, the distance to the next, and their number.
  Value copyFeature;
  int64_t copyDistance, copyCount;
  SmallVector<PixelColumn> pixels;
  SmallVector<FilterPiece> pieces;
};

} // namespace

void ImplicitGemmFMA::placePixels() {
  int64_t threads = tile.threads();
  SmallVector<Value> columns;
  if (featuresFastest) {
    copyFeature = k.rem(at.thread, depth);
    copyDistance = depth;
    copyCount = 1;
    for (int64_t i = 0; i < tile.blockM * depth / threads; ++i)
      columns.push_back(k.add(k.div(at.thread, depth), i * (threads / depth)));
  } else {
    copyFeature = k.div(at.thread, tile.blockM);
    copyDistance = std::max<int64_t>(threads / tile.blockM, 1);
    copyCount = depth / copyDistance;
    for (int64_t i = 0; i < std::max<int64_t>(tile.blockM / threads, 1); ++i)
      columns.push_back(k.add(k.rem(at.thread, tile.blockM), i * threads));
  }
  Value feature = k.add(k.mul(at.group, shape.features), copyFeature);
  for (Value column : columns)
    pixels.push_back({input.pixel(k.add(at.firstPixel, column), feature), product.pixelPlace(copyFeature, column)});
}

void ImplicitGemmFMA::placeFilter() {
  int64_t columns = tile.blockN / filterWidth;
  bool tail = filter.hasTail(tile.blockN);
  for (int64_t i = 0; i < columns * depth / tile.threads(); ++i) {
    Value piece = k.add(at.thread, i * tile.threads());
    Value column = k.mul(k.rem(piece, columns), filterWidth), row = k.div(piece, columns);
    Value feature = k.add(at.firstFeature, column);
    pieces.push_back({filter.row(k.add(filter.firstOutput(at.group), feature), row),
                      tail ? k.within(feature, filter.outputs) : Value(), row, product.featurePlace(row, column)});
  }
}

void ImplicitGemmFMA::fillPixels(const SumStep &step, Value slot) {
  bool tail = shape.features % depth != 0;
  TapInput tap = input.tap(step.taps, step.feature, step.live);
  for (PixelColumn &column : pixels) {
    InputElement element = input.element(column.pixel, tap);
    std::optional<int64_t> distance = getConstantIntValue(element.featureStride);
    Value from = k.signedIndex(element.offset), to = k.unsignedIndex(k.add(column.to, slot));
    for (int64_t i = 0; i < copyCount; ++i) {
      Value reads = element.reads;
      if (tail)
        reads = k.bitAnd(reads, k.within(k.add(k.add(step.feature, copyFeature), i * copyDistance), shape.features));
      Value source = distance ? k.signedOffset(from, i * copyDistance * *distance)
                              : k.add(from, k.signedIndex(k.mul(element.featureStride, i * copyDistance)));
      pipeline.copy(element.buffer, source, k.offset(to, i * copyDistance * pitch()), 1, reads);
    }
  }
}

void ImplicitGemmFMA::fill(SumStep step, Value slot) {
  step.live = k.bitAnd(step.live, input.hasTaps(step.taps));
  fillPixels(step, slot);
  bool tail = shape.features % depth != 0;
  Value stepOffset = filter.step(step.feature, step.taps);
  for (FilterPiece &piece : pieces) {
    Value reads = piece.exists ? k.bitAnd(step.live, piece.exists) : step.live;
    if (tail)
      reads = k.bitAnd(reads, k.within(k.add(step.feature, piece.inputFeature), shape.features));
    pipeline.copy(filter.pointer, k.unsignedIndex(k.add(piece.from, stepOffset)),
                  k.unsignedIndex(k.add(piece.to, slot)), filterWidth, reads);
  }
}

void ImplicitGemmFMA::build() {
  placePixels();
  placeFilter();
  TapWalk walk(k, shape, depth);
  SmallVector<Value> sums = pipeline.run(
      walk, product.zeros(), [&](ValueRange state, Value live, Value slot) { fill(walk.at(state, live), slot); },
      [&](Value slot, ValueRange now) { return product.compute(pipeline.memory(), slot, now); });
  Value nan = meetsNaN(k, shape, sums);
  output.leaveOutEpilogueIf(nan);
  product.store(output, filter, sums);
  repairPadding(k, op, shape, input, nan, product.pixels(), product.features(), filter.outputs,
                filter.firstOutput(at.group));
  launchTiles(k, shape, tile, pipeline.bytes());
}

static void make(LocalConvOp op, KernelModule &kernels, const ConvShape &shape, const Tile &tile) {
  ImplicitGemmFMA(op, kernels, shape, tile).build();
}

static std::string whyNot(const ConvShape &shape) {
  if (!shape.element.isF32() && !shape.element.isF64())
    return "its elements are neither f32 nor f64";
  if (shape.features < 4 && shape.grouped)
    return "its groups have fewer than 4 input features";
  return whyNotTaps(shape);
}

/// The filter is read along output features.
static bool prepare(LocalConvOp op, KernelModule &kernels, ConvShape &shape) {
  if (shape.filter.innermost == kOutput)
    return false;
  SmallVector<int64_t> order;
  for (size_t n = 0; n < shape.dims.size(); ++n)
    order.push_back(n);
  order.append({kInput, kOutput});
  repackFilter(op, kernels, shape, order);
  return true;
}

/// Every thread copies equally much of a step.
static bool sharesEvenly(const Tile &tile, const ConvShape &shape) {
  int64_t depth = stepFeatures(shape), threads = tile.threads();
  int64_t pieces = tile.blockN * depth / (hasWideFilter(shape) ? vectorWidth(shape) : 1);
  if (pieces % threads != 0)
    return false;
  if (shape.sources[0].innermost == kFeature)
    return tile.blockM * depth % threads == 0 && threads % depth == 0;
  return threads <= tile.blockM ? tile.blockM % threads == 0
                                : threads % tile.blockM == 0 && depth % (threads / tile.blockM) == 0;
}

static SmallVector<TileOption> tilesFor(const ConvShape &shape) {
  static constexpr TileOption single[] = {
      {{128, 128, 64, 32, 3, 2}, 2, 0.75}, {{128, 128, 64, 64, 3, 2}, 2, 0.76}, {{128, 64, 64, 32, 3, 4}, 4, 0.72},
      {{64, 64, 64, 32, 3, 8}, 8, 0.65},   {{64, 32, 64, 32, 3, 16}, 12, 0.55},
  };
  static constexpr TileOption twice[] = {
      {{128, 64, 32, 32, 3, 1}, 1, 0.75},
      {{64, 64, 32, 32, 3, 3}, 3, 0.70},
      {{64, 32, 32, 32, 3, 6}, 6, 0.60},
      {{32, 32, 32, 32, 3, 12}, 12, 0.50},
  };
  SmallVector<TileOption> options;
  for (const TileOption &option : shape.element.isF64() ? ArrayRef(twice) : ArrayRef(single))
    if (sharesEvenly(option.tile, shape))
      options.push_back(option);
  return options;
}

const ConvFamily ringconv::implicitGemmFMA = {"matrix product by fused multiply-adds", true, whyNot, prepare, tilesFor, make};
