// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-features-last. A convolution is written with features last, between
// transpositions, which move over what follows and meet those of the next one:
//
//   conv(x) = B(conv'(T x))        T B = 1
//   f(B a, B b, c) = B f(a, b, T c)                 elementwise operations
//   pool(B a) = B pool'(a)
//
// What is left stands where values come in and go out in another layout.
#include "ringconv/Dialect/RingConv/IR/RingConv.h"
#include "ringconv/Dialect/RingConv/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/IndexingUtils.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace ringconv {
#define GEN_PASS_DEF_FEATURESLASTPASS
#include "ringconv/Dialect/RingConv/Transforms/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

/// On our transpositions: "to" features last, or "back".
static constexpr StringLiteral conversionName = "ringconv.conversion";

static bool isHalf(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isF16() || element.isBF16();
}

static RankedTensorType permuted(Type type, ArrayRef<int64_t> permutation) {
  auto tensor = cast<RankedTensorType>(type);
  return tensor.clone(applyPermutation(tensor.getShape(), permutation));
}

/// Dimension i of the result is dimension permutation[i] of `v`.
static Value transpose(PatternRewriter &b, Location loc, Value v, ArrayRef<int64_t> permutation, StringRef conversion) {
  RankedTensorType type = permuted(v.getType(), permutation);
  auto empty = tensor::EmptyOp::create(b, loc, type.getShape(), type.getElementType());
  auto op = linalg::TransposeOp::create(b, loc, v, empty, permutation);
  op->setAttr(conversionName, b.getStringAttr(conversion));
  return op->getResult(0);
}

/// The conversion back that `v` is the result of, or null.
static linalg::TransposeOp backOf(Value v) {
  auto op = v.getDefiningOp<linalg::TransposeOp>();
  auto conversion = op ? op->getAttrOfType<StringAttr>(conversionName) : StringAttr();
  return conversion && conversion == "back" ? op : nullptr;
}

/// The same conversion of `v`, where it stands already.
static Value findConversion(Operation *at, Value v, ArrayRef<int64_t> permutation) {
  for (Operation *user : v.getUsers()) {
    auto op = dyn_cast<linalg::TransposeOp>(user);
    if (op && op->hasAttr(conversionName) && op.getPermutation() == permutation && op->getBlock() == at->getBlock() &&
        op->isBeforeInBlock(at))
      return op->getResult(0);
  }
  return {};
}

/// What `v` was before a conversion back that `permutation` undoes, or null.
static Value undo(Value v, ArrayRef<int64_t> permutation) {
  linalg::TransposeOp back = backOf(v);
  bool cancels = back && isIdentityPermutation(applyPermutation(back.getPermutation(), permutation));
  return cancels ? back.getInput() : Value();
}

/// `v` in the order `permutation`, which is features last, for `at`.
static Value toFeaturesLast(PatternRewriter &b, Operation *at, Value v, ArrayRef<int64_t> permutation) {
  if (Value before = undo(v, permutation))
    return before;
  DenseElementsAttr constant;
  if (matchPattern(v, m_Constant(&constant)) && constant.isSplat())
    return arith::ConstantOp::create(
        b, at->getLoc(),
        DenseElementsAttr::get(permuted(v.getType(), permutation), constant.getSplatValue<Attribute>()));
  if (Value same = findConversion(at, v, permutation))
    return same;
  auto broadcast = v.getDefiningOp<linalg::BroadcastOp>();
  if (!broadcast || broadcast.getInput().getType().getRank() != 1)
    return transpose(b, at->getLoc(), v, permutation, "to");
  // Of one dimension: the others are found in any order.
  SmallVector<int64_t> dimensions;
  for (auto [i, d] : llvm::enumerate(permutation))
    if (llvm::is_contained(broadcast.getDimensions(), d))
      dimensions.push_back(i);
  RankedTensorType type = permuted(v.getType(), permutation);
  auto empty = tensor::EmptyOp::create(b, at->getLoc(), type.getShape(), type.getElementType());
  return linalg::BroadcastOp::create(b, at->getLoc(), broadcast.getInput(), empty, dimensions)->getResult(0);
}

