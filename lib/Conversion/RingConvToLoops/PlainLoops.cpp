// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plain loops for local convolutions and pools of any form: one element of the
// result after the other.
#include "Loops.h"
#include "PlainElements.h"

using namespace mlir;
using namespace ringconv;

/// Loops over all elements of `memref`; rank 0 runs the body once.
static void forElements(Loops &l, Value memref, SmallVector<Value> index,
                        llvm::function_ref<void(ArrayRef<Value>)> body) {
  if (int64_t(index.size()) == cast<MemRefType>(memref.getType()).getRank())
    return body(index);
  l.forLoop(l.constant(0), l.size(memref, index.size()), {}, [&](Value i, ValueRange) {
    SmallVector<Value> next(index);
    next.push_back(i);
    forElements(l, memref, next, body);
    return SmallVector<Value>();
  });
}

void ringconv::lowerToPlainLoops(LocalConvOp op, const LoopOptions &options) {
  OpBuilder b(op);
  Loops l{b, op.getLoc()};
  PlainConv conv(l, op, options.count);
  forElements(l, op.getInit(), {}, [&](ArrayRef<Value> y) { conv.element(y); });
  op.erase();
}

void ringconv::lowerToPlainLoops(LocalPoolOp op, const LoopOptions &options) {
  OpBuilder b(op);
  Loops l{b, op.getLoc()};
  PlainPool pool(l, op);
  forElements(l, op.getInit(), {}, [&](ArrayRef<Value> y) { pool.element(y); });
  op.erase();
}
