// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolution of 16-bit floats with features innermost, as a matrix product on
// tensor cores (mma.sync, m16n8k16) with sums in f32.
//
// A slot of the ring holds kBlockK features of one tap: first a row of blockM
// pixels, then a row of blockN output features. Rows are 64 bytes, four CHUNKS of
// eight features; chunks are permuted within a row such that neither the copies
// nor the loads of fragments meet bank conflicts:
//
//   pixels            chunk ^ (row / 2 % 4)     read by 8 consecutive rows
//   output features   chunk ^ (row / 8 % 4)     read by rows {0,1,8,9,16,17,24,25} + 2j
//
// The second order of reading makes a lane end up with eight CONSECUTIVE output
// features: column i of the j-th 8-wide product of 32 features is feature
// 8 * (i / 2) + 2 * j + i % 2. The result is then written 16 bytes at once.
//
// Sums are taken in the order of CopyPipeline with kBlockK features a step, 16 of
// them an instruction, whatever the tile; the bias is added to the sum.
#include "ConvKernels.h"
#include "OutputWriter.h"
#include "PaddingRepair.h"
#include "Repack.h"
#include "TensorCore.h"
#include "TilePlace.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ringconv;

namespace {

constexpr int64_t kBlockK = 32, kChunk = 8, kChunks = kBlockK / kChunk;

class ImplicitGemmF16 {
public:
  ImplicitGemmF16(LocalConvOp op, KernelModule &kernels, const ConvShape &shape, const Tile &tile)
      : k(kernels, op, "conv_f16"), op(op), shape(shape), tile(tile), input(k, shape), filter(k, shape),
        output(k, shape, input, kChunk), at(k, shape, tile),
        pipeline(k, shape.element, (tile.blockM + tile.blockN) * kBlockK, tile.stages) {}

  void build();

private:
  /// Rows that this thread copies: a pixel, or an output feature; and where to.
  struct PixelRow {
    PixelInput pixel;
    Value to;
  };
  struct FeatureRow {
    Value from, exists, to; // exists: null for true
  };

  /// Places within a slot.
  Value chunkAddress(Value row, Value chunk, int64_t swizzleShift) {
    Value swizzled = k.bitXor(chunk, k.bitAnd(k.shiftRight(row, swizzleShift), kChunks - 1));
    return k.add(k.mul(row, kBlockK), k.mul(swizzled, kChunk));
  }
  Value pixelAddress(Value row, Value chunk) { return chunkAddress(row, chunk, 1); }
  Value featureAddress(Value row, Value chunk) { return k.add(chunkAddress(row, chunk, 3), tile.blockM * kBlockK); }

  void placeCopies();
  void placeFragments();
  void fill(const SumStep &step, Value slot);
  SmallVector<Value> compute(Value slot, ValueRange sums);
  void store(ArrayRef<Value> sums);

  int64_t tilesM() const { return tile.warpM / 16; }
  int64_t tilesN() const { return tile.warpN / 8; }

  KernelCode k;
  LocalConvOp op;
  const ConvShape &shape;
  Tile tile;
  InputReader input;
  FilterReader filter;
  OutputWriter output;
  TilePlace at;
  CopyPipeline pipeline;

  Value chunkFeature; // first feature, within the step, of the chunk this thread copies
  SmallVector<PixelRow> pixels;
  SmallVector<FeatureRow> features;
  /// Addresses within a slot of this lane's row, per 16 features.
  SmallVector<Value> pixelFragments, featureFragments;
};

} // namespace

