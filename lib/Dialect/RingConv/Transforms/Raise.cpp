// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-raise: the pass, and what its parts share.
#include "Raise.h"
#include "ringconv/Dialect/RingConv/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace ringconv {
#define GEN_PASS_DEF_RAISEPASS
#include "ringconv/Dialect/RingConv/Transforms/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

static bool isOurFloat(Type type) { return type.isF64() || type.isF32() || type.isF16() || type.isBF16(); }

bool raise::convTypes(Type input, Type filter, Type result) {
  return (isOurFloat(input) || input.isSignlessInteger(8)) && input == filter &&
         (result == input || result == accumulationType(input));
}

bool raise::poolType(Type type) { return isOurFloat(type) || type.isSignlessInteger(8) || type.isSignlessInteger(32); }

bool raise::isStatic(Value value) {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type && type.hasStaticShape() && !llvm::is_contained(type.getShape(), 0);
}

namespace {
/// The window words of an operation, apart.
struct Words {
  SmallVector<int64_t> size, stride, padLow, padHigh, lhsDilate, rhsDilate, border;
  SmallVector<bool> reverse;

  Words(const raise::Windows &windows, bool reversed) {
    for (const halo::Window &w : windows) {
      size.push_back(w.size);
      stride.push_back(w.stride);
      padLow.push_back(w.padLow);
      padHigh.push_back(w.padHigh);
      lhsDilate.push_back(w.baseDilation);
      rhsDilate.push_back(w.dilation);
      border.push_back(int64_t(w.border));
      reverse.push_back(reversed);
    }
  }
};
} // namespace

Value raise::makeConv(OpBuilder &b, Location loc, RankedTensorType result, const Conv &c) {
  Words w(c.windows, c.reverse);
  return ConvOp::create(b, loc, result, c.input, c.filter, c.bias, c.inputNames, c.filterNames, c.resultNames, w.stride,
                        w.padLow, w.padHigh, w.lhsDilate, w.rhsDilate, w.reverse, w.border, c.featureGroups, 1);
}

Value raise::makePool(OpBuilder &b, Location loc, RankedTensorType result, PoolKind kind, Value input,
                      ArrayRef<int64_t> inputNames, ArrayRef<int64_t> resultNames, const Windows &windows) {
  Words w(windows, false);
  return PoolOp::create(b, loc, result, input, uint64_t(kind), false, inputNames, resultNames, w.size, w.stride,
                        w.padLow, w.padHigh, w.lhsDilate, w.rhsDilate, w.reverse, w.border);
}

Attribute raise::splatOf(Value value) {
  Attribute attr;
  if (auto fill = value.getDefiningOp<linalg::FillOp>()) {
    matchPattern(fill.getInputs()[0], m_Constant(&attr));
    return attr;
  }
  if (!matchPattern(value, m_Constant(&attr)))
    return {};
  auto elements = dyn_cast<DenseElementsAttr>(attr);
  return elements && elements.isSplat() ? elements.getSplatValue<Attribute>() : Attribute();
}

bool raise::isZero(Attribute value) {
  if (auto f = dyn_cast_or_null<FloatAttr>(value))
    return f.getValue().isZero();
  auto i = dyn_cast_or_null<IntegerAttr>(value);
  return i && i.getValue().isZero();
}

bool raise::isMinusInfinity(Attribute value) {
  auto f = dyn_cast_or_null<FloatAttr>(value);
  return f && f.getValue().isInfinity() && f.getValue().isNegative();
}

bool raise::isLowest(Attribute value) {
  if (auto f = dyn_cast_or_null<FloatAttr>(value))
    return f.getValue().isLargest() && f.getValue().isNegative();
  auto i = dyn_cast_or_null<IntegerAttr>(value);
  return i && i.getValue().isMinSignedValue();
}

raise::Pad raise::padOf(Value value) {
  auto pad = value.getDefiningOp<tensor::PadOp>();
  if (!pad || !pad.getLow().empty() || !pad.getHigh().empty() || !isStatic(pad.getSource()))
    return {};
  Value padding = pad.getConstantPaddingValue();
  Pad result{pad.getSource(), SmallVector<int64_t>(pad.getStaticLow()), SmallVector<int64_t>(pad.getStaticHigh()), {}};
  if (padding)
    matchPattern(padding, m_Constant(&result.value));
  return result;
}

