// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Concatenations, also along a cut dimension: the result's cuts fall on each
// operand, which is moved to them; every rank then joins what it has.
#include "Upstream.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"

using namespace mlir;
using namespace ringconv;

upstream::Factors upstream::concatFactors(tensor::ConcatOp op) {
  RankedTensorType type = op.getResultType();
  Factors factors;
  for (int64_t d = 0; d < type.getRank(); ++d) {
    factors.push_back(Factor(type.getDimSize(d), false, SmallVector<int64_t>(op->getNumOperands(), d), {d}));
    if (d != int64_t(op.getDim()))
      continue;
    int64_t begin = 0;
    for (Value input : op.getInputs()) {
      factors.back().operandBegins.push_back(begin);
      begin += cast<RankedTensorType>(input.getType()).getDimSize(d);
    }
  }
  return factors;
}

/// Inputs one behind the other: tensor.concat has no form whose inputs are
/// dynamic and whose result is static.
Value upstream::localConcat(tensor::ConcatOp op, LocalBuilder &l) {
  OpBuilder &b = l.builder;
  int64_t rank = op.getResultType().getRank(), dim = op.getDim();
  SmallVector<OpFoldResult> offsets(rank, b.getIndexAttr(0)), strides(rank, b.getIndexAttr(1));
  AffineExpr sum = b.getAffineDimExpr(0) + b.getAffineDimExpr(1);
  Value result = l.empty();
  for (Value input : l.operands) {
    SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(b, l.loc, input);
    result = tensor::InsertSliceOp::create(b, l.loc, input, result, offsets, sizes, strides);
    offsets[dim] = affine::makeComposedFoldedAffineApply(b, l.loc, sum, {offsets[dim], sizes[dim]});
  }
  return result;
}