/// Four threads copy a row; each copies rows at a distance of threads / 4.
void ImplicitGemmF16::placeCopies() {
  int64_t rows = tile.threads() / kChunks;
  Value first = k.div(at.thread, kChunks), chunk = k.rem(at.thread, kChunks);
  chunkFeature = k.mul(chunk, kChunk);
  Value groupFeature = k.add(k.mul(at.group, shape.features), chunkFeature);
  for (int64_t i = 0; i < tile.blockM / rows; ++i) {
    Value row = k.add(first, i * rows);
    pixels.push_back({input.pixel(k.add(at.firstPixel, row), groupFeature), pixelAddress(row, chunk)});
  }
  bool tail = filter.hasTail(tile.blockN);
  for (int64_t i = 0; i < tile.blockN / rows; ++i) {
    Value row = k.add(first, i * rows), feature = k.add(at.firstFeature, row);
    Value from = filter.row(k.add(filter.firstOutput(at.group), feature), chunkFeature);
    features.push_back({from, tail ? k.within(feature, filter.outputs) : Value(), featureAddress(row, chunk)});
  }
}

void ImplicitGemmF16::placeFragments() {
  Value pixelRow = k.add(at.warpM, k.bitAnd(at.lane, 15)), pixelChunk = k.shiftRight(at.lane, 4);
  // Lanes 0-7 and 8-15 give the two chunks of one 8-wide product, 16-31 those of the next.
  Value column = k.bitAnd(at.lane, 7), product = k.shiftRight(at.lane, 4);
  Value within = k.add(k.mul(k.shiftRight(column, 1), 8), k.add(k.bitAnd(column, 1), k.mul(product, 2)));
  Value featureRow = k.add(at.warpN, within), featureChunk = k.bitAnd(k.shiftRight(at.lane, 3), 1);
  for (int64_t step = 0; step < kBlockK / 16; ++step) {
    pixelFragments.push_back(pixelAddress(pixelRow, k.add(pixelChunk, 2 * step)));
    featureFragments.push_back(featureAddress(featureRow, k.add(featureChunk, 2 * step)));
  }
}

void ImplicitGemmF16::fill(const SumStep &step, Value slot) {
  Value live = k.bitAnd(step.live, input.hasTaps(step.taps));
  if (shape.features % kBlockK != 0)
    live = k.bitAnd(live, k.within(k.add(step.feature, chunkFeature), shape.features));
  TapInput tap = input.tap(step.taps, step.feature, live);
  for (PixelRow &row : pixels) {
    InputElement from = input.element(row.pixel, tap);
    pipeline.copy(from.buffer, k.signedIndex(from.offset), k.unsignedIndex(k.add(row.to, slot)), kChunk, from.reads);
  }
  Value stepOffset = filter.step(step.feature, step.taps);
  for (FeatureRow &row : features)
    pipeline.copy(filter.pointer, k.unsignedIndex(k.add(row.from, stepOffset)), k.unsignedIndex(k.add(row.to, slot)),
                  kChunk, row.exists ? k.bitAnd(live, row.exists) : live);
}

SmallVector<Value> ImplicitGemmF16::compute(Value slot, ValueRange sums) {
  SmallVector<Value> next(sums);
  for (int64_t step = 0; step < kBlockK / 16; ++step) {
    Value pixelBase = k.unsignedIndex(k.add(pixelFragments[step], slot));
    Value featureBase = k.unsignedIndex(k.add(featureFragments[step], slot));
    SmallVector<Value> left, right;
    for (int64_t m = 0; m < tilesM(); ++m)
      left.push_back(loadMatrices(k, pipeline.memory(), k.offset(pixelBase, m * 16 * kBlockK), false));
    for (int64_t n = 0; n < tilesN(); n += 2) { // products n and n + 1 of their 32 features
      int64_t row = n / 4 * 32 + n % 4 * 2;
      Value four = loadMatrices(k, pipeline.memory(), k.offset(featureBase, row * kBlockK), false);
      right.push_back(pairOf(k, four, 0));
      right.push_back(pairOf(k, four, 2));
    }
    for (int64_t m = 0; m < tilesM(); ++m)
      for (int64_t i = 0; i < tilesN(); ++i) {
        int64_t n = m % 2 ? tilesN() - 1 - i : i; // back and forth: neighbours share an operand
        Value &sum = next[m * tilesN() + n];
        sum = multiplyAccumulate(k, left[m], right[n], sum);
      }
  }
  return next;
}

