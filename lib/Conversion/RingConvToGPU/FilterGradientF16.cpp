// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The gradient of a filter, for 16-bit floats on tensor cores: a convolution whose
// window is the image. Its terms are pixels (input features and taps), its rows the
// batch (the input features of the forward convolution), at one position of the
// result (a tap of the forward convolution) per block.
//
// Both operands lie with rows and columns contiguous, terms apart: a slot holds
// kDepth terms, for each blockM batch elements, then blockN output features, and
// fragments are transposed while they are loaded. Chunks of eight are permuted by
// chunk ^ (term % 8), against bank conflicts.
//
// The sum is split (SplitSum.h); within a slice terms are added in their order, 16
// an instruction.
#include "ConvKernels.h"
#include "HostNumbers.h"
#include "Repack.h"
#include "SplitSum.h"
#include "TensorCore.h"
#include "TilePlace.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ringconv;

namespace {

constexpr int64_t kDepth = 32, kChunk = 8;

class FilterGradientF16 {
public:
  FilterGradientF16(LocalConvOp op, KernelModule &kernels, const ConvShape &shape, const SplitSum &sum,
                    const SplitPlan &plan, const Tile &tile)
      : k(kernels, op, "filter_gradient_f16"), shape(shape), tile(tile), plan(plan), input(k, shape), filter(k, shape),
        output(k, shape, input, 2), batch(k.number(shape.batch)),
        pipeline(k, shape.element, (tile.blockM + tile.blockN) * kDepth, tile.stages) {
    placeThread();
    output.moveBy(k.mul(slice, k.number(sum.sliceStride())));
  }

  void build();

private:
  /// Chunks of one operand that this thread copies: one chunk of several terms.
  struct Chunks {
    Value first; // batch element or output feature
    Value exists;
    SmallVector<Value> terms, to;
  };

  void placeThread();
  Chunks placeChunks(Value firstOfBlock, Value count, int64_t width, int64_t base);
  void fill(const TermWalk &left, ValueRange state, Value live, Value slot);
  SmallVector<Value> compute(Value slot, ValueRange sums);
  void store(ArrayRef<Value> sums);
  /// Loads all fragments of an operand for terms 16 * step to 16 * step + 15.
  SmallVector<Value> fragments(ArrayRef<Value> places, Value slot, int64_t step, int64_t width);

  int64_t tilesM() const { return tile.warpM / 16; }
  int64_t tilesN() const { return tile.warpN / 8; }

  KernelCode k;
  const ConvShape &shape;
  Tile tile;
  SplitPlan plan;
  InputReader input;
  FilterReader filter;
  OutputWriter output;
  Value batch;
  CopyPipeline pipeline;

  Value thread, lane, slice, firstRow, firstColumn, warpM, warpN, position;
  SmallVector<Value> start; // coordinates that the block's position reads by tap 0
  Chunks rows, columns;
  SmallVector<Value> rowFragments, columnFragments;
};

} // namespace

/// Grid: output features, positions times batch, slices.
void FilterGradientF16::placeThread() {
  thread = k.threadId();
  lane = k.bitAnd(thread, 31);
  slice = plan.slices == 1 ? k.constant(0) : k.blockId(gpu::Dimension::z);
  Value y = k.blockId(gpu::Dimension::y);
  position = k.rem(y, input.positions());
  firstRow = k.mul(k.div(y, input.positions()), tile.blockM);
  firstColumn = k.mul(k.blockId(gpu::Dimension::x), tile.blockN);
  Value warp = k.shiftRight(thread, 5);
  warpM = k.mul(k.div(warp, tile.blockN / tile.warpN), tile.warpM);
  warpN = k.mul(k.rem(warp, tile.blockN / tile.warpN), tile.warpN);
  SmallVector<Value> at = input.coordinates(position);
  for (size_t d = 0; d < shape.dims.size(); ++d)
    start.push_back(input.first(d, at[d + 1]));
}

