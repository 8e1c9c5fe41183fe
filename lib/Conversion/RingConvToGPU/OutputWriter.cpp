// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "OutputWriter.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ringconv;

OutputWriter::OutputWriter(KernelBuilder &k, const ConvShape &shape, InputReader &input)
    : k(k), shape(shape), input(input), pointer(k.pointer(shape.output.buffer)), batch(k.number(shape.output.batch)),
      feature(k.number(shape.output.feature)) {
  for (OpFoldResult stride : shape.output.spatial)
    spatial.push_back(k.number(stride));
  if (shape.bias.buffer) {
    bias = k.pointer(shape.bias.buffer);
    biasStride = k.number(shape.bias.feature);
  }
  std::optional<int64_t> outputs = getConstantIntValue(shape.outputs);
  whole = outputs && *outputs % kWidth == 0 && shape.output.alignment % kWidth == 0;
}

Value OutputWriter::pixelOffset(Value m) {
  if (shape.denseOutput)
    return k.mul(m, spatial.empty() ? batch : spatial.back());
  SmallVector<Value> at = input.coordinates(m);
  Value offset = k.mul(at[0], batch);
  for (size_t d = 0; d < spatial.size(); ++d)
    offset = k.add(offset, k.mul(at[d + 1], spatial[d]));
  return offset;
}

/// kWidth values in f32; zero for features that do not exist.
Value OutputWriter::loadBias() {
  auto type = VectorType::get({kWidth}, shape.result), wide = VectorType::get({kWidth}, k.b.getF32Type());
  auto extend = [&](Value v) -> Value {
    return type == wide ? v : arith::ExtFOp::create(k.b, k.loc, wide, v).getResult();
  };
  int64_t bytes = kWidth * shape.result.getIntOrFloatBitWidth() / 8;
  if (whole && shape.bias.alignment % kWidth == 0)
    return extend(vector::LoadOp::create(k.b, k.loc, type, bias, k.unsignedIndex(first), /*nontemporal=*/false,
                                         llvm::MaybeAlign(std::min<int64_t>(bytes, 16))));
  Value values = arith::ConstantOp::create(k.b, k.loc, k.b.getZeroAttr(type));
  // Features beyond the last read the last one's bias: its address exists.
  Value last = k.sub(outputs, k.constant(1)), begin = k.sub(first, inGroup);
  for (int64_t i = 0; i < kWidth; ++i) {
    Value n = k.add(inGroup, i);
    Value at = k.add(begin, k.select(k.within(n, outputs), n, last));
    Value v = memref::LoadOp::create(k.b, k.loc, bias, k.unsignedIndex(k.mul(at, biasStride)));
    values = vector::InsertOp::create(k.b, k.loc, v, values, i);
  }
  return extend(values);
}

void OutputWriter::features(Value feature, Value count, Value groupOutput, llvm::function_ref<void()> body) {
  k.when(k.within(feature, count), [&] {
    inGroup = feature;
    outputs = count;
    first = k.add(groupOutput, feature);
    biasVector = bias ? loadBias() : Value();
    body();
  });
}

/// One vector of all parts, pairwise.
static Value join(KernelBuilder &k, ValueRange parts) {
  if (parts.size() == 1)
    return parts.front();
  size_t half = parts.size() / 2;
  Value low = join(k, parts.take_front(half)), high = join(k, parts.drop_front(half));
  SmallVector<int64_t> order(2 * cast<VectorType>(low.getType()).getDimSize(0));
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  return vector::ShuffleOp::create(k.b, k.loc, low, high, order);
}

void OutputWriter::store(Value m, ValueRange parts) {
  Value values = join(k, parts);
  if (biasVector)
    values = arith::AddFOp::create(k.b, k.loc, values, biasVector);
  auto type = VectorType::get({kWidth}, shape.result);
  if (values.getType() != type)
    values = arith::TruncFOp::create(k.b, k.loc, type, values);
  k.when(k.within(m, input.pixels()), [&] {
    Value offset = k.add(pixelOffset(m), k.mul(first, feature));
    if (whole) {
      vector::StoreOp::create(k.b, k.loc, values, pointer, k.unsignedIndex(offset), /*nontemporal=*/false,
                              llvm::MaybeAlign(16));
      return;
    }
    for (int64_t i = 0; i < kWidth; ++i)
      k.when(k.within(k.add(inGroup, i), outputs), [&] {
        Value v = vector::ExtractOp::create(k.b, k.loc, values, i);
        memref::StoreOp::create(k.b, k.loc, v, pointer, k.unsignedIndex(k.add(offset, k.mul(feature, i))));
      });
  });
}
