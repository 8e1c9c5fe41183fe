// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that move elements: their adjoints move them back. Pads and slices
// become pools with windows of 1, which can be cut (as in ringconv-raise).
#include "Differentiate.h"
#include "Raise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ringconv;

static Value move(Gradients &g, RankedTensorType type, Value from, ArrayRef<halo::Window> windows) {
  return raise::makeMove(g.b, g.loc, type, PoolKind::Sum, from, windows);
}

/// Element i of the slice was element offset + i stride.
static LogicalResult pullBackSlice(tensor::ExtractSliceOp op, Value dy, Gradients &g) {
  RankedTensorType from = op.getSourceType(), to = op.getType();
  if (from.getRank() != to.getRank() || !op.getOffsets().empty() || !op.getSizes().empty() || !op.getStrides().empty())
    return noRule(op, "its slice is dynamic or drops dimensions");
  SmallVector<halo::Window> windows;
  for (int64_t d = 0; d < from.getRank(); ++d) {
    int64_t offset = op.getStaticOffset(d), size = to.getDimSize(d), stride = size == 1 ? 1 : op.getStaticStride(d);
    if (size == 0 || stride < 1)
      return noRule(op, "its slice is empty or runs backwards");
    windows.push_back({1, 1, 1, stride, offset, from.getDimSize(d) - offset - (size - 1) * stride - 1});
  }
  g.addLike(op.getSource(), move(g, from, dy, windows));
  return success();
}

static LogicalResult pullBackPad(tensor::PadOp op, Value dy, Gradients &g) {
  Value value = op.getConstantPaddingValue();
  if (!value || g.wants(value) || !op.getLow().empty() || !op.getHigh().empty())
    return noRule(op, "its padding is no constant or dynamic");
  SmallVector<halo::Window> windows;
  for (auto [low, high] : llvm::zip(op.getStaticLow(), op.getStaticHigh()))
    windows.push_back({1, 1, 1, 1, -low, -high});
  g.addLike(op.getSource(), move(g, op.getSourceType(), dy, windows));
  return success();
}

static LogicalResult pullBackInsert(tensor::InsertSliceOp op, Value dy, Gradients &g) {
  if (op.getSourceType().getRank() != op.getDestType().getRank() || !op.getOffsets().empty() ||
      !op.getSizes().empty() || !op.getStrides().empty())
    return noRule(op, "its slice is dynamic or drops dimensions");
  if (g.wants(op.getSource()))
    g.add(op.getSource(), tensor::ExtractSliceOp::create(g.b, g.loc, op.getSourceType(), dy, op.getMixedOffsets(),
                                                         op.getMixedSizes(), op.getMixedStrides()));
  if (g.wants(op.getDest())) {
    Value zeros = makeConstant(g.b, g.loc, op.getSourceType(), 0);
    g.add(op.getDest(), tensor::InsertSliceOp::create(g.b, g.loc, zeros, dy, op.getMixedOffsets(), op.getMixedSizes(),
                                                      op.getMixedStrides()));
  }
  return success();
}

static LogicalResult pullBackConcat(tensor::ConcatOp op, Value dy, Gradients &g) {
  int64_t dim = op.getDim(), begin = 0, all = op.getResultType().getDimSize(dim);
  for (Value input : op.getInputs()) {
    auto type = cast<RankedTensorType>(input.getType());
    int64_t size = type.getDimSize(dim);
    SmallVector<halo::Window> windows(type.getRank());
    windows[dim].padLow = -begin;
    windows[dim].padHigh = begin + size - all;
    if (g.wants(input))
      g.addLike(input, size ? move(g, type, dy, windows) : makeConstant(g.b, g.loc, type, 0));
    begin += size;
  }
  return success();
}

LogicalResult ringconv::pullBackTensor(Operation *op, Value dy, Gradients &g) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tensor::ExtractSliceOp slice) { return pullBackSlice(slice, dy, g); })
      .Case([&](tensor::PadOp pad) { return pullBackPad(pad, dy, g); })
      .Case([&](tensor::InsertSliceOp insert) { return pullBackInsert(insert, dy, g); })
      .Case([&](tensor::ConcatOp concat) { return pullBackConcat(concat, dy, g); })
      .Case([&](tensor::CollapseShapeOp collapse) {
        g.addLike(collapse.getSrc(), tensor::ExpandShapeOp::create(g.b, g.loc, collapse.getSrcType(), dy,
                                                                   collapse.getReassociationIndices()));
        return success();
      })
      .Case([&](tensor::ExpandShapeOp expand) {
        g.addLike(expand.getSrc(), tensor::CollapseShapeOp::create(g.b, g.loc, expand.getSrcType(), dy,
                                                                   expand.getReassociationIndices()));
        return success();
      })
      .Default([&](Operation *) { return noRule(op, "it is no operation that ringconv-differentiate knows"); });
}
