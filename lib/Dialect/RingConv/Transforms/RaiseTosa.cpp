// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tosa operations with windows. Layouts are fixed: NHWC, filters OHWI,
// depthwise ones HWCM.
#include "Raise.h"

#include "mlir/Dialect/Tosa/IR/TosaOps.h"

using namespace mlir;
using namespace ringconv;

/// All zero points are the constant 0.
static bool noZeroPoints(ArrayRef<Value> points) {
  return llvm::all_of(points, [](Value v) { return raise::isZero(raise::splatOf(v)); });
}

/// Dimension numbers with `first` in front, the spatial ones, `last` behind.
static raise::Names between(int64_t first, int64_t spatial, int64_t last) {
  raise::Names names{first};
  for (int64_t n = 0; n < spatial; ++n)
    names.push_back(n);
  names.push_back(last);
  return names;
}

static bool replace(Operation *op, Value value) {
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
  return true;
}

/// Null for zeros; one value for all outputs is repeated.
static Value makeBias(OpBuilder &b, Location loc, Value bias, int64_t outputs) {
  auto type = cast<RankedTensorType>(bias.getType());
  if (raise::isZero(raise::splatOf(bias)))
    return {};
  if (type.getDimSize(0) == outputs)
    return bias;
  auto scalar = RankedTensorType::get({}, type.getElementType());
  Value one = tensor::CollapseShapeOp::create(b, loc, scalar, bias, ArrayRef<ReassociationIndices>{});
  Value empty = tensor::EmptyOp::create(b, loc, ArrayRef<int64_t>{outputs}, type.getElementType());
  return linalg::BroadcastOp::create(b, loc, one, empty, ArrayRef<int64_t>{0}).getResult()[0];
}

/// Static, of our types, bias of the result's type.
template <typename Op> static bool fits(Op op) {
  auto element = [](Value v) { return cast<ShapedType>(v.getType()).getElementType(); };
  return raise::isStatic(op.getInput()) && raise::isStatic(op.getWeight()) && raise::isStatic(op.getBias()) &&
         raise::isStatic(op.getOutput()) &&
         raise::convTypes(element(op.getInput()), element(op.getWeight()), element(op.getOutput())) &&
         element(op.getBias()) == element(op.getOutput()) && noZeroPoints({op.getInputZp(), op.getWeightZp()});
}

template <typename Op> static RankedTensorType outputType(Op op) {
  return cast<RankedTensorType>(op.getOutput().getType());
}

/// conv2d and conv3d.
template <typename Op> static bool raiseConv(Op op) {
  if (!fits(op))
    return false;
  auto filter = cast<RankedTensorType>(op.getWeight().getType());
  int64_t spatial = op.getStride().size();
  OpBuilder b(op);
  raise::Conv conv{op.getInput(),
                   op.getWeight(),
                   makeBias(b, op.getLoc(), op.getBias(), filter.getDimSize(0)),
                   between(kBatch, spatial, kFeature),
                   between(kOutput, spatial, kInput),
                   between(kBatch, spatial, kFeature)};
  for (int64_t n = 0; n < spatial; ++n)
    conv.windows.push_back({filter.getDimSize(1 + n), op.getStride()[n], op.getDilation()[n], 1, op.getPad()[2 * n],
                            op.getPad()[2 * n + 1]});
  return replace(op, raise::makeConv(b, op.getLoc(), outputType(op), conv));
}

