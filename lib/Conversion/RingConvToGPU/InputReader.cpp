// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "InputReader.h"
#include "HostNumbers.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace ringconv;

std::string ringconv::whyNotTaps(const ConvShape &shape) {
  if (shape.taps() > InputReader::kMaxTaps)
    return "its window has more than 64 taps";
  return "";
}

InputReader::InputReader(KernelCode &k, const ConvShape &shape) : k(k), shape(shape) {
  wordType = k.b.getIntegerType(shape.taps() <= 32 ? 32 : 64);
  for (size_t s = 0; s < shape.sources.size(); ++s) {
    auto *dim = llvm::find_if(shape.dims, [&](const ConvDim &d) { return s && d.halo == ConvShape::haloOf(s); });
    if (s == 0 || !isConstantIntValue(ConvShape::isHigh(s) ? dim->high : dim->low, 0))
      addSource(s);
  }
  HostNumbers h{k.kernel.host, k.loc};
  Value batch = k.number(shape.batch);
  positionCount = k.constant(1);
  for (const ConvDim &dim : shape.dims) {
    Dim d;
    d.outputs = k.number(dim.outputs);
    d.offset = k.number(dim.offset);
    d.validBegin = k.number(dim.validBegin);
    // A rank all of whose windows lie in padding may have an end before the begin.
    d.validCount = k.number(h.max(h.sub(dim.validEnd, dim.validBegin), h.constant(0)));
    if (dim.tapCount)
      d.tapCount = k.number(dim.tapCount);
    if (dim.halo >= 0) {
      d.low = k.number(dim.low);
      d.own = k.number(dim.own);
    }
    positionCount = k.mul(positionCount, d.outputs);
    dims.push_back(d);
  }
  pixelCount = k.mul(batch, positionCount);
}

void InputReader::addSource(size_t s) {
  const ConvBuffer &buffer = shape.sources[s];
  Source source;
  source.pointer = k.pointer(buffer.buffer);
  source.batch = k.number(buffer.batch);
  source.feature = k.number(buffer.feature);
  source.halo = ConvShape::haloOf(s);
  source.high = ConvShape::isHigh(s);
  for (size_t d = 0; d < shape.dims.size(); ++d) {
    source.spatial.push_back(k.number(buffer.spatial[d]));
    source.origin.push_back(k.number(shape.origin(k.kernel.host, k.loc, s, d)));
  }
  sources.push_back(source);
}

SmallVector<Value> InputReader::coordinates(Value m) {
  SmallVector<Value> at(dims.size() + 1);
  for (size_t d = dims.size(); d-- > 0;) {
    at[d + 1] = k.rem(m, dims[d].outputs);
    m = k.div(m, dims[d].outputs);
  }
  at[0] = m;
  return at;
}

Value InputReader::hasTaps(ValueRange taps) {
  Value all = k.yes();
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d].tapCount)
      all = k.bitAnd(all, k.compare(arith::CmpIPredicate::slt, taps[d], dims[d].tapCount));
  return all;
}

Value InputReader::tapNumber(ValueRange taps) {
  Value number = k.constant(0);
  for (auto [dim, tap] : llvm::zip(shape.dims, taps))
    number = k.add(k.mul(number, dim.taps), tap);
  return number;
}

/// The word whose bit (t_0, t_1, ...) is flags[0][t_0] & flags[1][t_1] & ...
Value InputReader::tapWord(ArrayRef<Flags> flags) {
  Value none = arith::ConstantIntOp::create(k.b, k.loc, wordType, 0);
  Value word = k.like(none, 1);
  int64_t bits = 1;
  for (const Flags &dim : llvm::reverse(flags)) {
    Value next = none;
    for (auto [t, flag] : llvm::enumerate(dim))
      next = k.bitOr(next, k.select(flag, k.shiftLeft(word, t * bits), none));
    word = next;
    bits *= dim.size();
  }
  return word;
}

/// Which taps of dimension `d` lead to an element, where tap 0 reads `first`.
InputReader::Flags InputReader::validTaps(size_t d, Value first) {
  const ConvDim &dim = shape.dims[d];
  if (dim.readsOnlyElements())
    return Flags(dim.taps, k.yes());
  Flags flags;
  for (int64_t t = 0; t < dim.taps; ++t) {
    Value element = k.sub(k.add(first, t * dim.dilation), dims[d].validBegin);
    flags.push_back(k.within(element, dims[d].validCount));
  }
  return flags;
}

