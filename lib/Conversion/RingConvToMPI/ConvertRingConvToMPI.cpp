// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// convert-ringconv-to-mpi: communication and ranks to upstream's mpi dialect.
#include "../Common/Lookup.h"
#include "MPI.h"
#include "ringconv/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MPI/IR/MPI.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace ringconv {
#define GEN_PASS_DEF_CONVERTRINGCONVTOMPIPASS
#include "ringconv/Conversion/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

template <typename Op> static SmallVector<Op> collect(func::FuncOp func) {
  SmallVector<Op> ops;
  func.walk([&](Op op) { ops.push_back(op); });
  return ops;
}

static LogicalResult convert(func::FuncOp func, MeshAttr mesh) {
  auto communicates = [](Operation *op) {
    return isa<GroupOp, CoordOp, StartReduceOp, AllReduceOp, ReduceScatterOp>(op) ? WalkResult::interrupt()
                                                                                  : WalkResult::advance();
  };
  if (!func.walk(communicates).wasInterrupted())
    return success();
  MPICalls calls(func, mesh);
  // Groups first: their regions are copied.
  for (GroupOp op : collect<GroupOp>(func))
    if (failed(calls.lowerGroup(op)))
      return failure();
  for (StartReduceOp op : collect<StartReduceOp>(func))
    calls.lowerStartReduce(op);
  for (AllReduceOp op : collect<AllReduceOp>(func))
    calls.lowerAllReduce(op);
  for (ReduceScatterOp op : collect<ReduceScatterOp>(func))
    calls.lowerReduceScatter(op);
  for (CoordOp op : collect<CoordOp>(func))
    calls.lowerCoord(op);
  for (LookupOp op : collect<LookupOp>(func)) {
    OpBuilder b(op);
    op.replaceAllUsesWith(lowerLookup(b, op.getLoc(), op.getPart(), op.getTable()));
    op.erase();
  }
  for (MarkOp op : collect<MarkOp>(func))
    op.erase();
  return success();
}

namespace {
struct ConvertRingConvToMPIPass : ringconv::impl::ConvertRingConvToMPIPassBase<ConvertRingConvToMPIPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    SmallVector<MeshOp> meshes(module.getOps<MeshOp>());
    for (func::FuncOp func : module.getOps<func::FuncOp>()) {
      if (func.isExternal())
        continue;
      for (Operation *tensor : collect<StartOp>(func)) {
        tensor->emitOpError() << "expected groups on memrefs: run ringconv-bufferize and ringconv-lower-start before";
        return signalPassFailure();
      }
      if (meshes.empty())
        continue;
      if (failed(convert(func, meshes[0].getMesh())))
        return signalPassFailure();
      for (unsigned i = 0; i < func.getNumArguments(); ++i)
        func.removeArgAttr(i, kShardOf);
    }
    for (MeshOp mesh : meshes)
      mesh.erase();
  }
};
} // namespace