/// Threads side by side copy the chunks of a term.
FilterGradientF16::Chunks FilterGradientF16::placeChunks(Value firstOfBlock, Value count, int64_t width, int64_t base) {
  int64_t perTerm = width / kChunk, together = tile.threads() / perTerm;
  Value chunk = k.rem(thread, perTerm), term = k.div(thread, perTerm);
  Chunks chunks;
  chunks.first = k.add(firstOfBlock, k.mul(chunk, kChunk));
  chunks.exists = k.within(chunks.first, count);
  for (int64_t i = 0; i < kDepth / together; ++i) {
    Value at = k.add(term, i * together);
    Value swizzled = k.bitXor(chunk, k.bitAnd(at, 7));
    chunks.terms.push_back(at);
    chunks.to.push_back(k.add(k.add(k.mul(at, width), k.mul(swizzled, kChunk)), base));
  }
  return chunks;
}

void FilterGradientF16::fill(const TermWalk &walk, ValueRange state, Value live, Value slot) {
  size_t row = 0;
  for (auto [i, to] : llvm::enumerate(rows.to)) {
    TermWalk::Term term = walk.at(state, row++);
    SmallVector<Value> at;
    for (size_t d = 0; d < shape.dims.size(); ++d)
      at.push_back(k.add(start[d], k.mul(term.taps[d], shape.dims[d].dilation)));
    Value exists = k.bitAnd(k.bitAnd(live, term.exists), rows.exists);
    InputElement from = input.element(rows.first, at, term.feature, exists);
    pipeline.copy(from.buffer, k.signedIndex(from.offset), k.unsignedIndex(k.add(to, slot)), kChunk, from.reads);
  }
  for (auto [i, to] : llvm::enumerate(columns.to)) {
    TermWalk::Term term = walk.at(state, tile.blockM == tile.blockN ? i : row++);
    Value exists = k.bitAnd(k.bitAnd(live, term.exists), columns.exists);
    std::optional<int64_t> stride = filter.termStride();
    Value from = k.add(filter.row(columns.first, k.constant(0)),
                       stride ? k.mul(term.number, *stride) : filter.step(term.feature, term.taps));
    pipeline.copy(filter.pointer, k.unsignedIndex(from), k.unsignedIndex(k.add(to, slot)), kChunk, exists);
  }
}

SmallVector<Value> FilterGradientF16::fragments(ArrayRef<Value> places, Value slot, int64_t step, int64_t width) {
  SmallVector<Value> loaded;
  for (Value place : places) {
    Value base = k.unsignedIndex(k.add(place, slot));
    loaded.push_back(loadMatrices(k, pipeline.memory(), k.offset(base, step * 16 * width), /*transpose=*/true));
  }
  return loaded;
}

SmallVector<Value> FilterGradientF16::compute(Value slot, ValueRange sums) {
  SmallVector<Value> next(sums);
  for (int64_t step = 0; step < kDepth / 16; ++step) {
    SmallVector<Value> left = fragments(rowFragments, slot, step, tile.blockM), right;
    for (Value four : fragments(columnFragments, slot, step, tile.blockN))
      right.append({pairOf(k, four, 0), pairOf(k, four, 2)});
    for (int64_t m = 0; m < tilesM(); ++m)
      for (int64_t i = 0; i < tilesN(); ++i) {
        int64_t n = m % 2 ? tilesN() - 1 - i : i;
        Value &sum = next[m * tilesN() + n];
        sum = multiplyAccumulate(k, left[m], right[n], sum);
      }
  }
  return next;
}

/// Lane l holds rows l / 4 and l / 4 + 8 of each 16x8 product, and the two columns
/// from 2 * (l % 4) on.
void FilterGradientF16::store(ArrayRef<Value> sums) {
  Value row = k.add(k.add(firstRow, warpM), k.shiftRight(lane, 2));
  Value column = k.add(k.add(firstColumn, warpN), k.mul(k.bitAnd(lane, 3), 2));
  for (int64_t n = 0; n < tilesN(); ++n)
    output.features(k.add(column, 8 * n), 2, filter.outputs, k.constant(0), [&] {
      for (int64_t m = 0; m < tilesM(); ++m)
        for (int64_t half = 0; half < 2; ++half) {
          Value pixel = k.add(k.mul(k.add(row, 16 * m + 8 * half), input.positions()), position);
          Value pair = vector::ExtractOp::create(k.b, k.loc, sums[m * tilesN() + n], half);
          output.storeFeatures(pixel, pair);
        }
    });
}

