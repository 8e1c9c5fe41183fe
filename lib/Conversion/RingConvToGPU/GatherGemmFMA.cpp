// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolution of f32 and f64 with any window, the image for the gradient of a
// filter, as a matrix product by fused multiply-adds (see FmaTile.h).
//
// A term is an input feature and a tap. Of a step's `depth` terms each thread
// copies one, for several pixels and output features, with its own coordinates:
// nothing is the same for all threads but the arithmetic. The sum is split
// (SplitSum.h); within a slice terms are added in their order.
#include "ConvKernels.h"
#include "FmaTile.h"
#include "SplitSum.h"

using namespace mlir;
using namespace ringconv;

namespace {

constexpr int64_t kDepth = 8;

class GatherGemmFMA {
public:
  GatherGemmFMA(LocalConvOp op, KernelModule &kernels, const ConvShape &shape, const SplitSum &sum,
                const SplitPlan &plan, const Tile &tile)
      : k(kernels, op, "conv_gather"), shape(shape), tile(tile), plan(plan), input(k, shape), filter(k, shape),
        output(k, shape, input, vectorWidth(shape)), at(k, shape, tile),
        product(k, shape, tile, at, kDepth, tile.blockM + vectorWidth(shape), tile.blockN + vectorWidth(shape)),
        pipeline(k, shape.element, product.slotElements(), tile.stages) {
    slice = plan.slices == 1 ? k.constant(0) : k.blockId(gpu::Dimension::z);
    output.moveBy(k.mul(slice, k.number(sum.sliceStride())));
  }

  void build();

private:
  struct Pixel {
    Value batch, exists, to;
    SmallVector<Value> start; // coordinates that tap 0 reads
  };
  struct Feature {
    Value row, exists, to;
  };

  void placeCopies();
  void fill(const TermWalk::Term &term, Value live, Value slot);

  KernelCode k;
  const ConvShape &shape;
  Tile tile;
  SplitPlan plan;
  InputReader input;
  FilterReader filter;
  OutputWriter output;
  TilePlace at;
  FmaTile product;
  CopyPipeline pipeline;
  Value slice, term; // the term, within a step, that this thread copies
  SmallVector<Pixel> pixels;
  SmallVector<Feature> features;
};

} // namespace

void GatherGemmFMA::placeCopies() {
  int64_t together = tile.threads() / kDepth;
  term = k.rem(at.thread, kDepth);
  Value first = k.div(at.thread, kDepth);
  for (int64_t i = 0; i < tile.blockM / together; ++i) {
    Value column = k.add(first, i * together), m = k.add(at.firstPixel, column);
    SmallVector<Value> place = input.coordinates(m), start;
    for (size_t d = 0; d < shape.dims.size(); ++d)
      start.push_back(input.first(d, place[d + 1]));
    pixels.push_back({place[0], k.within(m, input.pixels()), product.pixelPlace(term, column), start});
  }
  for (int64_t i = 0; i < tile.blockN / together; ++i) {
    Value column = k.add(first, i * together), o = k.add(at.firstFeature, column);
    features.push_back({filter.row(o, k.constant(0)), k.within(o, filter.outputs), product.featurePlace(term, column)});
  }
}

void GatherGemmFMA::fill(const TermWalk::Term &term, Value live, Value slot) {
  Value exists = k.bitAnd(live, term.exists);
  for (Pixel &pixel : pixels) {
    SmallVector<Value> place;
    for (size_t d = 0; d < shape.dims.size(); ++d)
      place.push_back(k.add(pixel.start[d], k.mul(term.taps[d], shape.dims[d].dilation)));
    InputElement from = input.element(pixel.batch, place, term.feature, k.bitAnd(exists, pixel.exists));
    pipeline.copy(from.buffer, k.signedIndex(from.offset), k.unsignedIndex(k.add(pixel.to, slot)), 1, from.reads);
  }
  Value offset = filter.step(term.feature, term.taps);
  for (Feature &feature : features)
    pipeline.copy(filter.pointer, k.unsignedIndex(k.add(feature.row, offset)), k.unsignedIndex(k.add(feature.to, slot)),
                  1, k.bitAnd(exists, feature.exists));
}

void GatherGemmFMA::build() {
  placeCopies();
  TermWalk walk(k, shape, plan, slice, term);
  SmallVector<Value> sums = pipeline.run(
      walk, product.zeros(), [&](ValueRange state, Value live, Value slot) { fill(walk.at(state, 0), live, slot); },
      [&](Value slot, ValueRange now) { return product.compute(pipeline.memory(), slot, now); });
  product.store(output, filter, sums);
  launchTiles(k, shape, tile, pipeline.bytes(), plan.slices);
}

static void make(LocalConvOp op, KernelModule &kernels, const ConvShape &shape, const Tile &tile) {
  SplitPlan plan(shape, kDepth);
  SplitSum sum(op, shape, plan);
  GatherGemmFMA(op, kernels, sum.sliceShape(), sum, plan, tile).build();
  sum.finish(kernels);
}

static std::string whyNot(const ConvShape &shape) {
  if (!shape.element.isF32() && !shape.element.isF64())
    return "its elements are neither f32 nor f64";
  if (shape.grouped)
    return "it has groups";
  if (llvm::any_of(shape.dims, [](const ConvDim &dim) { return dim.base != 1; }))
    return "its input is dilated";
  return "";
}

static SmallVector<TileOption> tilesFor(const ConvShape &shape) {
  if (shape.element.isF64())
    return {{{64, 64, 32, 32, 3, 3}, 3, 0.6}, {{32, 32, 32, 32, 3, 12}, 8, 0.4}};
  return {{{128, 128, 64, 32, 3, 2}, 2, 0.6}, {{64, 64, 64, 32, 3, 8}, 8, 0.5}};
}

static bool readsInPlace(LocalConvOp, KernelModule &, ConvShape &) { return false; }

const ConvFamily ringconv::gatherGemmFMA = {"matrix product by fused multiply-adds, any window", false, whyNot, readsInPlace,
                                            tilesFor, make};
