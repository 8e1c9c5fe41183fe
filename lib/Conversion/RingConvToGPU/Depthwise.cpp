// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Depthwise convolution with features innermost: a thread has one pixel and 16
// bytes of features, in registers; taps are unrolled.
//
// The sum begins with the bias and takes the taps row-major, by fused
// multiply-adds, without those in padding: bit for bit what the plain kernel gives,
// which serves where a rank's features do not fill vectors.
#include "ConvKernels.h"
#include "FmaTile.h"
#include "HostNumbers.h"
#include "Repack.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ringconv;

namespace {

constexpr int64_t kThreads = 128;

class Depthwise {
public:
  Depthwise(LocalConvOp op, KernelModule &kernels, const ConvShape &shape)
      : k(kernels, op, "conv_depthwise"), shape(shape), width(vectorWidth(shape)),
        sumType(VectorType::get({width}, accumulationType(shape.element))), input(k, shape), filter(k, shape),
        output(k, shape, input, width) {}

  void build();

private:
  Value load(Value memory, Value offset, Type element);
  Value widen(Value v);
  Value addTap(const PixelInput &pixel, ArrayRef<Value> taps, Value sum);

  KernelCode k;
  const ConvShape &shape;
  int64_t width;
  VectorType sumType;
  InputReader input;
  FilterReader filter;
  OutputWriter output;
  Value feature; // the first of this thread
};

} // namespace

Value Depthwise::load(Value memory, Value offset, Type element) {
  return vector::LoadOp::create(k.b, k.loc, VectorType::get({width}, element), memory, k.unsignedIndex(offset),
                                /*nontemporal=*/false, llvm::MaybeAlign(16));
}

Value Depthwise::widen(Value v) {
  return v.getType() == sumType ? v : arith::ExtFOp::create(k.b, k.loc, sumType, v).getResult();
}

/// A tap in padding reads its weights instead of an element, and adds nothing.
Value Depthwise::addTap(const PixelInput &pixel, ArrayRef<Value> taps, Value sum) {
  InputElement from = input.element(pixel, input.tap(taps, k.constant(0), k.yes()));
  Value weights = k.add(filter.row(feature, k.constant(0)), filter.step(k.constant(0), taps));
  Value x = load(k.select(from.reads, from.buffer, input.asBuffer(filter.pointer)),
                 k.select(from.reads, from.offset, weights), shape.element);
  Value w = load(filter.pointer, weights, shape.element);
  Value next = math::FmaOp::create(k.b, k.loc, widen(x), widen(w), sum);
  return k.select(from.reads, next, sum);
}

void Depthwise::build() {
  Value vectors = k.div(filter.outputs, width);
  Value number = k.add(k.mul(k.blockId(gpu::Dimension::x), kThreads), k.threadId());
  Value m = k.div(number, vectors);
  feature = k.mul(k.rem(number, vectors), width);
  PixelInput pixel = input.pixel(m, feature);
  k.when(k.within(m, input.pixels()), [&] {
    output.features(feature, width, filter.outputs, k.constant(0), [&] {
      Value sum = output.takeBias();
      if (!sum)
        sum = arith::ConstantOp::create(k.b, k.loc, k.b.getZeroAttr(sumType));
      for (int64_t t = 0, n = shape.taps(); t < n; ++t) {
        SmallVector<Value> taps(shape.dims.size());
        for (int64_t d = taps.size(), rest = t; d-- > 0; rest /= shape.dims[d].taps)
          taps[d] = k.constant(rest % shape.dims[d].taps);
        sum = addTap(pixel, taps, sum);
      }
      output.storeFeatures(m, sum);
    });
  });
  HostNumbers h{k.kernel.host, k.loc};
  OpFoldResult threads = h.mul(shape.batch, h.floorDiv(shape.outputs, width));
  for (const ConvDim &dim : shape.dims)
    threads = h.mul(threads, dim.outputs);
  k.kernel.launch({h.ceilDiv(threads, kThreads)}, kThreads);
}

static std::string whyNot(const ConvShape &shape) {
  if (!isa<FloatType>(shape.element))
    return "its elements are not floats";
  if (!shape.grouped || shape.features != 1 || !isConstantIntValue(shape.outputs, 1))
    return "it is not depthwise";
  int64_t width = vectorWidth(shape);
  auto isVector = [&](const ConvBuffer &buffer) { return buffer.isVector(kFeature, width); };
  std::optional<int64_t> features = getConstantIntValue(shape.groups);
  if (!features || *features % width != 0 || !isVector(shape.output) || !llvm::all_of(shape.sources, isVector))
    return "its features do not fill vectors of 16 bytes";
  if (llvm::any_of(shape.dims, [](const ConvDim &dim) { return dim.base != 1; }))
    return "its input is dilated";
  return whyNotTaps(shape);
}

/// Each feature's own filter is read along features.
static bool prepare(LocalConvOp op, KernelModule &kernels, ConvShape &shape) {
  std::swap(shape.outputs, shape.groups); // one group with all features
  if (shape.filter.isVector(kOutput, vectorWidth(shape)))
    return false;
  SmallVector<int64_t> order;
  for (size_t n = 0; n < shape.dims.size(); ++n)
    order.push_back(n);
  order.append({kInput, kOutput});
  repackFilter(op, kernels, shape, order);
  return true;
}

static void make(LocalConvOp op, KernelModule &kernels, const ConvShape &shape, const Tile &) {
  Depthwise(op, kernels, shape).build();
}

const ConvFamily ringconv::depthwise = {"depthwise, in registers", true, whyNot, prepare, nullptr, make};
