// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ConvShape.h"
#include "HostNumbers.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

#include <limits>
#include <numeric>

using namespace mlir;
using namespace ringconv;

namespace {

/// Sizes and strides of a memref, as attributes where they are static.
struct Layout {
  SmallVector<OpFoldResult> sizes, strides;

  Layout(OpBuilder &b, Location loc, Value memref) : sizes(memref::getMixedSizes(b, loc, memref)) {
    auto type = cast<MemRefType>(memref.getType());
    SmallVector<int64_t> known;
    int64_t offset;
    if (failed(type.getStridesAndOffset(known, offset)))
      return;
    if (!llvm::any_of(known, ShapedType::isDynamic)) {
      strides = getAsIndexOpFoldResult(b.getContext(), known);
      return;
    }
    auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, memref);
    strides = metadata.getConstifiedMixedStrides();
  }
};

/// The largest number of elements that divides every stride but that of the
/// innermost dimension, and the offset; 1 where it is not known.
int64_t rowAlignment(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  if (type.getRank() == 0)
    return 1;
  if (auto view = memref.getDefiningOp<memref::SubViewOp>()) {
    int64_t inner = view.getSourceType().getRank() - 1;
    int64_t offset = view.getStaticOffsets()[inner];
    if (ShapedType::isDynamic(offset) || view.getStaticStrides()[inner] != 1)
      return 1;
    return std::gcd(rowAlignment(view.getSource()), offset);
  }
  if (auto other = memref.getDefiningOp<memref::CastOp>())
    return rowAlignment(other.getSource());
  if (type.getLayout().isIdentity())
    return type.getRank() == 1 ? 0 : type.isDynamicDim(type.getRank() - 1) ? 1 : type.getShape().back();
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(type.getStridesAndOffset(strides, offset)) || ShapedType::isDynamic(offset))
    return 1;
  for (int64_t stride : ArrayRef(strides).drop_back())
    offset = std::gcd(offset, ShapedType::isDynamic(stride) ? 1 : stride);
  return offset;
}

/// The fast kernels count elements of a buffer in 32 bits, and walk past its end
/// by a tile at most. Sizes that differ by rank are not known here (docs/cuda.md,
/// Limits).
bool isCountedIn32Bits(MemRefType type) {
  constexpr int64_t limit = (int64_t(1) << 31) - (int64_t(1) << 24);
  SmallVector<int64_t> strides;
  int64_t offset, last = 0;
  if (failed(type.getStridesAndOffset(strides, offset)))
    return true;
  for (auto [size, stride] : llvm::zip(type.getShape(), strides)) {
    if (ShapedType::isDynamic(size) || ShapedType::isDynamic(stride))
      continue;
    if (stride != 0 && (size - 1) > (limit - last) / stride)
      return false;
    last += std::max<int64_t>(0, size - 1) * stride;
  }
  return true;
}

/// Whether spatial dimensions stand in the order of their numbers, and next to
/// each other, in a dense buffer; whether the batch stands before them.
void describePixels(Value memref, ArrayRef<int64_t> dims, ConvShape &shape) {
  if (!cast<MemRefType>(memref.getType()).getLayout().isIdentity())
    return;
  SmallVector<int64_t> places = spatialDims(dims);
  for (size_t n = 1; n < places.size(); ++n)
    if (places[n] != places[0] + int64_t(n))
      return;
  shape.densePositions = true;
  shape.densePixels = places.empty() || dimOf(dims, kBatch) == places[0] - 1;
}

} // namespace

ConvBuffer ringconv::describeBuffer(OpBuilder &b, Location loc, Value memref, ArrayRef<int64_t> dims, int64_t leading) {
  Layout layout(b, loc, memref);
  ConvBuffer buffer;
  buffer.buffer = memref;
  buffer.dims.assign(dims.begin(), dims.end());
  buffer.offset = b.getIndexAttr(0);
  if (dimOf(dims, kBatch) >= 0)
    buffer.batch = layout.strides[leading + dimOf(dims, kBatch)];
  buffer.feature = layout.strides[leading + dimOf(dims, kFeature)];
  for (int64_t d : spatialDims(dims))
    buffer.spatial.push_back(layout.strides[leading + d]);
  if (isConstantIntValue(layout.strides.back(), 1))
    buffer.innermost = dims.back();
  int64_t alignment = rowAlignment(memref); // 0 is a multiple of everything
  buffer.alignment = alignment % 8 == 0 ? 8 : alignment % 4 == 0 ? 4 : alignment % 2 == 0 ? 2 : 1;
  return buffer;
}

bool ConvDim::readsOnlyElements() const {
  auto count = getConstantIntValue(outputs), at = getConstantIntValue(offset);
  auto begin = getConstantIntValue(validBegin), end = getConstantIntValue(validEnd);
  return count && at && begin && end && !tapCount && *at >= *begin &&
         *at + (*count - 1) * stride + (taps - 1) * dilation < *end;
}

int64_t ConvShape::taps() const {
  int64_t product = 1;
  for (const ConvDim &dim : dims)
    product *= dim.taps;
  return product;
}

/// A slab begins where its side does, in its own dimension; it is extended in
/// earlier ones and has the shard's range in later ones.
OpFoldResult ConvShape::origin(OpBuilder &b, Location loc, size_t s, size_t d) const {
  const ConvDim &dim = dims[d];
  if (dim.halo < 0 || dim.halo < haloOf(s))
    return b.getIndexAttr(0);
  if (dim.halo > haloOf(s))
    return dim.low;
  return isHigh(s) ? HostNumbers{b, loc}.add(dim.low, dim.own) : OpFoldResult(b.getIndexAttr(0));
}

