// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv.conv: verifier, shape inference, and what the partitioner asks.
#include "WindowOps.h"

#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace ringconv;

Type ringconv::accumulationType(Type type) {
  if (type.isF16() || type.isBF16())
    return Float32Type::get(type.getContext());
  if (type.isInteger(8))
    return IntegerType::get(type.getContext(), 32);
  return type;
}

LogicalResult ringconv::verifyDims(Operation *op, StringRef label, StringRef tensor, ArrayRef<int64_t> dims,
                                   int64_t rank, int64_t spatial, bool lettersOptional) {
  if (int64_t(dims.size()) != rank)
    return op->emitOpError() << label << ": " << tensor << " has " << rank << " dimensions, its dims name "
                             << dims.size();
  llvm::SmallSet<int64_t, 8> seen;
  for (int64_t n : dims) {
    if (n >= spatial || n < kFeature)
      return op->emitOpError() << label << ": " << tensor << ": spatial number " << n << " is not below " << spatial;
    if (!seen.insert(n).second)
      return op->emitOpError() << label << ": " << tensor << ": dimension number " << n << " is named twice";
  }
  for (int64_t n = 0; n < spatial; ++n)
    if (!seen.contains(n))
      return op->emitOpError() << label << ": " << tensor << ": spatial number " << n << " is missing";
  if (!lettersOptional && (!seen.contains(kBatch) || !seen.contains(kFeature)))
    return op->emitOpError() << label << ": " << tensor << ": its two letters must be named once";
  return success();
}

LogicalResult ringconv::verifyWords(Operation *op, StringRef label, const WindowWords &w, int64_t spatial) {
  auto count = [&](StringRef word, size_t n) -> LogicalResult {
    if (int64_t(n) == spatial)
      return success();
    return op->emitOpError() << label << ": " << word << " must have " << spatial << " entries, got " << n;
  };
  auto positive = [&](StringRef word, ArrayRef<int64_t> values) -> LogicalResult {
    for (auto [n, v] : llvm::enumerate(values))
      if (v < 1)
        return op->emitOpError() << label << ": spatial dim " << n << ": " << word << " must be at least 1, got " << v;
    return success();
  };
  if (failed(count("stride", w.stride.size())) || failed(count("pad", w.padLow.size())) ||
      failed(count("pad", w.padHigh.size())) || failed(count("lhs_dilate", w.lhsDilate.size())) ||
      failed(count("rhs_dilate", w.rhsDilate.size())) || failed(count("reverse", w.reverse.size())) ||
      failed(count("border", w.border.size())))
    return failure();
  for (int64_t b : w.border)
    if (!symbolizeBorder(b))
      return op->emitOpError() << label << ": border must be 0 to 3, got " << b;
  return failure(failed(positive("stride", w.stride)) || failed(positive("lhs_dilate", w.lhsDilate)) ||
                 failed(positive("rhs_dilate", w.rhsDilate)));
}

SmallVector<halo::Window> ringconv::makeWindows(ArrayRef<int64_t> sizes, ArrayRef<int64_t> stride,
                                                ArrayRef<int64_t> padLow, ArrayRef<int64_t> padHigh,
                                                ArrayRef<int64_t> lhsDilate, ArrayRef<int64_t> rhsDilate,
                                                ArrayRef<int64_t> border) {
  SmallVector<halo::Window> windows;
  for (size_t n = 0; n < stride.size(); ++n)
    windows.push_back({sizes[n], stride[n], rhsDilate[n], lhsDilate[n], padLow[n], padHigh[n],
                       halo::Border(border[n])});
  return windows;
}

FailureOr<SmallVector<int64_t>> ringconv::windowSizes(Operation *op, ArrayRef<halo::Window> windows,
                                                      ArrayRef<int64_t> inputDims, ArrayRef<int64_t> shape,
                                                      StringRef emptyLabel, StringRef borderLabel) {
  for (auto [d, size] : llvm::enumerate(shape))
    if (size == 0)
      return op->emitOpError() << emptyLabel << ": dim " << d << " of the input has size 0", failure();
  SmallVector<int64_t> sizes;
  for (auto [n, w] : llvm::enumerate(windows)) {
    int64_t size = shape[dimOf(inputDims, n)];
    if (ShapedType::isDynamic(size)) {
      sizes.push_back(ShapedType::kDynamic);
      continue;
    }
    if (auto why = halo::checkWindow(w, size))
      return op->emitOpError() << borderLabel << ": spatial dim " << n << ": " << *why, failure();
    sizes.push_back(halo::numOutputs(w, size));
  }
  return sizes;
}