void FilterGradientF16::build() {
  rows = placeChunks(firstRow, batch, tile.blockM, 0);
  columns = placeChunks(firstColumn, filter.outputs, tile.blockN, tile.blockM * kDepth);
  // Matrices of a row fragment: terms 0-7 and 8-15 for rows 0-7, then for rows 8-15,
  // crosswise; of a column fragment: the two halves of the terms for one product.
  Value low = k.bitAnd(lane, 7), third = k.bitAnd(k.shiftRight(lane, 3), 1), fourth = k.shiftRight(lane, 4);
  auto place = [&](Value term, Value chunk, int64_t width, int64_t base) {
    return k.add(k.add(k.mul(term, width), k.mul(k.bitXor(chunk, low), kChunk)), base);
  };
  for (int64_t m = 0; m < tilesM(); ++m)
    rowFragments.push_back(
        place(k.add(k.mul(fourth, 8), low), k.add(k.add(k.shiftRight(warpM, 3), third), 2 * m), tile.blockM, 0));
  for (int64_t n = 0; n < tilesN(); n += 2)
    columnFragments.push_back(place(k.add(k.mul(third, 8), low), k.add(k.add(k.shiftRight(warpN, 3), fourth), n),
                                    tile.blockN, tile.blockM * kDepth));

  SmallVector<Value> terms(rows.terms);
  if (tile.blockM != tile.blockN)
    terms.append(columns.terms);
  TermWalk walk(k, shape, plan, slice, terms);
  Value zero = arith::ConstantOp::create(k.b, k.loc, k.b.getZeroAttr(VectorType::get({2, 2}, k.b.getF32Type())));
  SmallVector<Value> sums(tilesM() * tilesN(), zero);
  sums = pipeline.run(
      walk, sums, [&](ValueRange state, Value live, Value slot) { fill(walk, state, live, slot); },
      [&](Value slot, ValueRange now) { return compute(slot, now); });
  store(sums);
  HostNumbers h{k.kernel.host, k.loc};
  OpFoldResult positions = h.constant(1);
  for (const ConvDim &dim : shape.dims)
    positions = h.mul(positions, dim.outputs);
  boundRegisters(k, tile);
  k.kernel.launch({h.ceilDiv(shape.outputs, tile.blockN), h.mul(h.ceilDiv(shape.batch, tile.blockM), positions),
                   h.constant(plan.slices)},
                  tile.threads(), pipeline.bytes());
}

static std::string whyNot(const ConvShape &shape) {
  if (!shape.element.isF16() && !shape.element.isBF16())
    return "its elements are not 16-bit floats";
  if (shape.grouped)
    return "it has groups";
  if (llvm::any_of(shape.dims, [](const ConvDim &dim) { return dim.base != 1; }))
    return "its input is dilated";
  bool batchInnermost = shape.sources[0].innermost == kBatch && shape.filter.innermost == kOutput;
  return whyNotTaps(shape).empty() && !batchInnermost ? "it is no gradient of a filter" : "";
}

static bool prepare(LocalConvOp op, KernelModule &kernels, ConvShape &shape) {
  SmallVector<int64_t> order{kFeature};
  for (size_t n = 0; n < shape.dims.size(); ++n)
    order.push_back(n);
  order.push_back(kBatch);
  return repackUnless(op, kernels, shape, order, kChunk,
                      [](const ConvBuffer &buffer) { return buffer.isVector(kBatch, kChunk); });
}

static void make(LocalConvOp op, KernelModule &kernels, const ConvShape &shape, const Tile &tile) {
  SplitPlan plan(shape, kDepth);
  SplitSum sum(op, shape, plan);
  FilterGradientF16(op, kernels, sum.sliceShape(), sum, plan, tile).build();
  sum.finish(kernels);
}

static SmallVector<TileOption> tilesFor(const ConvShape &) {
  return {{{128, 128, 64, 64, 4, 2}, 2, 0.55}, {{64, 64, 32, 32, 4, 4}, 4, 0.35}};
}

const ConvFamily ringconv::filterGradientF16 = {"filter gradient on tensor cores", false, whyNot, prepare, tilesFor, make};
