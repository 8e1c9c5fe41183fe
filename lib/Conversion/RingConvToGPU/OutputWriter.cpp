// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "OutputWriter.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ringconv;

/// Positions of one batch element, if known.
static std::optional<int64_t> positionsOf(const ConvShape &shape) {
  int64_t product = 1;
  for (const ConvDim &dim : shape.dims) {
    std::optional<int64_t> outputs = getConstantIntValue(dim.outputs);
    if (!outputs)
      return std::nullopt;
    product *= *outputs;
  }
  return product;
}

OutputWriter::OutputWriter(KernelCode &k, const ConvShape &shape, InputReader &input, int64_t width)
    : k(k), shape(shape), input(input), epilogue(k, shape, input), width(width),
      sumType(accumulationType(shape.element)), pointer(k.pointer(shape.output.buffer)),
      base(k.number(shape.output.offset)), batch(k.number(shape.output.batch)),
      feature(k.number(shape.output.feature)) {
  for (OpFoldResult stride : shape.output.spatial)
    spatial.push_back(k.number(stride));
  if (shape.bias.buffer) {
    bias = k.pointer(shape.bias.buffer);
    biasStride = k.number(shape.bias.feature);
  }
  std::optional<int64_t> outputs = getConstantIntValue(shape.outputs), positions = positionsOf(shape);
  wholeFeatures = outputs && *outputs % width == 0 && shape.output.isVector(kFeature, width);
  // A dense buffer begins at an aligned address.
  bool lastStride1 = !shape.dims.empty() && isConstantIntValue(shape.output.spatial.back(), 1);
  wholePixels = lastStride1 && shape.densePositions && positions && *positions % width == 0;
}

Value OutputWriter::pixelOffset(Value m) {
  if (shape.densePixels)
    return k.add(base, k.mul(m, spatial.empty() ? batch : spatial.back()));
  if (shape.densePositions && !spatial.empty())
    return k.add(base,
                 k.add(k.mul(k.div(m, input.positions()), batch), k.mul(k.rem(m, input.positions()), spatial.back())));
  SmallVector<Value> at = input.coordinates(m);
  Value offset = k.add(base, k.mul(at[0], batch));
  for (size_t d = 0; d < spatial.size(); ++d)
    offset = k.add(offset, k.mul(at[d + 1], spatial[d]));
  return offset;
}

/// The bias of the first `count` features of the body, in the type of sums.
Value OutputWriter::loadBias(int64_t count) {
  auto type = VectorType::get({count}, shape.result), wide = VectorType::get({count}, sumType);
  auto extend = [&](Value v) -> Value {
    return type == wide ? v : arith::ExtFOp::create(k.b, k.loc, wide, v).getResult();
  };
  if (count == width && wholeFeatures && shape.bias.isVector(kFeature, width))
    return extend(vector::LoadOp::create(
        k.b, k.loc, type, bias, k.unsignedIndex(first), /*nontemporal=*/false,
        llvm::MaybeAlign(std::min<int64_t>(width * shape.result.getIntOrFloatBitWidth() / 8, 16))));
  Value values = arith::ConstantOp::create(k.b, k.loc, k.b.getZeroAttr(type));
  // Features beyond the last read the last one's bias: its address exists.
  Value last = k.sub(outputs, k.constant(1)), begin = k.sub(first, inGroup);
  for (int64_t i = 0; i < count; ++i) {
    Value n = k.add(inGroup, i);
    Value at = i == 0 ? first : k.add(begin, k.select(k.within(n, outputs), n, last));
    Value v = memref::LoadOp::create(k.b, k.loc, bias, k.unsignedIndex(k.mul(at, biasStride)));
    values = vector::InsertOp::create(k.b, k.loc, v, values, i);
  }
  return extend(values);
}

void OutputWriter::features(Value feature, int64_t count, Value groupOutputs, Value groupOutput,
                            llvm::function_ref<void()> body) {
  k.when(k.within(feature, groupOutputs), [&] {
    inGroup = feature;
    outputs = groupOutputs;
    first = k.add(groupOutput, feature);
    biasVector = bias ? loadBias(count) : Value();
    if (biasVector && count == 1) {
      Value one = vector::ExtractOp::create(k.b, k.loc, biasVector, 0);
      biasVector = vector::BroadcastOp::create(k.b, k.loc, vectorOf(sumType), one);
    }
    body();
  });
}

/// One vector of all parts, pairwise.
static Value join(KernelCode &k, ValueRange parts) {
  if (parts.size() == 1)
    return parts.front();
  size_t half = parts.size() / 2;
  Value low = join(k, parts.take_front(half)), high = join(k, parts.drop_front(half));
  SmallVector<int64_t> order(2 * cast<VectorType>(low.getType()).getDimSize(0));
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  return vector::ShuffleOp::create(k.b, k.loc, low, high, order);
}

/// Bias and rounding.
Value OutputWriter::finish(Value sums) {
  if (biasVector)
    sums = arith::AddFOp::create(k.b, k.loc, sums, biasVector);
  if (sumType != shape.result)
    sums = arith::TruncFOp::create(k.b, k.loc, vectorOf(shape.result), sums);
  return sums;
}

void OutputWriter::storeAt(Value values, Value offset) {
  int64_t bytes = width * shape.result.getIntOrFloatBitWidth() / 8;
  vector::StoreOp::create(k.b, k.loc, values, pointer, k.unsignedIndex(offset), /*nontemporal=*/false,
                          llvm::MaybeAlign(std::min<int64_t>(bytes, 16)));
}

Value OutputWriter::applyEpilogue(Value values, const OutputPlace &place) {
  Value applied = epilogue.apply(values, place);
  return withoutEpilogue ? k.select(withoutEpilogue, values, applied) : applied;
}

/// Value `i` at a place of its own.
void OutputWriter::storeOne(Value values, int64_t i, const OutputPlace &place) {
  Value v = vector::ExtractOp::create(k.b, k.loc, values, i);
  Value one = vector::BroadcastOp::create(k.b, k.loc, VectorType::get({1}, shape.result), v);
  v = vector::ExtractOp::create(k.b, k.loc, applyEpilogue(one, place), 0);
  memref::StoreOp::create(k.b, k.loc, v, pointer, k.unsignedIndex(place.offset));
}

void OutputWriter::storeFeatures(Value m, ValueRange parts) {
  Value values = finish(join(k, parts));
  k.when(k.within(m, input.pixels()), [&] {
    Value offset = k.add(pixelOffset(m), k.mul(first, feature));
    if (wholeFeatures)
      return storeAt(applyEpilogue(values, {m, first, offset, true}), offset);
    for (int64_t i = 0; i < width; ++i)
      k.when(k.within(k.add(inGroup, i), outputs),
             [&] { storeOne(values, i, {m, k.add(first, i), k.add(offset, k.mul(feature, i)), true}); });
  });
}

OutputWriter::Places OutputWriter::places(Value m) {
  Places result;
  for (int64_t i = 0; i < (wholePixels ? 1 : width); ++i) {
    Value pixel = k.add(m, i);
    result.push_back({k.within(pixel, input.pixels()), pixel, pixelOffset(pixel)});
  }
  return result;
}

void OutputWriter::storePixels(const Places &places, Value sums) {
  Value values = finish(sums), at = k.mul(first, feature);
  for (auto [i, place] : llvm::enumerate(places))
    k.when(place.exists, [&, i = i, place = place] {
      OutputPlace here{place.pixel, first, k.add(place.offset, at), false};
      if (wholePixels)
        return storeAt(applyEpilogue(values, here), here.offset);
      storeOne(values, i, here);
    });
}
