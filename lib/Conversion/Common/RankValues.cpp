// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "RankValues.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace ringconv;

std::optional<int64_t> RankValues::get(OpFoldResult value) {
  if (auto attr = dyn_cast<Attribute>(value))
    return cast<IntegerAttr>(attr).getInt();
  return get(cast<Value>(value));
}

std::optional<int64_t> RankValues::get(Value value) {
  if (auto it = known.find(value); it != known.end())
    return it->second;
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return value.getType().isInteger(1) ? constant.getZExtValue() : constant.getSExtValue();
  Operation *op = value.getDefiningOp();
  std::optional<int64_t> result = op ? compute(op) : std::nullopt;
  if (!result)
    return std::nullopt;
  known[value] = *result;
  if (!steps.empty())
    steps.back()->push_back(value);
  return result;
}

std::optional<int64_t> RankValues::partOf(ArrayRef<Attribute> axes) {
  int64_t part = 0;
  for (Attribute name : axes) {
    int64_t axis = mesh.axisIndex(cast<StringAttr>(name).getValue()), stride = 1;
    if (axis < 0)
      return std::nullopt;
    for (size_t a = axis + 1; a < mesh.getExtents().size(); ++a)
      stride *= mesh.getExtents()[a];
    part = part * mesh.getExtents()[axis] + rank / stride % mesh.getExtents()[axis];
  }
  return part;
}

std::optional<int64_t> RankValues::compute(Operation *op) {
  if (auto coord = dyn_cast<CoordOp>(op))
    return partOf(coord.getAxes().getValue());
  if (auto lookup = dyn_cast<LookupOp>(op)) {
    auto part = get(lookup.getPart());
    return part ? std::optional(lookup.getTable().at(*part)) : std::nullopt;
  }
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    auto index = dim.getConstantIndex();
    return index ? sizeOf(dim.getSource(), *index) : std::nullopt;
  }
  if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtUIOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return get(op->getOperand(0));
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    auto condition = get(select.getCondition());
    if (!condition)
      return std::nullopt;
    return get(*condition ? select.getTrueValue() : select.getFalseValue());
  }
  return op->getNumOperands() == 2 ? computeArith(op) : std::nullopt;
}

/// Sizes, offsets and coordinates are small and, where an operation is unsigned,
/// not negative.
std::optional<int64_t> RankValues::computeArith(Operation *op) {
  auto left = get(op->getOperand(0)), right = get(op->getOperand(1));
  if (!left || !right)
    return std::nullopt;
  int64_t a = *left, b = *right;
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return arith::applyCmpPredicate(compare.getPredicate(), APInt(64, a, true), APInt(64, b, true));
  if (isa<arith::AddIOp>(op))
    return a + b;
  if (isa<arith::SubIOp>(op))
    return a - b;
  if (isa<arith::MulIOp>(op))
    return a * b;
  if (isa<arith::MinSIOp, arith::MinUIOp>(op))
    return std::min(a, b);
  if (isa<arith::MaxSIOp, arith::MaxUIOp>(op))
    return std::max(a, b);
  if (isa<arith::AndIOp>(op))
    return a & b;
  if (isa<arith::OrIOp>(op))
    return a | b;
  if (isa<arith::XOrIOp>(op))
    return a ^ b;
  if (b == 0)
    return std::nullopt;
  if (isa<arith::DivUIOp, arith::DivSIOp>(op))
    return a / b;
  if (isa<arith::RemUIOp, arith::RemSIOp>(op))
    return a % b;
  if (isa<arith::FloorDivSIOp>(op) && b > 0)
    return halo::floorDiv(a, b);
  if (isa<arith::CeilDivSIOp, arith::CeilDivUIOp>(op) && b > 0)
    return halo::ceilDiv(a, b);
  return std::nullopt;
}