/// The window numbers of the operation, attributes where they are static.
static SmallVector<OpFoldResult> mixed(ArrayRef<int64_t> list, OperandRange::iterator &next, OpBuilder &b) {
  SmallVector<OpFoldResult> values;
  for (int64_t v : list)
    values.push_back(ShapedType::isDynamic(v) ? OpFoldResult(*next++) : OpFoldResult(b.getIndexAttr(v)));
  return values;
}

static void describeDims(OpBuilder &b, LocalConvOp op, ConvShape &shape) {
  Location loc = op.getLoc();
  auto scalars = op.getScalars().begin();
  SmallVector<OpFoldResult> offset = mixed(op.getOffset(), scalars, b), begin = mixed(op.getValidBegin(), scalars, b),
                            end = mixed(op.getValidEnd(), scalars, b);
  SmallVector<int64_t> xs = spatialDims(op.getInputDims()), ws = spatialDims(op.getFilterDims()),
                       ys = spatialDims(op.getOutputDims());
  SmallVector<OpFoldResult> outputs = memref::getMixedSizes(b, loc, op.getInit());
  SmallVector<OpFoldResult> own = memref::getMixedSizes(b, loc, op.getInput());
  ArrayRef<int64_t> filter = cast<MemRefType>(op.getFilter().getType()).getShape();
  for (size_t n = 0; n < xs.size(); ++n) {
    ConvDim dim;
    dim.taps = filter[ws[n]];
    dim.stride = op.getStride()[n];
    dim.dilation = op.getRhsDilate()[n];
    dim.base = op.getLhsDilate()[n];
    dim.reverse = op.getReverse()[n];
    dim.outputs = outputs[ys[n]];
    dim.offset = offset[n];
    dim.validBegin = begin[n];
    dim.validEnd = end[n];
    dim.own = own[xs[n]];
    if (auto *at = llvm::find(op.getHaloDims(), xs[n]); at != op.getHaloDims().end()) {
      dim.halo = at - op.getHaloDims().begin();
      dim.low = memref::getMixedSizes(b, loc, op.getHalos()[2 * dim.halo])[xs[n]];
      dim.high = memref::getMixedSizes(b, loc, op.getHalos()[2 * dim.halo + 1])[xs[n]];
    }
    shape.dims.push_back(dim);
  }
}

/// Tap t of a reversed dimension is the filter's element taps - 1 - t.
void ringconv::reverseTaps(OpBuilder &b, Location loc, ConvShape &shape) {
  HostNumbers h{b, loc};
  ConvBuffer &filter = shape.filter;
  for (auto [n, dim] : llvm::enumerate(shape.dims)) {
    if (!dim.reverse)
      continue;
    filter.offset = h.add(filter.offset, h.mul(filter.spatial[n], dim.taps - 1));
    filter.spatial[n] = h.mul(filter.spatial[n], -1);
    dim.reverse = false;
  }
}

/// Groups divide the output features; without groups there is one.
static void describeGroups(OpBuilder &b, LocalConvOp op, ConvShape &shape, OpFoldResult outputs) {
  int64_t perGroup = op.getFeatureGroupOutputs();
  shape.outputs = perGroup ? OpFoldResult(b.getIndexAttr(perGroup)) : outputs;
  if (!perGroup)
    shape.groups = b.getIndexAttr(1);
  else
    shape.groups = HostNumbers{b, op.getLoc()}.floorDiv(outputs, perGroup);
}

std::optional<ConvShape> ringconv::describeConv(OpBuilder &b, LocalConvOp op, std::string &reason) {
  Location loc = op.getLoc();
  auto filter = cast<MemRefType>(op.getFilter().getType()), output = cast<MemRefType>(op.getInit().getType());
  for (Value operand : op->getOperands())
    if (auto type = dyn_cast<MemRefType>(operand.getType()); type && !isCountedIn32Bits(type))
      return reason = "a buffer has more elements than 32 bits count", std::nullopt;
  ConvShape shape;
  shape.element = filter.getElementType();
  shape.result = output.getElementType();
  shape.grouped = op.getFeatureGroupOutputs() != 0;
  shape.features = filter.getDimSize(dimOf(op.getFilterDims(), kInput));
  for (auto [d, number] : llvm::enumerate(op.getFilterDims()))
    if (number != kOutput && filter.isDynamicDim(d))
      return reason = "the filter's taps or input features have a dynamic size", std::nullopt;
  if (op.getBatchGroupOutputs())
    return reason = "it has batch groups", std::nullopt;
  int64_t feature = dimOf(op.getInputDims(), kFeature), batch = dimOf(op.getInputDims(), kBatch);
  for (int64_t d : op.getHaloDims())
    if (d == feature || d == batch)
      return reason = "a dimension that is not spatial has slabs", std::nullopt;
  describeDims(b, op, shape);
  SmallVector<OpFoldResult> sizes = memref::getMixedSizes(b, loc, op.getInit());
  shape.batch = sizes[dimOf(op.getOutputDims(), kBatch)];
  describeGroups(b, op, shape, sizes[dimOf(op.getOutputDims(), kFeature)]);
  shape.sources.push_back(describeBuffer(b, loc, op.getInput(), op.getInputDims()));
  for (Value halo : op.getHalos())
    shape.sources.push_back(describeBuffer(b, loc, halo, op.getInputDims()));
  shape.filter = describeBuffer(b, loc, op.getFilter(), op.getFilterDims());
  shape.output = describeBuffer(b, loc, op.getInit(), op.getOutputDims());
  describePixels(op.getInit(), op.getOutputDims(), shape);
  if (Value bias = op.getBias())
    shape.bias = describeBuffer(b, loc, bias, {kFeature});
  return shape;
}
