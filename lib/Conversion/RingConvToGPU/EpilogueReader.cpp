// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "EpilogueReader.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ringconv;

EpilogueReader::EpilogueReader(KernelCode &k, const ConvShape &shape, InputReader &input)
    : k(k), shape(shape), input(input) {
  if (!shape.epilogue)
    return;
  passNumbers(k.kernel, *shape.epilogue);
  for (size_t n = 0; n < shape.epilogue->operands.size(); ++n)
    operands.push_back(describe(n));
}

static bool haveEqualStrides(Value a, Value b) {
  auto x = cast<MemRefType>(a.getType()), y = cast<MemRefType>(b.getType());
  SmallVector<int64_t> stridesOfX, stridesOfY;
  int64_t offset;
  return x.getRank() == y.getRank() && succeeded(x.getStridesAndOffset(stridesOfX, offset)) &&
         succeeded(y.getStridesAndOffset(stridesOfY, offset)) && stridesOfX == stridesOfY &&
         !llvm::is_contained(stridesOfX, ShapedType::kDynamic);
}

EpilogueReader::Operand EpilogueReader::describe(int64_t n) {
  linalg::GenericOp op = shape.epilogue->op;
  Operand operand;
  Value value = shape.epilogue->operands[n];
  operand.isResult = shape.epilogue->isResult(n);
  if (operand.isResult)
    return operand;
  if (!isa<MemRefType>(value.getType())) {
    operand.scalar = k.kernel.passScalar(value);
    return operand;
  }
  AffineMap map = op.getMatchingIndexingMap(&op->getOpOperand(n));
  operand.memory = k.pointer(value);
  operand.alignment = alignmentOf(value);
  operand.hasStridesOfResult = map.isIdentity() && haveEqualStrides(value, shape.output.buffer);
  auto metadata = memref::ExtractStridedMetadataOp::create(k.kernel.host, k.loc, value);
  for (auto [expr, stride] : llvm::zip(map.getResults(), metadata.getConstifiedMixedStrides()))
    operand.strides.push_back({shape.output.dims[cast<AffineDimExpr>(expr).getPosition()], stride});
  return operand;
}

Value EpilogueReader::offsetOf(const Operand &operand, const OutputPlace &place) {
  if (operand.hasStridesOfResult)
    return place.offset;
  SmallVector<Value> at = input.coordinates(place.pixel);
  Value offset = k.constant(0);
  for (auto [number, stride] : operand.strides) {
    Value index = number == kFeature ? place.feature : at[number == kBatch ? 0 : number + 1];
    if (number >= 0)
      index = k.add(k.mul(index, shape.dims[number].outputStep), shape.dims[number].firstOutput);
    offset = k.add(offset, k.mul(index, k.number(stride)));
  }
  return offset;
}

/// True if `count` neighbours of the result, aligned there, are an aligned vector.
bool EpilogueReader::isVector(const Operand &operand, bool alongFeatures, int64_t count) {
  int64_t bytes = count * cast<MemRefType>(operand.memory.getType()).getElementTypeBitWidth() / 8;
  if (count == 1 || operand.alignment % std::min(bytes, kBufferAlignment) != 0)
    return false;
  if (operand.hasStridesOfResult || !alongFeatures)
    return operand.hasStridesOfResult;
  return llvm::all_of(operand.strides,
                      [&](auto entry) {
                        std::optional<int64_t> stride = getConstantIntValue(entry.second);
                        return stride && (entry.first == kFeature ? *stride == 1 : *stride % count == 0);
                      }) &&
         !operand.strides.empty() && operand.strides.back().first == kFeature;
}

/// `count` neighbours of the result.
SmallVector<Value> EpilogueReader::read(const Operand &operand, const OutputPlace &place, int64_t count) {
  if (operand.scalar)
    return SmallVector<Value>(count, operand.scalar);
  Type element = cast<MemRefType>(operand.memory.getType()).getElementType();
  SmallVector<Value> values;
  if (isVector(operand, place.alongFeatures, count)) {
    int64_t bytes = std::min<int64_t>(count * element.getIntOrFloatBitWidth() / 8, kBufferAlignment);
    Value offset = k.unsignedIndex(offsetOf(operand, place));
    Value all = vector::LoadOp::create(k.b, k.loc, VectorType::get({count}, element), operand.memory, offset,
                                       /*nontemporal=*/false, llvm::MaybeAlign(bytes));
    for (int64_t i = 0; i < count; ++i)
      values.push_back(vector::ExtractOp::create(k.b, k.loc, all, i));
    return values;
  }
  const ConvBuffer &result = shape.output;
  OpFoldResult pixelStep = result.spatial.empty() ? result.batch : result.spatial.back();
  Value step = k.number(place.alongFeatures ? result.feature : pixelStep);
  for (int64_t i = 0; i < count; ++i) {
    OutputPlace next = place;
    next.offset = k.add(place.offset, k.mul(step, i));
    Value &moved = place.alongFeatures ? next.feature : next.pixel;
    moved = k.add(moved, i);
    values.push_back(memref::LoadOp::create(k.b, k.loc, operand.memory, k.unsignedIndex(offsetOf(operand, next))));
  }
  return values;
}

Value EpilogueReader::apply(Value values, const OutputPlace &place) {
  if (!shape.epilogue)
    return values;
  int64_t count = cast<VectorType>(values.getType()).getNumElements();
  SmallVector<SmallVector<Value>> read;
  for (const Operand &operand : operands)
    read.push_back(operand.isResult ? SmallVector<Value>(count) : this->read(operand, place, count));
  for (int64_t i = 0; i < count; ++i) {
    SmallVector<Value> elements;
    for (auto [operand, list] : llvm::zip(operands, read))
      elements.push_back(operand.isResult ? vector::ExtractOp::create(k.b, k.loc, values, i).getResult() : list[i]);
    values = vector::InsertOp::create(k.b, k.loc, applyEpilogue(k.kernel, *shape.epilogue, elements), values, i);
  }
  return values;
}
