// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies of strided memrefs. Upstream turns them into calls of `memrefCopy`, a
// function of its runner library, which our programs do not link and which
// copies element by element. Dimensions that are contiguous on both sides are
// merged, so that the innermost loop is as long as the layouts allow.
#include "LoopBuilder.h"
#include "Loops.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace ringconv;

namespace {

/// Groups of neighbouring dimensions that both memrefs hold without gaps.
SmallVector<ReassociationIndices> contiguousGroups(MemRefType from, MemRefType to) {
  SmallVector<ReassociationIndices> groups;
  auto collapses = [&](ArrayRef<ReassociationIndices> first, int64_t next) {
    SmallVector<ReassociationIndices> all(first);
    for (int64_t d = next; d < from.getRank(); ++d)
      all.push_back({d});
    return memref::CollapseShapeOp::isGuaranteedCollapsible(from, all) &&
           memref::CollapseShapeOp::isGuaranteedCollapsible(to, all);
  };
  for (int64_t d = 0; d < from.getRank(); ++d) {
    if (!groups.empty()) {
      groups.back().push_back(d);
      if (collapses(groups, d + 1))
        continue;
      groups.back().pop_back();
    }
    groups.push_back({d});
  }
  return groups;
}

/// Loops over the dimensions from `index.size()` on; the last one goes by
/// vectors of `lanes` elements, and by elements where fewer are left.
void copyFrom(Loops &l, Value source, Value target, SmallVector<Value> index, int64_t lanes) {
  auto type = cast<MemRefType>(source.getType());
  auto copyElement = [&](ArrayRef<Value> at) {
    Value v = memref::LoadOp::create(l.b, l.loc, source, at);
    memref::StoreOp::create(l.b, l.loc, v, target, at);
  };
  if (int64_t(index.size()) == type.getRank())
    return copyElement(index);
  Value size = l.size(source, index.size()), begin = l.constant(0);
  index.push_back({});
  if (int64_t(index.size()) == type.getRank() && lanes > 1) {
    Value rest = arith::RemSIOp::create(l.b, l.loc, size, l.constant(lanes)), whole = l.sub(size, rest);
    auto vectorType = VectorType::get({lanes}, type.getElementType());
    auto copyVector = [&](Value i, ValueRange) {
      index.back() = i;
      Value v = vector::LoadOp::create(l.b, l.loc, vectorType, source, index);
      vector::StoreOp::create(l.b, l.loc, v, target, index);
      return SmallVector<Value>();
    };
    l.forLoop(begin, whole, {}, copyVector, lanes);
    begin = whole;
  }
  l.forLoop(begin, size, {}, [&](Value i, ValueRange) {
    index.back() = i;
    copyFrom(l, source, target, index, lanes);
    return SmallVector<Value>();
  });
}

} // namespace

void ringconv::lowerStridedCopy(memref::CopyOp op, const LoopOptions &options) {
  auto from = dyn_cast<MemRefType>(op.getSource().getType()), to = dyn_cast<MemRefType>(op.getTarget().getType());
  // Copies between whole buffers become memcpy.
  if (!from || !to || (from.getLayout().isIdentity() && to.getLayout().isIdentity()))
    return;
  OpBuilder b(op);
  Loops l{b, op.getLoc()};
  Value source = op.getSource(), target = op.getTarget();
  SmallVector<ReassociationIndices> groups = contiguousGroups(from, to);
  if (int64_t(groups.size()) < from.getRank()) {
    source = memref::CollapseShapeOp::create(b, l.loc, source, groups);
    target = memref::CollapseShapeOp::create(b, l.loc, target, groups);
  }
  auto isInnerVector = [](Value memref) {
    auto type = cast<MemRefType>(memref.getType());
    return type.getRank() > 0 && isVectorDim(type, type.getRank() - 1);
  };
  Type element = from.getElementType();
  int64_t bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0, lanes = 1;
  // Elements below a byte have no address of their own in a vector.
  if (options.vectorize && bits >= 8 && isInnerVector(source) &&
      isInnerVector(target))
    lanes = options.vectorWidth * 32 / bits;
  copyFrom(l, source, target, {}, lanes);
  op.erase();
}
