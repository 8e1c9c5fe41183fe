// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// linalg.pooling_* with signed maxima and sums.
#include "Raise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ringconv;

static std::optional<PoolKind> kindOf(Operation *op) {
  if (isa<linalg::PoolingNhwcMaxOp, linalg::PoolingNchwMaxOp, linalg::PoolingNcwMaxOp, linalg::PoolingNwcMaxOp,
          linalg::PoolingNdhwcMaxOp>(op))
    return PoolKind::Max;
  if (isa<linalg::PoolingNhwcSumOp, linalg::PoolingNchwSumOp, linalg::PoolingNcwSumOp, linalg::PoolingNwcSumOp,
          linalg::PoolingNdhwcSumOp>(op))
    return PoolKind::Sum;
  return std::nullopt;
}

namespace {
struct Pooling {
  PoolKind kind;
  Value input;
  raise::Names inputNames, resultNames;
  raise::Windows windows;
  SmallVector<int64_t> outputs; ///< by spatial number

  int64_t inputDim(int64_t number) const { return dimOf(inputNames, number); }
  SmallVector<int64_t> sizes() const {
    SmallVector<int64_t> sizes;
    for (size_t n = 0; n < windows.size(); ++n)
      sizes.push_back(cast<ShapedType>(input.getType()).getDimSize(inputDim(n)));
    return sizes;
  }
  bool allWindowsRead() const {
    for (auto [w, size] : llvm::zip(windows, sizes()))
      if (halo::firstEmptyWindow(w, size))
        return false;
    return true;
  }
};
} // namespace

/// Batch and feature are the two loops that are neither outputs nor taps.
static std::optional<Pooling> match(linalg::LinalgOp op, PoolKind kind) {
  OpOperand *input = op.getDpsInputOperand(0), *window = op.getDpsInputOperand(1), *result = op.getDpsInitOperand(0);
  auto x = raise::accessesOf(op, input), y = raise::accessesOf(op, result), k = raise::accessesOf(op, window);
  if (!x || !y || !k)
    return std::nullopt;
  auto spatial = raise::spatialAccesses(*x, *y);
  if (!spatial)
    return std::nullopt;
  Pooling pool{kind, input->get(), {}, {}, {}, {}};
  SmallVector<int64_t> letters, ranges = op.getStaticLoopRanges();
  auto nameOf = [&](const raise::Access &a) -> int64_t {
    int64_t out = a.isWindow() ? a.out : a.loop;
    for (auto [n, s] : llvm::enumerate(*spatial))
      if (s.out == out)
        return n;
    if (!llvm::is_contained(letters, out))
      letters.push_back(out);
    return kBatch - (llvm::find(letters, out) - letters.begin());
  };
  for (const raise::Access &a : *y)
    pool.resultNames.push_back(nameOf(a));
  for (const raise::Access &a : *x)
    pool.inputNames.push_back(nameOf(a));
  if (letters.size() > 2)
    return std::nullopt;
  for (const raise::Access &s : *spatial) {
    pool.windows.push_back({ranges[s.tap], s.stride, s.dilation});
    pool.outputs.push_back(ranges[s.out]);
  }
  raise::cropToOutputs(pool.windows, pool.sizes(), pool.outputs);
  return pool;
}

/// The pool with the pad in front of it taken in, where that pads window
/// dimensions with what changes no window.
static std::optional<Pooling> foldPad(Pooling pool) {
  raise::Pad pad = raise::padOf(pool.input);
  if (!pad.value)
    return std::nullopt;
  pool.input = pad.source;
  for (auto [d, name] : llvm::enumerate(pool.inputNames)) {
    if (name < 0 && (pad.low[d] != 0 || pad.high[d] != 0))
      return std::nullopt;
    if (name < 0)
      continue;
    pool.windows[name].padLow += pad.low[d];
    pool.windows[name].padHigh += pad.high[d];
  }
  if (pool.kind == PoolKind::Sum)
    return raise::isZero(pad.value) ? std::optional(pool) : std::nullopt;
  if (raise::isMinusInfinity(pad.value) || (raise::isLowest(pad.value) && pool.allWindowsRead()))
    return pool;
  return std::nullopt;
}

/// What `init` adds to the pool's value.
static Value combine(OpBuilder &b, Location loc, const Pooling &pool, Value value, Value init) {
  Attribute splat = raise::splatOf(init);
  bool integer = cast<ShapedType>(value.getType()).getElementType().isInteger();
  if (pool.kind == PoolKind::Sum) {
    if (raise::isZero(splat))
      return value;
    return integer ? arith::AddIOp::create(b, loc, value, init).getResult()
                   : arith::AddFOp::create(b, loc, value, init).getResult();
  }
  if (raise::isMinusInfinity(splat) || (raise::isLowest(splat) && pool.allWindowsRead()))
    return value;
  return integer ? arith::MaxSIOp::create(b, loc, value, init).getResult()
                 : arith::MaximumFOp::create(b, loc, value, init).getResult();
}

bool raise::raiseLinalgPooling(Operation *op) {
  auto kind = kindOf(op);
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!kind || !linalgOp || !linalgOp.hasPureTensorSemantics() ||
      !llvm::all_of(op->getOperands(), [](Value v) { return isStatic(v); }))
    return false;
  Value init = linalgOp.getDpsInits()[0];
  auto type = cast<RankedTensorType>(init.getType());
  auto pool = match(linalgOp, *kind);
  if (!pool || cast<ShapedType>(pool->input.getType()).getElementType() != type.getElementType() ||
      !poolType(type.getElementType()))
    return false;
  if (auto folded = foldPad(*pool))
    pool = folded;
  OpBuilder b(op);
  Value value = makePool(b, op->getLoc(), type, *kind, pool->input, pool->inputNames, pool->resultNames, pool->windows);
  op->getResult(0).replaceAllUsesWith(combine(b, op->getLoc(), *pool, value, init));
  op->erase();
  return true;
}
