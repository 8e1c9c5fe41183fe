// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv.pool: verifier, shape inference, and what the partitioner asks.
#include "WindowOps.h"

using namespace mlir;
using namespace ringconv;

SmallVector<halo::Window> PoolOp::getWindows() {
  return makeWindows(getSize(), getStride(), getPadLow(), getPadHigh(), getLhsDilate(), getRhsDilate(), getBorder());
}
SmallVector<int64_t> PoolOp::getInputWindowDims() { return spatialDims(getInputDims()); }
SmallVector<int64_t> PoolOp::getResultWindowDims() { return spatialDims(getOutputDims()); }
SmallVector<int64_t> PoolOp::getFilterWindowDims() { return {}; }
bool PoolOp::isReversed(int64_t) { return false; }
int64_t PoolOp::getNumWindowedOperands() { return 1; }

FailureOr<SmallVector<int64_t>> PoolOp::inferShape() {
  ArrayRef<int64_t> x = getInput().getType().getShape();
  auto sizes = windowSizes(*this, getWindows(), getInputDims(), x, "pool_c6", "pool_c7");
  if (failed(sizes))
    return failure();
  SmallVector<int64_t> shape;
  for (int64_t n : getOutputDims())
    shape.push_back(n >= 0 ? (*sizes)[n] : x[dimOf(getInputDims(), n)]);
  return shape;
}

/// pool_c3 and pool_c5: kinds and element types.
static LogicalResult verifyKind(PoolOp op) {
  Type x = op.getInput().getType().getElementType(), y = op.getType().getElementType();
  auto kind = symbolizePoolKind(op.getKind());
  if (!kind)
    return op.emitOpError() << "pool_c5: kind must be 0 (max), 1 (sum), 2 (avg) or 3 (argmax), got " << op.getKind();
  bool isFloat = x.isF64() || x.isF32() || x.isF16() || x.isBF16();
  if (!isFloat && !x.isSignlessInteger(8) && !x.isSignlessInteger(32))
    return op.emitOpError() << "pool_c3: element type must be f64, f32, f16, bf16, i8 or i32, got " << x;
  if (*kind == PoolKind::ArgMax) {
    if (!isFloat || !y.isSignlessInteger(32))
      return op.emitOpError() << "pool_c3: argmax goes from a float element type to i32, got " << x << " and " << y;
  } else if (x != y)
    return op.emitOpError() << "pool_c3: input and result must share an element type, got " << x << " and " << y;
  if (*kind == PoolKind::Avg && !isFloat)
    return op.emitOpError() << "pool_c3: avg needs a float element type, got " << x;
  if (op.getCountPadding() && *kind != PoolKind::Avg)
    return op.emitOpError() << "pool_c5: count_padding goes with avg, got " << stringifyPoolKind(*kind);
  return success();
}

/// pool_c8: an integer has no -inf for a window that reads nothing.
static LogicalResult verifyIntegerMax(PoolOp op) {
  if (symbolizePoolKind(op.getKind()) != PoolKind::Max || !op.getType().getElementType().isInteger())
    return success();
  ArrayRef<int64_t> x = op.getInput().getType().getShape();
  SmallVector<int64_t> inputDims = op.getInputWindowDims();
  for (auto [n, w] : llvm::enumerate(op.getWindows())) {
    if (w.border != halo::Border::Zero)
      continue;
    int64_t size = x[inputDims[n]];
    if (auto o = halo::firstEmptyWindow(w, size))
      return op.emitOpError() << "pool_c8: spatial dim " << n << ": window " << *o
                              << " reads no element, an integer max has no value there";
  }
  return success();
}

LogicalResult PoolOp::verify() {
  int64_t spatial = getStride().size();
  if (failed(verifyDims(*this, "pool_c1", "input", getInputDims(), getInput().getType().getRank(), spatial, true)) ||
      failed(verifyDims(*this, "pool_c1", "result", getOutputDims(), getType().getRank(), spatial, true)))
    return failure();
  for (int64_t letter : {kBatch, kFeature})
    if ((dimOf(getInputDims(), letter) < 0) != (dimOf(getOutputDims(), letter) < 0))
      return emitOpError() << "pool_c1: " << (letter == kBatch ? "b" : "f")
                           << " must be named by both or none of input and result";
  if (failed(verifyWords(*this, "pool_c2", wordsOf(*this), spatial)))
    return failure();
  if (int64_t(getSize().size()) != spatial)
    return emitOpError() << "pool_c2: size must have " << spatial << " entries, got " << getSize().size();
  for (auto [n, k] : llvm::enumerate(getSize()))
    if (k < 1)
      return emitOpError() << "pool_c2: spatial dim " << n << ": size must be at least 1, got " << k;
  if (failed(verifyKind(*this)))
    return failure();
  auto shape = inferShape();
  if (failed(shape) || failed(verifyShape(*this, "pool_c4", *shape, getType())))
    return failure();
  return verifyIntegerMax(*this);
}

SmallVector<Factor> PoolOp::getFactors() {
  SmallVector<Factor> factors;
  for (int64_t letter : {kBatch, kFeature}) {
    int64_t in = dimOf(getInputDims(), letter), out = dimOf(getOutputDims(), letter);
    if (in >= 0)
      factors.push_back(Factor(getInput().getType().getShape()[in], false, {in}, {out}));
  }
  return factors;
}

FailureOr<SmallVector<Value>> PoolOp::createLocal(LocalBuilder &local) {
  OpBuilder &b = local.builder;
  LocalWindows &w = local.windows;
  SmallVector<Value> scalars;
  auto offset = mixedNumbers(b, w.offset, scalars), begin = mixedNumbers(b, w.validBegin, scalars);
  auto end = mixedNumbers(b, w.validEnd, scalars);
  auto op = LocalPoolOp::create(b, local.loc, local.results[0], local.operands[0], w.halos, ValueRange(), scalars,
                                local.empty(),
                                getKindAttr(), getCountPaddingAttr(), getInputDimsAttr(), getOutputDimsAttr(),
                                getSizeAttr(), getStrideAttr(), getLhsDilateAttr(), getRhsDilateAttr(),
                                b.getDenseI64ArrayAttr(w.haloDims), offset, begin, end, w.report);
  return SmallVector<Value>{op.getResult()};
}