LogicalResult ringconv::verifyShape(Operation *op, StringRef label, ArrayRef<int64_t> inferred,
                                    RankedTensorType type) {
  if (failed(verifyCompatibleShape(inferred, type.getShape()))) {
    auto diag = op->emitOpError() << label << ": the result must be ";
    llvm::interleave(inferred, diag, [&](int64_t n) { diag << n; }, "x");
    diag << ", got ";
    llvm::interleave(type.getShape(), diag, [&](int64_t n) { diag << n; }, "x");
    return diag;
  }
  return success();
}

// ===--------------------------------------------------------------------=== //
// conv
// ===--------------------------------------------------------------------=== //

SmallVector<halo::Window> ConvOp::getWindows() {
  SmallVector<int64_t> sizes;
  for (int64_t d : spatialDims(getFilterDims()))
    sizes.push_back(getFilter().getType().getShape()[d]);
  return makeWindows(sizes, getStride(), getPadLow(), getPadHigh(), getLhsDilate(), getRhsDilate(), getBorder());
}
SmallVector<int64_t> ConvOp::getInputWindowDims() { return spatialDims(getInputDims()); }
SmallVector<int64_t> ConvOp::getResultWindowDims() { return spatialDims(getOutputDims()); }
SmallVector<int64_t> ConvOp::getFilterWindowDims() { return spatialDims(getFilterDims()); }
bool ConvOp::isReversed(int64_t spatial) { return getReverse()[spatial]; }
int64_t ConvOp::getNumWindowedOperands() { return 1; }

FailureOr<SmallVector<int64_t>> ConvOp::inferShape() {
  ArrayRef<int64_t> x = getInput().getType().getShape(), w = getFilter().getType().getShape();
  auto sizes = windowSizes(*this, getWindows(), getInputDims(), x, "conv_c10", "conv_c11");
  if (failed(sizes))
    return failure();
  int64_t batch = x[dimOf(getInputDims(), kBatch)];
  SmallVector<int64_t> shape;
  for (int64_t n : getOutputDims())
    shape.push_back(n >= 0 ? (*sizes)[n]
                    : n == kFeature ? w[dimOf(getFilterDims(), kOutput)]
                    : ShapedType::isDynamic(batch) ? batch
                                                   : batch / int64_t(getBatchGroupCount()));
  return shape;
}

/// conv_c3: element types.
static LogicalResult verifyTypes(ConvOp op) {
  Type x = op.getInput().getType().getElementType(), w = op.getFilter().getType().getElementType();
  Type y = op.getType().getElementType();
  if (!x.isF64() && !x.isF32() && !x.isF16() && !x.isBF16() && !x.isSignlessInteger(8))
    return op.emitOpError() << "conv_c3: element type must be f64, f32, f16, bf16 or i8, got " << x;
  if (x != w)
    return op.emitOpError() << "conv_c3: input and filter must share an element type, got " << x << " and " << w;
  if (y != x && y != accumulationType(x))
    return op.emitOpError() << "conv_c3: the result must be " << x << " or " << accumulationType(x) << ", got " << y;
  return success();
}

/// conv_c4 to conv_c7: groups.
static LogicalResult verifyGroups(ConvOp op) {
  int64_t fg = op.getFeatureGroupCount(), bg = op.getBatchGroupCount();
  ArrayRef<int64_t> x = op.getInput().getType().getShape(), w = op.getFilter().getType().getShape();
  int64_t features = x[dimOf(op.getInputDims(), kFeature)], batch = x[dimOf(op.getInputDims(), kBatch)];
  int64_t inputs = w[dimOf(op.getFilterDims(), kInput)], outputs = w[dimOf(op.getFilterDims(), kOutput)];
  if (fg < 1 || bg < 1 || (fg > 1 && bg > 1))
    return op.emitOpError() << "conv_c4: group counts must be at least 1 and not both above 1, got feature " << fg
                            << " and batch " << bg;
  if (!ShapedType::isDynamic(features) && !ShapedType::isDynamic(inputs)) {
    int64_t product;
    if (__builtin_mul_overflow(inputs, fg, &product) || features != product)
      return op.emitOpError() << "conv_c5: the input has " << features << " features, the filter takes " << inputs
                              << " x " << fg << " groups";
  }
  if (!ShapedType::isDynamic(outputs) && (outputs % fg || outputs % bg))
    return op.emitOpError() << "conv_c6: " << outputs << " filter outputs are not divisible by the group count "
                            << std::max(fg, bg);
  if (!ShapedType::isDynamic(batch) && batch % bg)
    return op.emitOpError() << "conv_c7: batch " << batch << " is not divisible by batch_group_count " << bg;
  return success();
}

