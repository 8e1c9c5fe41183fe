// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vectorised form of pools: lanes are neighbouring outputs along the last
// spatial dimension, as in ConvColumns.cpp. Maxima of narrow floats are taken in
// the accumulation type, which is exact.
#include "ColumnLines.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ringconv;

/// Taps of a row in one loop body.
static constexpr int64_t kMaxBody = 128;

namespace {
class PoolColumns : ColumnLines {
public:
  PoolColumns(LocalPoolOp op, const VectorShape &shape, const LoopOptions &options)
      : ColumnLines(LocalWindow(op), shape, options), op(op), kind(PoolKind(op.getKind())) {}
  using ColumnLines::check;
  void emit();

private:
  bool counts() { return kind == PoolKind::Avg && !op.getCountPadding(); }
  int64_t windowSize();
  void computeBlock(ArrayRef<Value> outputs, Value batch, Value feature);
  void reduce(const OutputClass &outputs, Value place, ArrayRef<Value> masks);
  Value divide(ValueRange planes);

  LocalPoolOp op;
  PoolKind kind;
};
} // namespace

void PoolColumns::emit() {
  prepare();
  allocate(counts() ? 2 : 1);
  auto extent = [&](DimNumber number) {
    int64_t d = llvm::find(op.getOutputDims(), int64_t(number)) - op.getOutputDims().begin();
    return d < int64_t(op.getOutputDims().size()) ? l.size(op.getInit(), d) : l.constant(1);
  };
  forEach(extent(kBatch), [&](Value n) {
    forEach(extent(kFeature), [&](Value f) {
      enterGroup(n, l.constant(0));
      forBlocks({}, [&](ArrayRef<Value> outputs) { computeBlock(outputs, n, f); });
    });
  });
  free();
  op.erase();
}

int64_t PoolColumns::windowSize() {
  int64_t size = 1;
  for (int64_t n : op.getSize())
    size *= n;
  return size;
}

void PoolColumns::computeBlock(ArrayRef<Value> outputs, Value batch, Value feature) {
  start(0, kind == PoolKind::Max ? l.lowest(shape.accumulator) : l.zero(shape.accumulator));
  if (counts())
    start(1, l.zero(shape.accumulator));
  fillLines(feature);
  forTiles([&](const OutputClass &c, Value place, ArrayRef<Value> masks) { reduce(c, place, masks); });
  Values at(op.getOutputDims().size());
  for (auto [d, number] : llvm::enumerate(op.getOutputDims()))
    at[d] = number == kBatch ? batch : number == kFeature ? feature : Value();
  for (auto [n, o] : llvm::enumerate(outputs))
    at[shape.outputDims[n]] = o;
  SmallVector<int64_t> planes{0};
  if (counts())
    planes.push_back(1);
  storeBlock(at, planes, [&](ValueRange values) { return kind == PoolKind::Avg ? divide(values) : values[0]; });
}

void PoolColumns::reduce(const OutputClass &outputs, Value place, ArrayRef<Value> masks) {
  Values state{loadPlane(0, outputs, place)};
  if (counts())
    state.push_back(loadPlane(1, outputs, place));
  FloatType type = cast<FloatType>(shape.accumulator);
  Value one =
      vector::BroadcastOp::create(b, l.loc, vectorType, arith::ConstantOp::create(b, l.loc, b.getFloatAttr(type, 1.0)));
  state = overLines(state, [&](Value line, ArrayRef<Value>, ValueRange s) {
    Values next(s);
    for (auto [i, tap] : llvm::enumerate(outputs.taps)) {
      Value x = loadColumns(line, tap, place);
      Values combined{kind == PoolKind::Max ? arith::MaximumFOp::create(b, l.loc, next[0], x).getResult()
                                            : arith::AddFOp::create(b, l.loc, next[0], x).getResult()};
      if (counts())
        combined.push_back(arith::AddFOp::create(b, l.loc, next[1], one));
      for (auto [now, then] : llvm::zip(next, combined))
        now = masks.empty() ? then : arith::SelectOp::create(b, l.loc, masks[i], then, now).getResult();
    }
    return next;
  });
  for (auto [plane, v] : llvm::enumerate(state))
    storePlane(v, plane, outputs, place);
}

/// Sum by the number of elements read, 0 for none; or by the window's size. The
/// numbers are small enough to be exact.
Value PoolColumns::divide(ValueRange planes) {
  auto number = [&](double v) -> Value {
    Value n = arith::ConstantOp::create(b, l.loc, b.getFloatAttr(cast<FloatType>(shape.accumulator), v));
    Type type = planes[0].getType();
    return isa<VectorType>(type) ? vector::BroadcastOp::create(b, l.loc, type, n).getResult() : n;
  };
  if (!counts())
    return arith::DivFOp::create(b, l.loc, planes[0], number(windowSize()));
  Value quotient = arith::DivFOp::create(b, l.loc, planes[0], planes[1]);
  Value none = arith::CmpFOp::create(b, l.loc, arith::CmpFPredicate::OEQ, planes[1], number(0));
  return arith::SelectOp::create(b, l.loc, none, number(0), quotient);
}

bool ringconv::lowerToColumns(LocalPoolOp op, const LoopOptions &options, std::string &reason) {
  std::optional<VectorShape> shape = readVectorShape(op, options, reason);
  if (!shape)
    return false;
  const char *why = PoolColumns::check(LocalWindow(op), *shape);
  if (!op.getSelector().empty())
    why = "a selector";
  if (!why && shape->taps.back() > kMaxBody)
    why = "a window of too many taps";
  if (why) {
    reason = why;
    return false;
  }
  PoolColumns(op, *shape, options).emit();
  return true;
}
