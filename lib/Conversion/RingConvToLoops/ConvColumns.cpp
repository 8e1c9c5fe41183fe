// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vectorised form for few output features per group, depthwise above all:
// lanes are neighbouring outputs along the last spatial dimension.
//
//   for batch, group, output row, block of columns:
//     sums = bias
//     for input feature:
//       fill the lines (see ColumnLines.h)
//       for the vectors of outputs: for the lines: for the taps:
//         sums += columns of the line * broadcast of the filter
//     store
//
// Per output this is the order of the plain loops, so that results agree bit for
// bit.
#include "ColumnLines.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ringconv;

/// Multiply-adds in one loop body.
static constexpr int64_t kMaxBody = 128;

namespace {
class ConvColumns : ColumnLines {
public:
  ConvColumns(LocalConvOp op, const VectorShape &shape, const LoopOptions &options)
      : ColumnLines(LocalWindow(op), shape, options), op(op) {}
  using ColumnLines::check;
  void emit();

private:
  void computeBlock(ArrayRef<Value> outputs);
  void multiply(Value f, const OutputClass &outputs, Value place, ArrayRef<Value> masks);

  LocalConvOp op;
  Value firstOutput;
};
} // namespace

void ConvColumns::emit() {
  prepare();
  allocate(shape.perGroup);
  forEach(l.size(op.getInit(), dimOf(op.getOutputDims(), kBatch)), [&](Value n) {
    forEach(shape.groups, [&](Value group) {
      enterGroup(n, group);
      firstOutput = l.mul(group, shape.perGroup);
      forBlocks({}, [&](ArrayRef<Value> outputs) { computeBlock(outputs); });
    });
  });
  free();
  op.erase();
}

void ConvColumns::computeBlock(ArrayRef<Value> outputs) {
  for (int64_t o = 0; o < shape.perGroup; ++o) {
    Value bias = l.zero(shape.accumulator);
    if (op.getBias())
      bias = l.convert(memref::LoadOp::create(b, l.loc, op.getBias(), l.add(firstOutput, o)), shape.accumulator);
    start(o, bias);
  }
  Value taps = options.count ? l.mul(countTaps(), shape.perGroup) : Value();
  forEach(shape.features, [&](Value f) {
    fillLines(l.add(firstFeature, f));
    if (taps)
      overLines({}, [&](Value, ArrayRef<Value>, ValueRange) {
        CountOp::create(b, l.loc, taps);
        return Values();
      });
    forTiles([&](const OutputClass &c, Value place, ArrayRef<Value> masks) { multiply(f, c, place, masks); });
  });
  Values at(op.getOutputDims().size());
  at[dimOf(op.getOutputDims(), kBatch)] = outputBatch;
  for (auto [n, o] : llvm::enumerate(outputs))
    at[shape.outputDims[n]] = o;
  for (int64_t o = 0; o < shape.perGroup; ++o) {
    at[dimOf(op.getOutputDims(), kFeature)] = l.add(firstOutput, o);
    storeBlock(at, {o}, [](ValueRange sum) { return sum[0]; });
  }
}

void ConvColumns::multiply(Value f, const OutputClass &outputs, Value place, ArrayRef<Value> masks) {
  Values state;
  for (int64_t o = 0; o < shape.perGroup; ++o)
    state.push_back(loadPlane(o, outputs, place));
  state = overLines(state, [&](Value line, ArrayRef<Value> rowTaps, ValueRange s) {
    Values next(s);
    for (auto [i, tap] : llvm::enumerate(outputs.taps)) {
      Value x = loadColumns(line, tap, place);
      for (int64_t o = 0; o < shape.perGroup; ++o) {
        Value w = vector::BroadcastOp::create(b, l.loc, vectorType,
                                              filterElement(op, l.add(firstOutput, o), f, rowTaps, tap.tap));
        Value sum = math::FmaOp::create(b, l.loc, x, w, next[o]);
        next[o] = masks.empty() ? sum : arith::SelectOp::create(b, l.loc, masks[i], sum, next[o]).getResult();
      }
    }
    return next;
  });
  for (int64_t o = 0; o < shape.perGroup; ++o)
    storePlane(state[o], o, outputs, place);
}

bool ringconv::lowerToColumns(LocalConvOp op, const LoopOptions &options, std::string &reason) {
  std::optional<VectorShape> shape = readVectorShape(op, options, reason);
  // More features go faster as lanes; where they cannot, the reason stands.
  if (!shape || shape->perGroup >= 8)
    return false;
  if (!readColumns(op, *shape).isStatic())
    if (SmallVector<LocalConvOp> versions = specializeColumns(op); !versions.empty()) {
      for (LocalConvOp version : versions)
        if (!lowerToVectorLoops(version, options))
          lowerToPlainLoops(version, options);
      return true;
    }
  if (lowerToDirectColumns(op, *shape, options))
    return true;
  const char *why = ConvColumns::check(LocalWindow(op), *shape);
  if (!why && shape->perGroup * shape->taps.back() > kMaxBody)
    why = "a window of too many taps";
  if (why) {
    reason = (Twine("few output features per group and ") + why).str();
    return false;
  }
  ConvColumns(op, *shape, options).emit();
  return true;
}