std::optional<int64_t> RankValues::sizeOf(Value memref, int64_t dim) {
  auto type = dyn_cast<MemRefType>(memref.getType());
  if (!type)
    return std::nullopt;
  if (!type.isDynamicDim(dim))
    return type.getDimSize(dim);
  if (auto argument = dyn_cast<BlockArgument>(memref)) {
    auto func = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
    auto shard = func ? func.getArgAttrOfType<ShardOfAttr>(argument.getArgNumber(), kShardOf) : ShardOfAttr();
    // The attribute may be of another tensor or mesh: then it says nothing.
    if (!shard || shard.getType().getRank() != type.getRank() ||
        checkSharding(shard.getSharding(), shard.getType().getShape(), mesh))
      return std::nullopt;
    DimShardingAttr cut = shard.getSharding().dim(dim);
    SmallVector<Attribute> axes(cut.getAxes().begin(), cut.getAxes().end());
    std::optional<int64_t> part = partOf(axes);
    return part ? std::optional(cutsOf(cut, shard.getType().getDimSize(dim), mesh).part(*part).size()) : std::nullopt;
  }
  Operation *op = memref.getDefiningOp();
  if (auto alloc = dyn_cast<memref::AllocOp>(op))
    return get(alloc.getDynamicSizes()[type.getDynamicDimIndex(dim)]);
  if (auto cast = dyn_cast<memref::CastOp>(op))
    return sizeOf(cast.getSource(), dim);
  if (auto expand = dyn_cast<memref::ExpandShapeOp>(op))
    return get(expand.getMixedOutputShape()[dim]);
  if (auto collapse = dyn_cast<memref::CollapseShapeOp>(op)) {
    int64_t product = 1;
    for (int64_t d : collapse.getReassociationIndices()[dim]) {
      auto size = sizeOf(collapse.getSrc(), d);
      if (!size)
        return std::nullopt;
      product *= *size;
    }
    return product;
  }
  if (auto view = dyn_cast<memref::ReinterpretCastOp>(op))
    return get(view.getMixedSizes()[dim]);
  if (auto view = dyn_cast<memref::SubViewOp>(op)) {
    llvm::SmallBitVector dropped = view.getDroppedDims();
    for (auto [d, size] : llvm::enumerate(view.getMixedSizes()))
      if (!dropped.test(d) && dim-- == 0)
        return get(size);
  }
  return std::nullopt;
}

std::optional<int64_t> RankValues::elements(Value memref) {
  int64_t product = 1;
  for (int64_t d = 0; d < cast<MemRefType>(memref.getType()).getRank(); ++d) {
    auto size = sizeOf(memref, d);
    if (!size || *size < 0 || __builtin_mul_overflow(product, *size, &product))
      return std::nullopt;
  }
  return product;
}

bool RankValues::run(GroupOp group, llvm::function_ref<bool(Operation *)> piece) {
  return run(group.getBody().front(), piece);
}

bool RankValues::run(Block &block, llvm::function_ref<bool(Operation *)> piece) {
  for (Operation &op : block) {
    if (isa<SendOp, RecvOp>(op)) {
      if (!piece(&op))
        return false;
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      auto condition = get(branch.getCondition());
      if (!condition)
        return false;
      Block *taken = *condition ? branch.thenBlock() : branch.elseBlock();
      if (taken && !run(*taken, piece))
        return false;
    } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
      auto begin = get(loop.getLowerBound()), end = get(loop.getUpperBound()), step = get(loop.getStep());
      if (!begin || !end || !step || *step < 1)
        return false;
      for (int64_t i = *begin; i < *end; i += *step) {
        SmallVector<Value> made{loop.getInductionVar()};
        known[loop.getInductionVar()] = i;
        steps.push_back(&made);
        bool done = run(*loop.getBody(), piece);
        steps.pop_back();
        for (Value value : made)
          known.erase(value);
        if (!done)
          return false;
      }
    }
  }
  return true;
}

std::optional<int64_t> ringconv::largestOverRanks(MeshAttr mesh,
                                                  llvm::function_ref<std::optional<int64_t>(RankValues &)> number) {
  int64_t largest = 0;
  for (int64_t rank = 0; rank < mesh.size(); ++rank) {
    RankValues values(mesh, rank);
    auto value = number(values);
    if (!value)
      return std::nullopt;
    largest = std::max(largest, *value);
  }
  return largest;
}
