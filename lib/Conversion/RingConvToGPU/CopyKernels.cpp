// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strided copies and single elements. Copies between whole buffers stay: they
// become copies of the driver.
#include "Elements.h"
#include "Operations.h"

using namespace mlir;
using namespace ringconv;

void ringconv::makeKernel(memref::CopyOp op, KernelModule &kernels) {
  auto from = cast<MemRefType>(op.getSource().getType()), to = cast<MemRefType>(op.getTarget().getType());
  if (from.getLayout().isIdentity() && to.getLayout().isIdentity())
    return;
  KernelBuilder kernel(kernels, op, "copy");
  Value source = kernel.passBuffer(op.getSource()), target = kernel.passBuffer(op.getTarget());
  forEachElement(kernel, op.getSource(), [&](Loops &l, ArrayRef<Value> index) {
    memref::StoreOp::create(l.b, l.loc, memref::LoadOp::create(l.b, l.loc, source, index), target, index);
  });
  op.erase();
}

void ringconv::makeKernel(memref::StoreOp op, KernelModule &kernels) {
  KernelBuilder kernel(kernels, op, "store");
  Value target = kernel.passBuffer(op.getMemRef()), value = kernel.passScalar(op.getValue());
  SmallVector<Value> index;
  for (Value i : op.getIndices())
    index.push_back(kernel.passScalar(i));
  memref::StoreOp::create(kernel.body, kernel.loc, value, target, index);
  kernel.launch({}, {1});
  op.erase();
}
