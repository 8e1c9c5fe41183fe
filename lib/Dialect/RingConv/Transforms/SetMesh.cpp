// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-set-mesh: other extents for the axes of the mesh.
#include "ringconv/Dialect/RingConv/Transforms/Partition.h"
#include "ringconv/Dialect/RingConv/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace ringconv {
#define GEN_PASS_DEF_SETMESHPASS
#include "ringconv/Dialect/RingConv/Transforms/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

/// `sp=8,dp=2` onto `extents`; the text says what is wrong with it.
static std::optional<std::string> applyExtents(StringRef text, MeshAttr mesh, SmallVectorImpl<int64_t> &extents) {
  SmallVector<StringRef> entries;
  text.split(entries, ',', -1, false);
  llvm::SmallDenseSet<int64_t> given;
  for (StringRef entry : entries) {
    auto [name, value] = entry.trim().split('=');
    int64_t axis = mesh.axisIndex(name), extent;
    if (axis < 0)
      return ("the mesh has no axis \"" + name + "\"").str();
    if (value.getAsInteger(10, extent) || extent < 1)
      return ("axis \"" + name + "\" needs an extent of at least 1, got '" + value + "'").str();
    if (!given.insert(axis).second)
      return ("axis \"" + name + "\" has an extent already").str();
    extents[axis] = extent;
  }
  return std::nullopt;
}

namespace {
struct SetMeshPass : ringconv::impl::SetMeshPassBase<SetMeshPass> {
  using SetMeshPassBase::SetMeshPassBase;

  void runOnOperation() override {
    if (mesh.empty())
      return;
    FailureOr<MeshOp> op = findMesh(getOperation());
    if (failed(op))
      return signalPassFailure();
    if (!*op) {
      getOperation().emitError() << "no mesh to set '" << mesh << "' on";
      return signalPassFailure();
    }
    MeshAttr old = op->getMesh();
    SmallVector<int64_t> extents(old.getExtents());
    if (auto why = applyExtents(mesh, old, extents)) {
      op->emitOpError() << *why << " in '" << mesh << "'";
      return signalPassFailure();
    }
    int64_t size = 1;
    for (int64_t e : extents)
      if (__builtin_mul_overflow(size, e, &size))
        size = -1;
    ArrayRef<int64_t> ids = size == old.size() ? old.getDeviceIds() : ArrayRef<int64_t>();
    auto emit = [&] { return op->emitOpError(); };
    MeshAttr now = MeshAttr::getChecked(function_ref<InFlightDiagnostic()>(emit), &getContext(), old.getAxes(),
                                        ArrayRef<int64_t>(extents), ids);
    if (!now)
      return signalPassFailure();
    (*op).setMeshAttr(now);
    if (failed(verifyShardings(getOperation())))
      signalPassFailure();
  }

private:
  /// The verifiers check the cuts again, against the new parts.
  LogicalResult verifyShardings(ModuleOp module) { return module.verify(); }
};
} // namespace
