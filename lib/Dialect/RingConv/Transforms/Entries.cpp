// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Entries.h"
#include "Inline.h"
#include "ringconv/Dialect/RingConv/Transforms/Partition.h"

using namespace mlir;
using namespace ringconv;

FailureOr<MeshOp> ringconv::findMesh(ModuleOp module) {
  MeshOp found;
  for (MeshOp mesh : module.getOps<MeshOp>()) {
    if (found)
      return mesh.emitOpError() << "one mesh per module, @" << found.getSymName() << " stands before", failure();
    found = mesh;
  }
  return found;
}

/// Static shapes only: halos are known when the program is compiled.
static LogicalResult checkStatic(func::FuncOp func) {
  auto dynamic = [](Type type) {
    auto tensor = dyn_cast<TensorType>(type);
    return tensor && (!tensor.hasRank() || !tensor.hasStaticShape());
  };
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
    if (dynamic(type))
      return func.emitError() << "argument " << i << " of @" << func.getSymName() << " must have a static shape, got "
                              << type;
  auto result = func.walk([&](Operation *op) {
    for (Type type : op->getResultTypes())
      if (dynamic(type))
        return op->emitOpError() << "must have a static shape, got " << type, WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

static LogicalResult checkEntry(func::FuncOp func) {
  if (func.isExternal())
    return func.emitError() << "@" << func.getSymName() << " has no body to partition";
  if (!func.getBody().hasOneBlock())
    return func.emitError() << "@" << func.getSymName() << " must have one block; write branches as scf";
  return checkStatic(func);
}

LogicalResult ringconv::forEachEntry(ModuleOp module,
                                     llvm::function_ref<LogicalResult(func::FuncOp, const MeshContext &)> visit) {
  FailureOr<MeshOp> mesh = findMesh(module);
  if (failed(mesh) || failed(inlinePrivateFunctions(module)))
    return failure();
  MLIRContext *ctx = module.getContext();
  MeshContext context{FlatSymbolRefAttr::get(ctx, *mesh ? mesh->getSymName() : "mesh"),
                      *mesh ? mesh->getMesh() : MeshAttr::get(ctx, {}, {}, {})};
  if (!*mesh) {
    OpBuilder b = OpBuilder::atBlockBegin(module.getBody());
    MeshOp::create(b, module.getLoc(), "mesh", context.mesh);
  }
  for (func::FuncOp func : module.getOps<func::FuncOp>())
    if (failed(checkEntry(func)) || failed(visit(func, context)))
      return failure();
  return success();
}