namespace {
struct ConvFeaturesLast : OpRewritePattern<ConvOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(ConvOp op, PatternRewriter &b) const override {
    ArrayRef<int64_t> inputs = op.getInputDims(), outputs = op.getOutputDims();
    if (!isHalf(op.getInput().getType()) || inputs.size() < 3)
      return b.notifyMatchFailure(op, "not of 16 bits, or without spatial dimensions");
    if (inputs.back() == kFeature && outputs.back() == kFeature)
      return b.notifyMatchFailure(op, "its features are last");
    if (inputs.back() == kBatch)
      return b.notifyMatchFailure(op, "it is a gradient of a filter");
    SmallVector<int64_t> order{kBatch};
    llvm::append_range(order, llvm::seq<int64_t>(inputs.size() - 2));
    order.push_back(kFeature);
    SmallVector<int64_t> to, from, back;
    for (auto [i, number] : llvm::enumerate(order)) {
      to.push_back(dimOf(inputs, number));
      from.push_back(dimOf(outputs, number));
      back.push_back(dimOf(order, outputs[i]));
    }
    Value input = toFeaturesLast(b, op, op.getInput(), to);
    auto last = cast<ConvOp>(b.clone(*op));
    last.getInputMutable().assign(input);
    last.setInputDims(order);
    last.setOutputDims(order);
    last.getResult().setType(permuted(op.getType(), from));
    b.replaceOp(op, transpose(b, op.getLoc(), last, back, "back"));
    return success();
  }
};

struct PoolFeaturesLast : OpRewritePattern<PoolOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(PoolOp op, PatternRewriter &b) const override {
    linalg::TransposeOp back = backOf(op.getInput());
    if (!back || !llvm::equal(op.getInputDims(), op.getOutputDims()))
      return b.notifyMatchFailure(op, "no conversion stands in front, or its dimensions change places");
    SmallVector<int64_t> inverse = invertPermutationVector(back.getPermutation());
    SmallVector<int64_t> dims = applyPermutation(op.getInputDims(), inverse);
    auto last = cast<PoolOp>(b.clone(*op));
    last.getInputMutable().assign(back.getInput());
    last.setInputDims(dims);
    last.setOutputDims(dims);
    last.getResult().setType(permuted(op.getType(), inverse));
    b.replaceOp(op, transpose(b, op.getLoc(), last, back.getPermutation(), "back"));
    return success();
  }
};

/// Operations on tensors that are defined by that on elements.
struct ElementwiseFeaturesLast : RewritePattern {
  ElementwiseFeaturesLast(MLIRContext *context) : RewritePattern(MatchAnyOpTypeTag(), 1, context) {}

  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &b) const override {
    if (!OpTrait::hasElementwiseMappableTraits(op) || op->getNumResults() != 1 ||
        !isa<RankedTensorType>(op->getResult(0).getType()))
      return b.notifyMatchFailure(op, "not an elementwise operation on tensors");
    linalg::TransposeOp back;
    for (Value operand : op->getOperands())
      back = back ? back : backOf(operand);
    if (!back)
      return b.notifyMatchFailure(op, "no conversion stands in front");
    SmallVector<int64_t> permutation(back.getPermutation()), inverse = invertPermutationVector(permutation);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      operands.push_back(isa<RankedTensorType>(operand.getType()) ? toFeaturesLast(b, op, operand, inverse) : operand);
    Operation *last = b.clone(*op);
    last->setOperands(operands);
    last->getResult(0).setType(permuted(op->getResult(0).getType(), inverse));
    b.replaceOp(op, transpose(b, op->getLoc(), last->getResult(0), permutation, "back"));
    return success();
  }
};

/// A conversion that was there before the one back arrived in front of it.
struct CancelConversions : OpRewritePattern<linalg::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(linalg::TransposeOp op, PatternRewriter &b) const override {
    Value before = op->hasAttr(conversionName) ? undo(op.getInput(), op.getPermutation()) : Value();
    if (!before)
      return b.notifyMatchFailure(op, "it undoes no conversion");
    b.replaceOp(op, before);
    return success();
  }
};

struct FeaturesLastPass : ringconv::impl::FeaturesLastPassBase<FeaturesLastPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<CancelConversions, ConvFeaturesLast, PoolFeaturesLast, ElementwiseFeaturesLast>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    int64_t to = 0, back = 0;
    getOperation().walk([&](linalg::TransposeOp op) {
      if (auto conversion = dyn_cast_or_null<StringAttr>(op->removeAttr(conversionName)))
        ++(conversion == "to" ? to : back);
    });
    numConversions += to + back;
    if (to + back)
      getOperation().emitRemark() << "16-bit convolutions compute with features last: " << to
                                  << " tensors converted to that, " << back << " back";
  }
};
} // namespace
