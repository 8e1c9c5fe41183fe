// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-lower-halo: slabs, start and wait.
#include "ringconv/Dialect/RingConv/IR/RingConv.h"
#include "ringconv/Dialect/RingConv/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace ringconv {
#define GEN_PASS_DEF_LOWERHALOPASS
#include "ringconv/Dialect/RingConv/Transforms/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

/// Extents of the slabs in the order of the results: extended in earlier
/// exchanged dimensions, the shard's own in later ones.
static SmallVector<Value> makeSlabs(OpBuilder &b, HaloExchangeOp op) {
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> extents = tensor::getMixedSizes(b, loc, op.getInput());
  Type element = op.getInput().getType().getElementType();
  SmallVector<Value> slabs;
  for (auto dim : op.getDims().getAsRange<HaloDimAttr>()) {
    if (!dim.hasSlabs())
      continue;
    OpFoldResult own = extents[dim.getDim()];
    for (int64_t size : {dim.getLow(), dim.getHigh()}) {
      extents[dim.getDim()] = b.getIndexAttr(size);
      slabs.push_back(tensor::EmptyOp::create(b, loc, extents, element));
    }
    int64_t around = dim.getLow() + dim.getHigh();
    if (auto attr = dyn_cast<Attribute>(own))
      extents[dim.getDim()] = b.getIndexAttr(cast<IntegerAttr>(attr).getInt() + around);
    else
      extents[dim.getDim()] =
          arith::AddIOp::create(b, loc, cast<Value>(own), arith::ConstantIndexOp::create(b, loc, around)).getResult();
  }
  return slabs;
}

namespace {
struct LowerHaloPass : ringconv::impl::LowerHaloPassBase<LowerHaloPass> {
  void runOnOperation() override {
    getOperation().walk([](HaloExchangeOp op) {
      OpBuilder b(op);
      SmallVector<Value> slabs = makeSlabs(b, op);
      auto start = StartOp::create(b, op.getLoc(), op.getResultTypes(), TokenType::get(op.getContext()), op.getInput(),
                                   slabs, op.getMeshAttr(), b.getArrayAttr({op.getDims()}),
                                   op.getReport() ? b.getDenseI64ArrayAttr(*op.getReport()) : DenseI64ArrayAttr());
      auto wait = WaitOp::create(b, op.getLoc(), op.getResultTypes(), start.getToken(), op.getInput(),
                                 start.getSlabs());
      op.replaceAllUsesWith(wait.getResults());
      op.erase();
    });
  }
};
} // namespace
