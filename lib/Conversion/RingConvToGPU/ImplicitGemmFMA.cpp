// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolution of f32 and f64 as a matrix product by fused multiply-adds, for
// every layout of input and result.
//
// A slot of the ring holds, for one tap, rows of blockM pixels, one per input
// feature, then rows of blockN output features, one per input feature. A VECTOR
// is 16 bytes: V elements. A thread sums 2V pixels by warpN / 4 output features;
// of the warp's lanes eight stand side by side along pixels, four along features,
// so that both operands are read by 16 bytes without bank conflicts:
//
//   pixels    warpM + 8V * h + V * (lane % 8) + e          h < 2, e < V
//   features  warpN + 4V * j + V * (lane / 8) + e          j < warpN / 4V, e < V
//
// The input is copied element by element, since a tap shifts it by any number of
// elements. Neighbouring threads take what is contiguous: pixels (they then share
// one pixel for all features of the step), or features; rows then are one vector
// longer, so that the columns they write lie in different banks.
//
// Sums are taken in the order of CopyPipeline with `stepFeatures` features a step,
// whatever the tile; the bias is added to the sum.
#include "OutputWriter.h"
#include "Repack.h"
#include "TileChoice.h"
#include "TilePlace.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ringconv;

/// Elements of 16 bytes.
static int64_t vectorWidth(const ConvShape &shape) { return 16 / (shape.element.getIntOrFloatBitWidth() / 8); }

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
      : width(vectorWidth(shape)), depth(stepFeatures(shape)), featuresFastest(shape.sources[0].innermost == kFeature),
        pitch(tile.blockM + (featuresFastest ? width : 0)), wideFilter(hasWideFilter(shape)),
        vector(VectorType::get({width}, shape.element)), k(kernels, op, "conv_fma"), shape(shape), tile(tile),
        input(k, shape), filter(k, shape), output(k, shape, input, width), at(k, shape, tile),
        pipeline(k, shape.element, (pitch + tile.blockN) * depth, tile.stages) {}

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
  void fill(const SumStep &step, Value slot);
  void fillPixels(const SumStep &step, Value slot);
  SmallVector<Value> compute(Value slot, ValueRange sums);
  void store(ArrayRef<Value> sums);
  void storePixels(ArrayRef<Value> sums);
  Value load(Value base, int64_t offset);

  int64_t perThread() const { return tile.warpN / 4; }
  /// Pixels from `warpM` on, and output features, of the thread's vector number h.
  Value pixel(int64_t h) { return k.add(firstPixel, 8 * width * h); }
  Value feature(int64_t j) { return k.add(k.add(at.firstFeature, firstFeature), 4 * width * (j / width) + j % width); }

  const int64_t width, depth;
  const bool featuresFastest;
  const int64_t pitch;
  const bool wideFilter;
  const VectorType vector;
  KernelCode k;
  const ConvShape &shape;
  Tile tile;
  InputReader input;
  FilterReader filter;
  OutputWriter output;
  TilePlace at;
  CopyPipeline pipeline;

  /// The first input feature, within the step, that this thread copies of its
  /// pixels, the distance to the next, and their number.
  Value copyFeature;
  int64_t copyDistance, copyCount;
  SmallVector<PixelColumn> pixels;
  SmallVector<FilterPiece> pieces;
  /// What this thread multiplies, within the block.
  Value firstPixel, firstFeature;
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
    pixels.push_back({input.pixel(k.add(at.firstPixel, column), feature), k.add(k.mul(copyFeature, pitch), column)});
}

void ImplicitGemmFMA::placeFilter() {
  int64_t size = wideFilter ? width : 1, columns = tile.blockN / size;
  bool tail = filter.hasTail(tile.blockN);
  for (int64_t i = 0; i < columns * depth / tile.threads(); ++i) {
    Value piece = k.add(at.thread, i * tile.threads());
    Value column = k.mul(k.rem(piece, columns), size), row = k.div(piece, columns);
    Value feature = k.add(at.firstFeature, column);
    pieces.push_back({filter.row(k.add(filter.firstOutput(at.group), feature), row),
                      tail ? k.within(feature, filter.outputs) : Value(), row,
                      k.add(k.add(k.mul(row, tile.blockN), column), pitch * depth)});
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
      pipeline.copy(element.buffer, source, k.offset(to, i * copyDistance * pitch), 1, reads);
    }
  }
}

void ImplicitGemmFMA::fill(const SumStep &step, Value slot) {
  fillPixels(step, slot);
  bool tail = shape.features % depth != 0;
  Value stepOffset = filter.step(step);
  for (FilterPiece &piece : pieces) {
    Value reads = piece.exists ? k.bitAnd(step.live, piece.exists) : step.live;
    if (tail)
      reads = k.bitAnd(reads, k.within(k.add(step.feature, piece.inputFeature), shape.features));
    pipeline.copy(filter.pointer, k.unsignedIndex(k.add(piece.from, stepOffset)),
                  k.unsignedIndex(k.add(piece.to, slot)), wideFilter ? width : 1, reads);
  }
}

Value ImplicitGemmFMA::load(Value base, int64_t offset) {
  return vector::LoadOp::create(k.b, k.loc, vector, pipeline.memory(), k.offset(base, offset),
                                /*nontemporal=*/false, llvm::MaybeAlign(16));
}

