// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One thread per element of the result, for any form. The sums are those of the
// host's plain loops, in the same order.
#include "Elements.h"
#include "Epilogue.h"
#include "Kernels.h"

#include "../RingConvToLoops/PlainElements.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace ringconv;

/// A kernel with a copy of the operation inside, on what was passed, which says
/// how an element is made and goes when that is done.
template <typename Plain, typename OpTy>
static void makeKernel(OpTy op, KernelModule &kernels, StringRef name, const Epilogue *epilogue = nullptr) {
  KernelBuilder kernel(kernels, op, name);
  IRMapping map;
  for (Value operand : op->getOperands())
    map.map(operand, isa<MemRefType>(operand.getType()) ? kernel.passBuffer(operand) : kernel.passScalar(operand));
  auto inside = cast<OpTy>(kernel.body.clone(*op, map));
  forEachElement(kernel, op.getInit(), [&](Loops &l, ArrayRef<Value> y) {
    Plain(l, inside).element(y);
    inside.erase();
    if (epilogue)
      applyEpilogueAt(kernel, *epilogue, kernel.passBuffer(op.getInit()), y);
  });
}

void ringconv::makePlainKernel(LocalConvOp op, KernelModule &kernels, const Epilogue *epilogue) {
  makeKernel<PlainConv>(op, kernels, "conv_plain", epilogue);
}
void ringconv::makePlainKernel(LocalPoolOp op, KernelModule &kernels) {
  makeKernel<PlainPool>(op, kernels, "pool_plain");
}