/// A filter for each input channel: groups of one input feature, the outputs of
/// a group are the filter's last dimension.
static bool raiseDepthwise(tosa::DepthwiseConv2DOp op) {
  if (!fits(op))
    return false;
  auto filter = cast<RankedTensorType>(op.getWeight().getType());
  ArrayRef<int64_t> k = filter.getShape();
  OpBuilder b(op);
  Location loc = op.getLoc();
  auto flat = RankedTensorType::get({k[0], k[1], k[2] * k[3]}, filter.getElementType());
  auto formed = RankedTensorType::get({1, k[0], k[1], k[2] * k[3]}, filter.getElementType());
  Value merged =
      tensor::CollapseShapeOp::create(b, loc, flat, op.getWeight(), ArrayRef<ReassociationIndices>{{0}, {1}, {2, 3}});
  Value weight =
      tensor::ExpandShapeOp::create(b, loc, formed, merged, ArrayRef<ReassociationIndices>{{0, 1}, {2}, {3}});
  raise::Conv conv{op.getInput(),
                   weight,
                   makeBias(b, loc, op.getBias(), k[2] * k[3]),
                   between(kBatch, 2, kFeature),
                   between(kInput, 2, kOutput),
                   between(kBatch, 2, kFeature)};
  conv.featureGroups = k[2];
  for (int64_t n = 0; n < 2; ++n)
    conv.windows.push_back(
        {k[n], op.getStride()[n], op.getDilation()[n], 1, op.getPad()[2 * n], op.getPad()[2 * n + 1]});
  return replace(op, raise::makeConv(b, loc, outputType(op), conv));
}

/// Output o takes element i through tap t where o = i * stride + out_pad + t.
/// With the taps counted from the end, t = k - 1 - u:
///
///   i * stride = o + u - (k - 1 + out_pad),
///
/// a reversed window over the input spread by the stride.
static bool raiseTranspose(tosa::TransposeConv2DOp op) {
  if (!fits(op))
    return false;
  ArrayRef<int64_t> k = cast<RankedTensorType>(op.getWeight().getType()).getShape(), pad = op.getOutPad();
  OpBuilder b(op);
  raise::Conv conv{op.getInput(),
                   op.getWeight(),
                   makeBias(b, op.getLoc(), op.getBias(), k[0]),
                   between(kBatch, 2, kFeature),
                   between(kOutput, 2, kInput),
                   between(kBatch, 2, kFeature)};
  conv.reverse = true;
  for (int64_t n = 0; n < 2; ++n)
    conv.windows.push_back(
        {k[1 + n], 1, 1, op.getStride()[n], k[1 + n] - 1 + pad[2 * n], k[1 + n] - 1 + pad[2 * n + 1]});
  return replace(op, raise::makeConv(b, op.getLoc(), outputType(op), conv));
}

template <typename Op> static bool raisePool(Op op, PoolKind kind) {
  Type element = cast<ShapedType>(op.getInput().getType()).getElementType();
  if (!raise::isStatic(op.getInput()) || !raise::isStatic(op.getOutput()) || !raise::poolType(element) ||
      (kind == PoolKind::Avg && element.isInteger()))
    return false;
  raise::Windows windows;
  for (int64_t n = 0; n < 2; ++n)
    windows.push_back({op.getKernel()[n], op.getStride()[n], 1, 1, op.getPad()[2 * n], op.getPad()[2 * n + 1]});
  OpBuilder b(op);
  raise::Names names = between(kBatch, 2, kFeature);
  return replace(op, raise::makePool(b, op.getLoc(), outputType(op), kind, op.getInput(), names, names, windows));
}

/// Maxima that ignore NaN are not ours.
static bool raiseMax(tosa::MaxPool2dOp op) {
  bool integer = cast<ShapedType>(op.getInput().getType()).getElementType().isInteger();
  if (!integer && op.getNanMode() != tosa::NanPropagationMode::PROPAGATE)
    return false;
  return raisePool(op, PoolKind::Max);
}

bool raise::raiseTosa(Operation *op) {
  if (auto conv = dyn_cast<tosa::Conv2DOp>(op))
    return raiseConv(conv);
  if (auto conv = dyn_cast<tosa::Conv3DOp>(op))
    return raiseConv(conv);
  if (auto conv = dyn_cast<tosa::DepthwiseConv2DOp>(op))
    return raiseDepthwise(conv);
  if (auto conv = dyn_cast<tosa::TransposeConv2DOp>(op))
    return raiseTranspose(conv);
  if (auto pool = dyn_cast<tosa::MaxPool2dOp>(op))
    return raiseMax(pool);
  auto pool = dyn_cast<tosa::AvgPool2dOp>(op);
  return pool && noZeroPoints({pool.getInputZp(), pool.getOutputZp()}) && raisePool(pool, PoolKind::Avg);
}
