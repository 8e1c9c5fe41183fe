// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "PaddingRepair.h"
#include "../RingConvToLoops/PlainElements.h"
#include "Epilogue.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace ringconv;

static Value isNaN(OpBuilder &b, Location loc, Value v) {
  return arith::CmpFOp::create(b, loc, arith::CmpFPredicate::UNO, v, v);
}

/// The operation on what is passed to the kernel, as the plain element needs it.
static LocalConvOp passInside(KernelBuilder &kernel, LocalConvOp op) {
  IRMapping map;
  for (Value operand : op->getOperands())
    map.map(operand, isa<MemRefType>(operand.getType()) ? kernel.passBuffer(operand) : kernel.passScalar(operand));
  return cast<LocalConvOp>(kernel.body.clone(*op, map));
}

void ringconv::repairIfNaN(KernelBuilder &kernel, LocalConvOp op, Value value, ArrayRef<Value> y) {
  LocalConvOp inside = passInside(kernel, op);
  Loops l{kernel.body, kernel.loc};
  auto branch = scf::IfOp::create(l.b, l.loc, isNaN(l.b, l.loc, value), /*withElseRegion=*/false);
  {
    OpBuilder::InsertionGuard guard(l.b);
    l.b.setInsertionPointToStart(branch.thenBlock());
    PlainConv(l, inside).element(y);
  }
  inside.erase();
}

/// NaN if one of the values is; it may be NaN for no reason.
static Value sumOf(KernelCode &k, ValueRange vectors) {
  Value sum = vectors.front();
  for (Value v : vectors.drop_front())
    sum = arith::AddFOp::create(k.b, k.loc, sum, v);
  auto type = cast<VectorType>(sum.getType());
  Value total;
  for (int64_t i = 0; i < type.getNumElements(); ++i) {
    SmallVector<int64_t> at;
    for (int64_t d = type.getRank(), rest = i; d-- > 0; rest /= type.getDimSize(d))
      at.insert(at.begin(), rest % type.getDimSize(d));
    Value one = vector::ExtractOp::create(k.b, k.loc, sum, at);
    total = total ? arith::AddFOp::create(k.b, k.loc, total, one).getResult() : one;
  }
  return total;
}

/// Number i of a share.
static Value at(KernelCode &k, const ThreadShare &share, Value i) {
  return k.add(share.first, k.add(k.mul(k.div(i, share.run), share.distance), k.rem(i, share.run)));
}

Value ringconv::meetsNaN(KernelCode &k, const ConvShape &shape, ValueRange sums) {
  if (llvm::all_of(shape.dims, [](const ConvDim &dim) { return dim.readsOnlyElements(); }))
    return {};
  return isNaN(k.b, k.loc, sumOf(k, sums));
}

void ringconv::repairPadding(KernelCode &k, LocalConvOp op, const ConvShape &shape, InputReader &input, Value nan,
                             const ThreadShare &pixels, const ThreadShare &features, Value outputs, Value firstOutput) {
  if (!nan)
    return;
  Value result = k.kernel.passBuffer(op.getInit());
  k.when(nan, [&] {
    k.loop(k.constant(0), k.constant(pixels.count * features.count), {}, [&](Value i, ValueRange) {
      Value m = at(k, pixels, k.div(i, features.count)), f = at(k, features, k.rem(i, features.count));
      k.when(k.bitAnd(k.within(m, input.pixels()), k.within(f, outputs)), [&] {
        SmallVector<Value> place = input.coordinates(m), y(op.getOutputDims().size());
        y[dimOf(op.getOutputDims(), kBatch)] = k.unsignedIndex(place[0]);
        y[dimOf(op.getOutputDims(), kFeature)] = k.unsignedIndex(k.add(firstOutput, f));
        for (auto [d, dim] : llvm::enumerate(shape.dims))
          y[dimOf(op.getOutputDims(), d)] =
              k.unsignedIndex(k.add(k.mul(place[d + 1], dim.outputStep), dim.firstOutput));
        repairIfNaN(k.kernel, op, memref::LoadOp::create(k.b, k.loc, result, y), y);
        if (shape.epilogue)
          applyEpilogueAt(k.kernel, *shape.epilogue, result, y);
      });
      return SmallVector<Value>();
    });
  });
}