/// True if coordinate `at` of dimension `d` lies where `source` is read: on its
/// side in its own dimension, in the shard's range in later ones, anywhere in
/// earlier ones.
Value InputReader::isIn(const Source &source, size_t d, Value at) {
  int64_t halo = shape.dims[d].halo;
  if (halo < source.halo)
    return k.yes();
  Value inner = k.sub(at, dims[d].low);
  if (halo > source.halo)
    return k.within(inner, dims[d].own);
  return source.high ? k.compare(arith::CmpIPredicate::sge, inner, dims[d].own)
                     : k.compare(arith::CmpIPredicate::slt, inner, k.constant(0));
}

InputReader::Flags InputReader::tapsIn(const Source &source, size_t d, Value first) {
  Flags flags;
  for (int64_t t = 0; t < shape.dims[d].taps; ++t)
    flags.push_back(isIn(source, d, k.add(first, t * shape.dims[d].dilation)));
  return flags;
}

Value InputReader::first(size_t d, Value o) { return k.add(k.mul(o, shape.dims[d].stride), dims[d].offset); }

PixelInput InputReader::pixel(Value m, Value feature) {
  SmallVector<Value> at = coordinates(m), start;
  SmallVector<Flags> valid;
  for (size_t d = 0; d < dims.size(); ++d) {
    start.push_back(first(d, at[d + 1]));
    valid.push_back(validTaps(d, start[d]));
  }
  PixelInput pixel;
  Value none = arith::ConstantIntOp::create(k.b, k.loc, wordType, 0);
  pixel.valid = k.select(k.within(m, pixelCount), tapWord(valid), none);
  for (const Source &source : sources) {
    Value base = k.add(k.mul(at[0], source.batch), k.mul(feature, source.feature));
    SmallVector<Flags> inside;
    for (size_t d = 0; d < dims.size(); ++d) {
      base = k.add(base, k.mul(k.sub(start[d], source.origin[d]), source.spatial[d]));
      if (source.halo >= 0)
        inside.push_back(tapsIn(source, d, start[d]));
    }
    pixel.base.push_back(base);
    pixel.inSlab.push_back(source.halo < 0 ? Value() : tapWord(inside));
  }
  return pixel;
}

TapInput InputReader::tap(ValueRange taps, Value features, Value live) {
  TapInput tap;
  Value number = tapNumber(taps);
  if (wordType != number.getType())
    number = arith::ExtUIOp::create(k.b, k.loc, wordType, number);
  tap.bit = k.select(live, k.shiftLeft(k.like(number, 1), number), k.like(number, 0));
  for (const Source &source : sources) {
    Value offset = k.mul(features, source.feature);
    for (size_t d = 0; d < dims.size(); ++d)
      offset = k.add(offset, k.mul(k.mul(taps[d], shape.dims[d].dilation), source.spatial[d]));
    tap.offset.push_back(offset);
  }
  return tap;
}

/// Buffers are chosen among as memrefs of one type.
Value InputReader::asBuffer(Value pointer) {
  auto type = MemRefType::get({ShapedType::kDynamic}, shape.element);
  return sources.size() == 1 ? pointer : memref::CastOp::create(k.b, k.loc, type, pointer).getResult();
}

InputElement InputReader::element(const PixelInput &pixel, const TapInput &tap) {
  InputElement element{k.notZero(k.bitAnd(pixel.valid, tap.bit)), open(sources[0]), k.add(pixel.base[0], tap.offset[0]),
                       sources[0].feature};
  for (size_t s = 1; s < sources.size(); ++s) {
    Value here = k.notZero(k.bitAnd(pixel.inSlab[s], tap.bit));
    element.buffer = k.select(here, open(sources[s]), element.buffer);
    element.offset = k.select(here, k.add(pixel.base[s], tap.offset[s]), element.offset);
    element.featureStride = k.select(here, sources[s].feature, element.featureStride);
  }
  return element;
}

InputElement InputReader::element(Value batch, ValueRange at, Value feature, Value exists) {
  InputElement element{exists, {}, {}, {}};
  for (size_t d = 0; d < dims.size(); ++d)
    element.reads = k.bitAnd(element.reads, k.within(k.sub(at[d], dims[d].validBegin), dims[d].validCount));
  for (const Source &source : sources) {
    Value offset = k.add(k.mul(batch, source.batch), k.mul(feature, source.feature)), here = k.yes();
    for (size_t d = 0; d < dims.size(); ++d) {
      offset = k.add(offset, k.mul(k.sub(at[d], source.origin[d]), source.spatial[d]));
      if (source.halo >= 0)
        here = k.bitAnd(here, isIn(source, d, at[d]));
    }
    bool shard = source.halo < 0;
    element.buffer = shard ? open(source) : k.select(here, open(source), element.buffer);
    element.offset = shard ? offset : k.select(here, offset, element.offset);
    element.featureStride = shard ? source.feature : k.select(here, source.feature, element.featureStride);
  }
  return element;
}