SmallVector<Value> ImplicitGemmFMA::compute(Value slot, ValueRange sums) {
  SmallVector<Value> next(sums);
  Value pixelBase = k.unsignedIndex(k.add(firstPixel, slot));
  Value featureBase = k.unsignedIndex(k.add(k.add(firstFeature, pitch * depth), slot));
  for (int64_t i = 0; i < depth; ++i) {
    Value left[2] = {load(pixelBase, i * pitch), load(pixelBase, i * pitch + 8 * width)};
    SmallVector<Value> right;
    for (int64_t j = 0; j < perThread(); j += width)
      right.push_back(load(featureBase, i * tile.blockN + 4 * j));
    for (int64_t j = 0; j < perThread(); ++j) {
      Value one = vector::ExtractOp::create(k.b, k.loc, right[j / width], j % width);
      Value factor = vector::BroadcastOp::create(k.b, k.loc, vector, one);
      for (int64_t h = 0; h < 2; ++h)
        next[2 * j + h] = vector::FMAOp::create(k.b, k.loc, factor, left[h], next[2 * j + h]);
    }
  }
  return next;
}

/// Pixels of a feature at once.
void ImplicitGemmFMA::storePixels(ArrayRef<Value> sums) {
  OutputWriter::Places places[2] = {output.places(k.add(at.firstPixel, pixel(0))),
                                    output.places(k.add(at.firstPixel, pixel(1)))};
  for (int64_t j = 0; j < perThread(); ++j)
    output.features(feature(j), 1, filter.outputs, filter.firstOutput(at.group), [&] {
      for (int64_t h = 0; h < 2; ++h)
        output.storePixels(places[h], sums[2 * j + h]);
    });
}

void ImplicitGemmFMA::store(ArrayRef<Value> sums) {
  if (shape.output.innermost != kFeature)
    return storePixels(sums);
  for (int64_t j = 0; j < perThread(); j += width)
    output.features(feature(j), width, filter.outputs, filter.firstOutput(at.group), [&] {
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t e = 0; e < width; ++e) {
          Value values = sums[2 * j + h]; // any vector, overwritten
          for (int64_t i = 0; i < width; ++i) {
            Value one = vector::ExtractOp::create(k.b, k.loc, sums[2 * (j + i) + h], e);
            values = vector::InsertOp::create(k.b, k.loc, one, values, i);
          }
          output.storeFeatures(k.add(k.add(at.firstPixel, pixel(h)), e), values);
        }
    });
}

void ImplicitGemmFMA::build() {
  firstPixel = k.add(at.warpM, k.mul(k.bitAnd(at.lane, 7), width));
  firstFeature = k.add(at.warpN, k.mul(k.shiftRight(at.lane, 3), width));
  placePixels();
  placeFilter();
  Value zero = arith::ConstantOp::create(k.b, k.loc, k.b.getZeroAttr(vector));
  SmallVector<Value> sums(2 * perThread(), zero);
  sums = pipeline.run(
      shape, depth, sums, [&](const SumStep &step, Value slot) { fill(step, slot); },
      [&](Value slot, ValueRange now) { return compute(slot, now); });
  store(sums);
  launchTiles(k, shape, tile, pipeline.bytes());
}

void ringconv::makeImplicitGemmFMA(LocalConvOp op, KernelModule &kernels, const ConvShape &shape, const Tile &tile) {
  ImplicitGemmFMA(op, kernels, shape, tile).build();
}

std::string ringconv::whyNotImplicitGemmFMA(const ConvShape &shape) {
  if (!shape.element.isF32() && !shape.element.isF64())
    return "its elements are neither f32 nor f64";
  if (shape.features < 4 && shape.grouped)
    return "its groups have fewer than 4 input features";
  return whyNotTaps(shape);
}

/// The filter is read along output features.
bool ringconv::prepareImplicitGemmFMA(LocalConvOp op, KernelModule &kernels, ConvShape &shape) {
  if (shape.filter.innermost == kOutput)
    return false;
  SmallVector<int64_t> order;
  for (size_t n = 0; n < shape.dims.size(); ++n)
    order.push_back(n);
  order.append({kInput, kOutput});
  repack(op, kernels, shape.filter, order);
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

SmallVector<TileOption> ringconv::tilesFMA(const ConvShape &shape) {
  static constexpr TileOption single[] = {
      {{128, 128, 64, 32, 3}, 2, 0.75}, {{128, 128, 64, 64, 3}, 2, 0.76}, {{128, 64, 64, 32, 3}, 4, 0.72},
      {{64, 64, 64, 32, 3}, 8, 0.65},   {{64, 32, 64, 32, 3}, 12, 0.55},
  };
  static constexpr TileOption twice[] = {
      {{128, 64, 32, 32, 3}, 2, 0.75},
      {{64, 64, 32, 32, 3}, 4, 0.70},
      {{64, 32, 32, 32, 3}, 8, 0.60},
      {{32, 32, 32, 32, 3}, 12, 0.50},
  };
  SmallVector<TileOption> options;
  for (const TileOption &option : shape.element.isF64() ? ArrayRef(twice) : ArrayRef(single))
    if (sharesEvenly(option.tile, shape))
      options.push_back(option);
  return options;
}