/// Lane l holds rows l / 4 and l / 4 + 8 of each 16x8 product, and of each 32
/// output features the eight from 8 * (l % 4) on.
void ImplicitGemmF16::store(ArrayRef<Value> sums) {
  Value nan = meetsNaN(k, shape, sums);
  output.leaveOutEpilogueIf(nan);
  Value row = k.add(k.add(at.firstPixel, at.warpM), k.shiftRight(at.lane, 2));
  Value column = k.add(k.add(at.firstFeature, at.warpN), k.mul(k.bitAnd(at.lane, 3), 8));
  Value groupOutput = filter.firstOutput(at.group);
  for (int64_t block = 0; block < tile.warpN / 32; ++block) {
    Value feature = k.add(column, 32 * block);
    output.features(feature, kChunk, filter.outputs, groupOutput, [&] {
      for (int64_t m = 0; m < tilesM(); ++m)
        for (int64_t half = 0; half < 2; ++half) {
          SmallVector<Value> parts;
          for (int64_t n = 0; n < 4; ++n)
            parts.push_back(vector::ExtractOp::create(k.b, k.loc, sums[m * tilesN() + 4 * block + n], half));
          output.storeFeatures(k.add(row, 16 * m + 8 * half), parts);
        }
    });
  }
  repairPadding(k, op, shape, input, nan, {row, 1, 8, tile.warpM / 8}, {column, kChunk, 32, tile.warpN / 4},
                filter.outputs, groupOutput);
}

void ImplicitGemmF16::build() {
  placeCopies();
  placeFragments();
  Value zero = arith::ConstantOp::create(k.b, k.loc, k.b.getZeroAttr(VectorType::get({2, 2}, k.b.getF32Type())));
  SmallVector<Value> sums(tilesM() * tilesN(), zero);
  TapWalk walk(k, shape, kBlockK);
  sums = pipeline.run(
      walk, sums, [&](ValueRange state, Value live, Value slot) { fill(walk.at(state, live), slot); },
      [&](Value slot, ValueRange now) { return compute(slot, now); });
  store(sums);
  launchTiles(k, shape, tile, pipeline.bytes());
}

static void make(LocalConvOp op, KernelModule &kernels, const ConvShape &shape, const Tile &tile) {
  ImplicitGemmF16(op, kernels, shape, tile).build();
}

static std::string whyNot(const ConvShape &shape) {
  if (!shape.element.isF16() && !shape.element.isBF16())
    return "its elements are not 16-bit floats";
  if (shape.features % kChunk != 0 && shape.grouped)
    return "its groups' input features are not a multiple of 8";
  return whyNotTaps(shape);
}

/// Operands are read by chunks of features: features innermost, a multiple of them.
static bool prepare(LocalConvOp op, KernelModule &kernels, ConvShape &shape) {
  bool padded = shape.features % kChunk != 0;
  auto fits = [&](const ConvBuffer &buffer) { return !padded && buffer.isVector(kFeature, kChunk); };
  SmallVector<int64_t> order{kBatch};
  for (size_t n = 0; n < shape.dims.size(); ++n)
    order.push_back(n);
  order.push_back(kFeature);
  bool copied = repackUnless(op, kernels, shape, order, kChunk, fits);
  shape.features = llvm::alignTo(shape.features, kChunk);
  return copied;
}

static SmallVector<TileOption> tilesFor(const ConvShape &) {
  return {
      {{128, 128, 64, 64, 4, 2}, 2, 0.62}, {{256, 128, 64, 64, 3, 1}, 1, 0.66}, {{128, 256, 64, 64, 3, 1}, 1, 0.66},
      {{256, 64, 64, 64, 4, 2}, 2, 0.57},  {{128, 64, 64, 64, 4, 4}, 3, 0.56},  {{64, 64, 32, 32, 4, 6}, 4, 0.40},
  };
}

const ConvFamily ringconv::implicitGemmF16 = {"matrix product on tensor cores", true, whyNot, prepare, tilesFor, make};
