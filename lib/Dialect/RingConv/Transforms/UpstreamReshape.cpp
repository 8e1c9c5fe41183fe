// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reshapes: of the dimensions that are joined, elements next to each other in
// the outermost stay next to each other, so that one can be cut. A unit is what
// follows one of its elements in the inner ones:
//
//   [ 4, 3 ] <-> [ 12 ]      cuts of the 4: 0 1 2 4  <->  cuts of the 12: 0 3 6 12
//
// Dimensions of size 1 outside it do not matter.
#include "Upstream.h"

using namespace mlir;
using namespace ringconv;

upstream::Factors upstream::reshapeFactors(Operation *op, ArrayRef<ReassociationIndices> groups, bool expands) {
  auto large = cast<RankedTensorType>((expands ? op->getResult(0) : op->getOperand(0)).getType());
  Factors factors;
  for (auto [single, group] : llvm::enumerate(groups)) {
    ArrayRef<int64_t> dims = group;
    while (dims.size() > 1 && large.getDimSize(dims.front()) == 1)
      dims = dims.drop_front();
    int64_t unit = 1;
    for (int64_t d : dims.drop_front())
      unit *= large.getDimSize(d);
    if (unit == 0)
      continue;
    SmallVector<int64_t> operands(op->getNumOperands(), -1);
    operands[0] = expands ? int64_t(single) : dims.front();
    Factor factor(large.getDimSize(dims.front()), false, operands, {expands ? dims.front() : int64_t(single)});
    (expands ? factor.operandUnits[0] : factor.resultUnits[0]) = unit;
    factors.push_back(factor);
  }
  return factors;
}
