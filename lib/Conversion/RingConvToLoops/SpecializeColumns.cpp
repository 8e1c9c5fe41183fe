// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels per size of the columns. Where cuts are uneven a dimension has few
// sizes (balanced cuts: two), and a kernel whose columns are static needs no
// guards. Which rank has which size, and which offset, is known here, since all
// ranks run one program:
//
//   if this rank's columns are those of the first kind: kernel of that kind
//   else if ...
//   else: kernel of the last kind
#include "../Common/RankValues.h"
#include "LoopBuilder.h"
#include "VectorPlan.h"

#include "mlir/IR/Diagnostics.h"
#include <map>

using namespace mlir;
using namespace ringconv;

/// Versions of one operation; ranks that are asked, one by one.
static constexpr size_t kMaxVersions = 4;
static constexpr int64_t kMaxRanks = 1024;

namespace {
class Specialization {
public:
  explicit Specialization(LocalConvOp op) : b(op), l{b, op.getLoc()}, op(op) {}
  SmallVector<LocalConvOp> run();

private:
  /// A number of the columns: a memref's extent.
  struct Extent {
    OpOperand *operand;
    int64_t dim;
  };
  using Sizes = SmallVector<int64_t>;

  MeshAttr meshOfModule();
  void collectExtents();
  /// The offset of the columns, or null where it is static.
  Value columnOffset();
  bool readRanks(MeshAttr mesh);
  Value isVersion(const Sizes &sizes);
  LocalConvOp makeVersion(const Sizes &sizes, MutableArrayRef<RankValues> ranks);
  void fixScalars(LocalConvOp version, MutableArrayRef<RankValues> ranks);

  OpBuilder b;
  ringconv::Loops l;
  LocalConvOp op;
  SmallVector<Extent> extents;
  Value offset;
  /// Ranks by the extents that they have, and the offset.
  std::map<Sizes, SmallVector<RankValues>> versions;
};
} // namespace

MeshAttr Specialization::meshOfModule() {
  auto module = op->getParentOfType<ModuleOp>();
  auto meshes = module.getOps<MeshOp>();
  return meshes.empty() ? MeshAttr() : (*meshes.begin()).getMesh();
}

/// Extents of the columns in shard, slabs and result that are not static.
void Specialization::collectExtents() {
  int64_t in = spatialDims(op.getInputDims()).back(), out = spatialDims(op.getOutputDims()).back();
  auto add = [&](OpOperand &operand, int64_t dim) {
    if (cast<MemRefType>(operand.get().getType()).isDynamicDim(dim))
      extents.push_back({&operand, dim});
  };
  add(op.getInputMutable(), in);
  for (OpOperand &halo : op.getHalosMutable())
    add(halo, in);
  add(op.getInitMutable(), out);
}

Value Specialization::columnOffset() {
  ArrayRef<int64_t> offsets = op.getOffset();
  if (!ShapedType::isDynamic(offsets.back()))
    return {};
  return op.getScalars()[llvm::count_if(offsets.drop_back(), ShapedType::isDynamic)];
}

/// False if a rank's extents are not known, or there are too many of them.
bool Specialization::readRanks(MeshAttr mesh) {
  for (int64_t rank = 0; rank < mesh.size(); ++rank) {
    RankValues values(mesh, rank);
    Sizes sizes;
    for (const Extent &e : extents) {
      std::optional<int64_t> size = values.sizeOf(e.operand->get(), e.dim);
      if (!size)
        return false;
      sizes.push_back(*size);
    }
    if (offset) {
      std::optional<int64_t> value = values.get(offset);
      if (!value)
        return false;
      sizes.push_back(*value);
    }
    versions[sizes].push_back(values);
    if (versions.size() > kMaxVersions)
      return false;
  }
  return true;
}

Value Specialization::isVersion(const Sizes &sizes) {
  Value all;
  auto require = [&](Value number, int64_t value) {
    Value same = l.equal(number, l.constant(value));
    all = all ? l.both(all, same) : same;
  };
  for (auto [e, size] : llvm::zip(extents, sizes))
    require(l.size(e.operand->get(), e.dim), size);
  if (offset)
    require(offset, sizes.back());
  return all;
}

/// Offsets and bounds that all ranks of the version agree on become static.
void Specialization::fixScalars(LocalConvOp version, MutableArrayRef<RankValues> ranks) {
  SmallVector<Value> left;
  auto next = version.getScalars().begin();
  auto fix = [&](ArrayRef<int64_t> list) {
    SmallVector<int64_t> fixed(list);
    for (int64_t &number : fixed) {
      if (!ShapedType::isDynamic(number))
        continue;
      Value value = *next++;
      std::optional<int64_t> first = ranks.front().get(value);
      if (first && llvm::all_of(ranks, [&](RankValues &rank) { return rank.get(value) == first; }))
        number = *first;
      else
        left.push_back(value);
    }
    return b.getDenseI64ArrayAttr(fixed);
  };
  version.setOffsetAttr(fix(version.getOffset()));
  version.setValidBeginAttr(fix(version.getValidBegin()));
  version.setValidEndAttr(fix(version.getValidEnd()));
  version.getScalarsMutable().assign(left);
}

LocalConvOp Specialization::makeVersion(const Sizes &sizes, MutableArrayRef<RankValues> ranks) {
  auto version = cast<LocalConvOp>(b.clone(*op));
  b.setInsertionPoint(version);
  for (auto [e, size] : llvm::zip(extents, sizes)) {
    OpOperand &operand = version->getOpOperand(e.operand->getOperandNumber());
    auto type = cast<MemRefType>(operand.get().getType());
    SmallVector<int64_t> shape(type.getShape());
    shape[e.dim] = size;
    MemRefType known = MemRefType::Builder(type).setShape(shape);
    operand.set(memref::CastOp::create(b, l.loc, known, operand.get()));
  }
  fixScalars(version, ranks);
  return version;
}

SmallVector<LocalConvOp> Specialization::run() {
  MeshAttr mesh = meshOfModule();
  collectExtents();
  offset = columnOffset();
  if (!mesh || mesh.size() > kMaxRanks || !readRanks(mesh))
    return {};
  SmallVector<LocalConvOp> made;
  for (auto &[sizes, ranks] : versions) {
    if (made.size() + 1 == versions.size()) {
      made.push_back(makeVersion(sizes, ranks));
      break;
    }
    auto branch = scf::IfOp::create(b, l.loc, TypeRange(), isVersion(sizes), /*withElseRegion=*/true);
    b.setInsertionPoint(branch.thenBlock()->getTerminator());
    made.push_back(makeVersion(sizes, ranks));
    b.setInsertionPoint(branch.elseBlock()->getTerminator());
  }
  emitRemark(op.getLoc()) << "columns of " << made.size() << (made.size() == 1 ? " kind" : " kinds")
                          << ", a kernel for each";
  op.erase();
  return made;
}

SmallVector<LocalConvOp> ringconv::specializeColumns(LocalConvOp op) { return Specialization(op).run(); }