// ===--------------------------------------------------------------------=== //
// Windows of structured operations
// ===--------------------------------------------------------------------=== //

/// d or d * c; nothing if it is something else.
static std::optional<std::pair<int64_t, int64_t>> scaledLoop(AffineExpr expr) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return std::pair<int64_t, int64_t>(dim.getPosition(), 1);
  auto product = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!product || product.getKind() != AffineExprKind::Mul)
    return std::nullopt;
  auto dim = dyn_cast<AffineDimExpr>(product.getLHS());
  auto factor = dyn_cast<AffineConstantExpr>(product.getRHS());
  if (!dim || !factor)
    return std::nullopt;
  return std::pair<int64_t, int64_t>(dim.getPosition(), factor.getValue());
}

std::optional<SmallVector<raise::Access>> raise::accessesOf(linalg::LinalgOp op, OpOperand *operand) {
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  SmallVector<Access> accesses;
  for (AffineExpr expr : op.getMatchingIndexingMap(operand).getResults()) {
    Access access;
    if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
      access.loop = dim.getPosition();
      accesses.push_back(access);
      continue;
    }
    auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
    if (!sum || sum.getKind() != AffineExprKind::Add)
      return std::nullopt;
    auto out = scaledLoop(sum.getLHS()), tap = scaledLoop(sum.getRHS());
    if (!out || !tap)
      return std::nullopt;
    if (iterators[out->first] == utils::IteratorType::reduction)
      std::swap(out, tap);
    if (iterators[out->first] == utils::IteratorType::reduction ||
        iterators[tap->first] != utils::IteratorType::reduction || out->second < 1 || tap->second < 1)
      return std::nullopt;
    access.out = out->first, access.stride = out->second;
    access.tap = tap->first, access.dilation = tap->second;
    accesses.push_back(access);
  }
  return accesses;
}

std::optional<SmallVector<raise::Access>> raise::spatialAccesses(ArrayRef<Access> input, ArrayRef<Access> result) {
  SmallVector<Access> spatial;
  for (const Access &dim : result)
    for (const Access &access : input)
      if (access.isWindow() && !dim.isWindow() && access.out == dim.loop)
        spatial.push_back(access);
  size_t windows = llvm::count_if(input, [](const Access &a) { return a.isWindow(); });
  if (spatial.size() != windows)
    return std::nullopt;
  return spatial;
}

/// Output o reads up to position (outputs - 1) * stride + reach - 1, counted
/// from the first padded one; the padding above that is cut off.
void raise::cropToOutputs(Windows &windows, ArrayRef<int64_t> sizes, ArrayRef<int64_t> outputs) {
  for (auto [w, size, count] : llvm::zip(windows, sizes, outputs))
    if (halo::numOutputs(w, size) > count)
      w.padHigh = (count - 1) * w.stride + w.reach() - size - w.padLow;
}

// ===--------------------------------------------------------------------=== //
// The pass
// ===--------------------------------------------------------------------=== //

namespace {
struct RaisePass : ringconv::impl::RaisePassBase<RaisePass> {
  using RaisePassBase::RaisePassBase;

  void runOnOperation() override {
    if (failed(raise::raiseShard(getOperation())))
      return signalPassFailure();
    // Pads are raised after what may take them in as padding.
    forEach([](Operation *op) {
      return raise::raiseLinalgConv(op) || raise::raiseLinalgPooling(op) || raise::raiseTosa(op);
    });
    forEach([&](Operation *op) { return raise::raiseTensor(op, raiseSlices) || raise::raiseSwitch(op); });
  }

private:
  /// Calls `raise`, which erases its operation where it returns true, and
  /// removes what has no use any more.
  void forEach(function_ref<bool(Operation *)> raise) {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) { ops.push_back(op); });
    // Operations inside of one come before it, so that none is looked at after
    // it was erased.
    for (Operation *op : ops)
      raise(op);
    getOperation().walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isOpTriviallyDead(op))
        op->erase();
    });
  }
};
} // namespace
