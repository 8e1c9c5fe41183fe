// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution of one tap without stride or padding does not see rows: all
// spatial dimensions become one, where memory has no gaps between them. Tiles
// then cross the ends of rows, so that short rows fill them and stores are whole
// cache lines.
#include "LoopBuilder.h"
#include "VectorPlan.h"

using namespace mlir;
using namespace ringconv;

static constexpr int64_t kMaxFlatColumns = 1 << 16;

/// True if every output reads the element of its own coordinates.
static bool isPointwise(LocalConvOp op) {
  auto all = [](ArrayRef<int64_t> list, int64_t value) { return llvm::all_equal(list) && list[0] == value; };
  if (op.getStride().size() < 2 || !op.getHaloDims().empty() || !all(op.getStride(), 1) || !all(op.getLhsDilate(), 1) ||
      !all(op.getOffset(), 0))
    return false;
  auto filter = cast<MemRefType>(op.getFilter().getType()), input = cast<MemRefType>(op.getInput().getType());
  auto init = cast<MemRefType>(op.getInit().getType());
  SmallVector<int64_t> xs = spatialDims(op.getInputDims()), ys = spatialDims(op.getOutputDims());
  int64_t columns = 1;
  for (auto [n, d] : llvm::enumerate(spatialDims(op.getFilterDims()))) {
    int64_t size = input.getDimSize(xs[n]);
    // Unknown bounds are the smallest number, which is no size either.
    if (filter.getDimSize(d) != 1 || ShapedType::isDynamic(size) || init.getDimSize(ys[n]) != size ||
        op.getValidBegin()[n] != 0 || op.getValidEnd()[n] != size)
      return false;
    // Tiles of columns are planned one by one; rows of so many columns need no
    // merging.
    if (__builtin_mul_overflow(columns, size, &columns) || columns > kMaxFlatColumns)
      return false;
  }
  return true;
}

/// Spatial dimensions as one group, if they are neighbours in their order.
static std::optional<SmallVector<ReassociationIndices>> mergeSpatial(ArrayRef<int64_t> dims) {
  SmallVector<int64_t> spatial = spatialDims(dims);
  for (size_t n = 1; n < spatial.size(); ++n)
    if (spatial[n] != spatial[n - 1] + 1)
      return std::nullopt;
  SmallVector<ReassociationIndices> groups;
  for (int64_t d = 0; d < int64_t(dims.size()); ++d)
    if (d > spatial.front() && d <= spatial.back())
      groups.back().push_back(d);
    else
      groups.push_back({d});
  return groups;
}

/// The dimension numbers with one spatial dimension.
static DenseI64ArrayAttr mergedDims(Builder &b, ArrayRef<int64_t> dims) {
  SmallVector<int64_t> merged;
  for (int64_t number : dims)
    if (number <= 0)
      merged.push_back(number);
  return b.getDenseI64ArrayAttr(merged);
}

LocalConvOp ringconv::flattenPointwise(LocalConvOp op) {
  if (!isPointwise(op))
    return op;
  Value values[] = {op.getInput(), op.getFilter(), op.getInit()};
  ArrayRef<int64_t> dims[] = {op.getInputDims(), op.getFilterDims(), op.getOutputDims()};
  SmallVector<ReassociationIndices> groups[3];
  for (int i = 0; i < 3; ++i) {
    auto merged = mergeSpatial(dims[i]);
    if (!merged || !memref::CollapseShapeOp::isGuaranteedCollapsible(cast<MemRefType>(values[i].getType()), *merged))
      return op;
    groups[i] = *merged;
  }
  OpBuilder b(op);
  for (int i = 0; i < 3; ++i)
    values[i] = memref::CollapseShapeOp::create(b, op.getLoc(), values[i], groups[i]);
  auto flat = cast<LocalConvOp>(b.clone(*op));
  flat.getInputMutable().assign(values[0]);
  flat.getFilterMutable().assign(values[1]);
  flat.getInitMutable().assign(values[2]);
  flat.setInputDimsAttr(mergedDims(b, dims[0]));
  flat.setFilterDimsAttr(mergedDims(b, dims[1]));
  flat.setOutputDimsAttr(mergedDims(b, dims[2]));
  for (auto set : {&LocalConvOp::setStride, &LocalConvOp::setLhsDilate, &LocalConvOp::setRhsDilate})
    (flat.*set)({1});
  flat.setReverse({false});
  flat.setOffset({0});
  flat.setValidBegin({0});
  int64_t number = spatialDims(flat.getInputDims())[0];
  flat.setValidEnd({cast<MemRefType>(values[0].getType()).getDimSize(number)});
  op.erase();
  return flat;
}

// ===--------------------------------------------------------------------=== //
// Single outputs
// ===--------------------------------------------------------------------=== //

/// True if each output is one sum over the whole input, as in the gradient of a
/// filter of one tap.
static bool isProduct(LocalConvOp op) {
  auto all = [](ArrayRef<int64_t> list, int64_t value) { return llvm::all_equal(list) && list[0] == value; };
  if (op.getStride().empty() || op.getBias() || !op.getHaloDims().empty() || op.getFeatureGroupOutputs() ||
      op.getBatchGroupOutputs() || llvm::is_contained(op.getReverse(), true) || !all(op.getLhsDilate(), 1) ||
      !all(op.getRhsDilate(), 1) || !all(op.getOffset(), 0) || !all(op.getValidBegin(), 0))
    return false;
  auto filter = cast<MemRefType>(op.getFilter().getType()), input = cast<MemRefType>(op.getInput().getType());
  auto init = cast<MemRefType>(op.getInit().getType());
  SmallVector<int64_t> xs = spatialDims(op.getInputDims()), ys = spatialDims(op.getOutputDims());
  for (auto [n, d] : llvm::enumerate(spatialDims(op.getFilterDims())))
    if (input.getDimSize(xs[n]) != filter.getDimSize(d) || op.getValidEnd()[n] != filter.getDimSize(d) ||
        init.getDimSize(ys[n]) != 1)
      return false;
  return input.hasStaticShape() && filter.hasStaticShape() && input.getElementType() == filter.getElementType();
}

/// The smaller operand of a product becomes its filter, which is packed in each
/// run: sums are the same, term by term.
bool ringconv::swapOperands(LocalConvOp op) {
  if (!isProduct(op))
    return false;
  auto filter = cast<MemRefType>(op.getFilter().getType()), input = cast<MemRefType>(op.getInput().getType());
  int64_t batch = input.getDimSize(dimOf(op.getInputDims(), kBatch));
  if (batch < 16 || batch >= filter.getDimSize(dimOf(op.getFilterDims(), kOutput)))
    return false;
  // A filter's output is numbered as an input's batch, its input as a feature.
  static_assert(kOutput == kBatch && kInput == kFeature);
  SmallVector<int64_t> inputDims(op.getFilterDims()), filterDims(op.getInputDims()), outputDims(op.getOutputDims());
  for (int64_t &number : outputDims)
    number = number == kBatch ? kFeature : number == kFeature ? kBatch : number;
  Value values[] = {op.getInput(), op.getFilter()};
  op.getInputMutable().assign(values[1]);
  op.getFilterMutable().assign(values[0]);
  op.setInputDims(inputDims);
  op.setFilterDims(filterDims);
  op.setOutputDims(outputDims);
  return true;
}
