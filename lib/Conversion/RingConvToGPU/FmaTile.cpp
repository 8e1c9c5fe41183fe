// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "FmaTile.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ringconv;

int64_t ringconv::vectorWidth(const ConvShape &shape) { return 16 / (shape.element.getIntOrFloatBitWidth() / 8); }

FmaTile::FmaTile(KernelCode &k, const ConvShape &shape, const Tile &tile, const TilePlace &at, int64_t depth,
                 int64_t pixelPitch, int64_t featurePitch)
    : k(k), shape(shape), tile(tile), at(at), width(vectorWidth(shape)), depth(depth), pixelPitch(pixelPitch),
      featurePitch(featurePitch), vector(VectorType::get({width}, shape.element)) {
  firstPixel = k.add(at.warpM, k.mul(k.bitAnd(at.lane, 7), width));
  firstFeature = k.add(at.warpN, k.mul(k.shiftRight(at.lane, 3), width));
}

SmallVector<Value> FmaTile::zeros() {
  Value zero = arith::ConstantOp::create(k.b, k.loc, k.b.getZeroAttr(vector));
  return SmallVector<Value>(2 * perThread(), zero);
}

Value FmaTile::load(Value memory, Value base, int64_t offset) {
  return vector::LoadOp::create(k.b, k.loc, vector, memory, k.offset(base, offset), /*nontemporal=*/false,
                                llvm::MaybeAlign(16));
}

SmallVector<Value> FmaTile::compute(Value memory, Value slot, ValueRange sums) {
  SmallVector<Value> next(sums);
  Value pixelBase = k.unsignedIndex(k.add(firstPixel, slot));
  Value featureBase = k.unsignedIndex(k.add(k.add(firstFeature, pixelPitch * depth), slot));
  for (int64_t t = 0; t < depth; ++t) {
    Value left[2] = {load(memory, pixelBase, t * pixelPitch), load(memory, pixelBase, t * pixelPitch + 8 * width)};
    SmallVector<Value> right;
    for (int64_t j = 0; j < perThread(); j += width)
      right.push_back(load(memory, featureBase, t * featurePitch + 4 * j));
    for (int64_t j = 0; j < perThread(); ++j) {
      Value one = vector::ExtractOp::create(k.b, k.loc, right[j / width], j % width);
      Value factor = vector::BroadcastOp::create(k.b, k.loc, vector, one);
      for (int64_t h = 0; h < 2; ++h)
        next[2 * j + h] = math::FmaOp::create(k.b, k.loc, factor, left[h], next[2 * j + h]);
    }
  }
  return next;
}

/// Pixels of a feature at once.
void FmaTile::storePixels(OutputWriter &output, FilterReader &filter, ArrayRef<Value> sums) {
  OutputWriter::Places places[2] = {output.places(pixel(0)), output.places(pixel(1))};
  for (int64_t j = 0; j < perThread(); ++j)
    output.features(feature(j), 1, filter.outputs, filter.firstOutput(at.group), [&] {
      for (int64_t h = 0; h < 2; ++h)
        output.storePixels(places[h], sums[2 * j + h]);
    });
}

void FmaTile::store(OutputWriter &output, FilterReader &filter, ArrayRef<Value> sums) {
  if (shape.output.innermost != kFeature)
    return storePixels(output, filter, sums);
  for (int64_t j = 0; j < perThread(); j += width)
    output.features(feature(j), width, filter.outputs, filter.firstOutput(at.group), [&] {
      for (int64_t h = 0; h < 2; ++h)
        for (int64_t e = 0; e < width; ++e) {
          Value values = sums[2 * j + h]; // any vector: every element is replaced
          for (int64_t i = 0; i < width; ++i) {
            Value one = vector::ExtractOp::create(k.b, k.loc, sums[2 * (j + i) + h], e);
            values = vector::InsertOp::create(k.b, k.loc, one, values, i);
          }
          output.storeFeatures(k.add(pixel(h), e), values);
        }
    });
}