LogicalResult ConvOp::verify() {
  int64_t spatial = getInput().getType().getRank() - 2;
  auto dims = [&](StringRef name, ArrayRef<int64_t> numbers, RankedTensorType type) {
    return verifyDims(*this, "conv_c1", name, numbers, type.getRank(), spatial, false);
  };
  if (failed(dims("input", getInputDims(), getInput().getType())) ||
      failed(dims("filter", getFilterDims(), getFilter().getType())) ||
      failed(dims("result", getOutputDims(), getType())))
    return failure();
  if (failed(verifyWords(*this, "conv_c2", wordsOf(*this), spatial)) || failed(verifyTypes(*this)) ||
      failed(verifyGroups(*this)))
    return failure();
  auto shape = inferShape();
  if (failed(shape) || failed(verifyShape(*this, "conv_c8", *shape, getType())))
    return failure();
  if (!getBias())
    return success();
  auto bias = cast<RankedTensorType>(getBias().getType());
  int64_t outputs = (*shape)[dimOf(getOutputDims(), kFeature)];
  if (bias.getRank() != 1 || (bias.getDimSize(0) != outputs && !bias.isDynamicDim(0) &&
                              !ShapedType::isDynamic(outputs)))
    return emitOpError() << "conv_c9: bias must have one dimension of " << outputs << ", got " << bias;
  if (bias.getElementType() != getType().getElementType())
    return emitOpError() << "conv_c9: bias must have the result's element type " << getType().getElementType()
                         << ", got " << bias.getElementType();
  return success();
}

/// Batch and features; the groups are one factor where there are some. Spatial
/// dimensions are windows, no factors.
SmallVector<Factor> ConvOp::getFactors() {
  ArrayRef<int64_t> x = getInput().getType().getShape(), w = getFilter().getType().getShape();
  int64_t xb = dimOf(getInputDims(), kBatch), xf = dimOf(getInputDims(), kFeature);
  int64_t wo = dimOf(getFilterDims(), kOutput), wi = dimOf(getFilterDims(), kInput);
  int64_t yb = dimOf(getOutputDims(), kBatch), yf = dimOf(getOutputDims(), kFeature);
  int64_t fg = getFeatureGroupCount(), bg = getBatchGroupCount();
  auto operands = [&](int64_t input, int64_t filter, int64_t bias) {
    Factor::Dims dims{input, filter};
    if (getBias())
      dims.push_back(bias);
    return dims;
  };
  SmallVector<Factor> factors;
  if (bg == 1)
    factors.push_back(Factor(x[xb], false, operands(xb, -1, -1), {yb}));
  if (fg == 1 && bg == 1)
    factors.push_back(Factor(w[wo], false, operands(-1, wo, 0), {yf}));
  if (fg > 1 || bg > 1) {
    int64_t groups = std::max(fg, bg), in = fg > 1 ? xf : xb;
    Factor group(groups, false, operands(in, wo, 0), {yf});
    group.operandUnits = operands(x[in] / groups, w[wo] / groups, w[wo] / groups);
    group.resultUnits = {w[wo] / groups};
    factors.push_back(group);
  }
  if (fg == 1)
    factors.push_back(Factor(w[wi], true, operands(xf, wi, -1), {-1}));
  return factors;
}

DenseI64ArrayAttr ringconv::mixedNumbers(Builder &b, ArrayRef<OpFoldResult> values, SmallVectorImpl<Value> &scalars) {
  SmallVector<int64_t> numbers;
  for (OpFoldResult v : values) {
    auto attr = dyn_cast<Attribute>(v);
    numbers.push_back(attr ? cast<IntegerAttr>(attr).getInt() : ShapedType::kDynamic);
    if (!attr)
      scalars.push_back(cast<Value>(v));
  }
  return b.getDenseI64ArrayAttr(numbers);
}

FailureOr<SmallVector<Value>> ConvOp::createLocal(LocalBuilder &local) {
  OpBuilder &b = local.builder;
  LocalWindows &w = local.windows;
  SmallVector<Value> scalars;
  auto offset = mixedNumbers(b, w.offset, scalars), begin = mixedNumbers(b, w.validBegin, scalars);
  auto end = mixedNumbers(b, w.validEnd, scalars);
  Value bias = getBias() && !local.partial ? local.operands[2] : Value();
  int64_t outputs = getFilter().getType().getShape()[dimOf(getFilterDims(), kOutput)];
  int64_t fg = getFeatureGroupCount(), bg = getBatchGroupCount();
  auto op = LocalConvOp::create(
      b, local.loc, local.results[0], local.operands[0], w.halos, local.operands[1], bias, scalars, local.empty(),
      getInputDimsAttr(), getFilterDimsAttr(), getOutputDimsAttr(), getStrideAttr(), getLhsDilateAttr(),
      getRhsDilateAttr(), getReverseAttr(), b.getDenseI64ArrayAttr(w.haloDims), offset, begin, end,
      b.getI64IntegerAttr(fg > 1 ? outputs / fg : 0), b.getI64IntegerAttr(bg > 1 ? outputs / bg : 0), w.report);
  return SmallVector<Value>{op.getResult()};
}
