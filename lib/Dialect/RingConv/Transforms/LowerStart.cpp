// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-lower-start: exchanges on memrefs become groups of sends and
// receives.
#include "LowerStart.h"
#include "ringconv/Dialect/RingConv/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace ringconv {
#define GEN_PASS_DEF_LOWERSTARTPASS
#include "ringconv/Dialect/RingConv/Transforms/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

void Indices::when(Value condition, llvm::function_ref<void()> body) {
  if (!condition)
    return body();
  auto branch = scf::IfOp::create(b, loc, condition, false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

void Indices::repeat(OpFoldResult count, llvm::function_ref<void(Value)> body) {
  auto loop = scf::ForOp::create(b, loc, constant(0), value(count), constant(1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  body(loop.getInductionVar());
}

std::vector<int64_t> ringconv::axisNumbers(MeshAttr mesh, ArrayRef<StringAttr> axes) {
  std::vector<int64_t> numbers;
  for (StringAttr axis : axes)
    numbers.push_back(mesh.axisIndex(axis.getValue()));
  return numbers;
}

static LogicalResult lowerStart(StartOp op) {
  if (!op.getToken().hasOneUse())
    return op.emitOpError() << "needs exactly one wait for its token";
  OpBuilder b(op);
  Operation *wait = *op.getToken().user_begin();
  auto group = GroupOp::create(b, op.getLoc(), TokenType::get(op.getContext()), op.getReportAttr());
  b.setInsertionPointToStart(&group.getBody().emplaceBlock());
  Indices ix{b, op.getLoc(), op.getMeshAttr(), lookupMesh(op, op.getMeshAttr()).getMesh()};
  SmallVector<Value> slabs(op.getInits());
  ArrayRef<Value> rest = slabs;
  for (auto [input, attr] : llvm::zip(op.getInputs(), op.getDims())) {
    SmallVector<HaloDimAttr> dims(cast<ArrayAttr>(attr).getAsRange<HaloDimAttr>());
    size_t count = countSlabs(cast<ArrayAttr>(attr));
    lowerExchange(ix, input, dims, rest.take_front(count), wait);
    rest = rest.drop_front(count);
  }
  op.getToken().replaceAllUsesWith(group.getToken());
  op.erase();
  return success();
}

static void lowerRedistribute(RedistributeOp op) {
  OpBuilder b(op);
  auto group = GroupOp::create(b, op.getLoc(), TokenType::get(op.getContext()), DenseI64ArrayAttr());
  WaitOp::create(b, op.getLoc(), TypeRange(), group.getToken(), op.getInput(), op.getInit());
  b.setInsertionPointToStart(&group.getBody().emplaceBlock());
  FlatSymbolRefAttr mesh = op.getFrom().getMesh();
  Indices ix{b, op.getLoc(), mesh, lookupMesh(op, mesh).getMesh()};
  lowerBoxes(ix, op);
  op.erase();
}

namespace {
struct LowerStartPass : ringconv::impl::LowerStartPassBase<LowerStartPass> {
  void runOnOperation() override {
    auto result = getOperation().walk([](Operation *op) -> WalkResult {
      if (auto redistribute = dyn_cast<RedistributeOp>(op))
        lowerRedistribute(redistribute);
      else if (auto start = dyn_cast<StartOp>(op))
        return lowerStart(start);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
