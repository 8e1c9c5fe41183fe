// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Partitioner.h"
#include "Upstream.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace ringconv;

// ===--------------------------------------------------------------------=== //
// Numbers that differ by rank
// ===--------------------------------------------------------------------=== //

Value Partitioner::coord(ArrayRef<StringAttr> axes) {
  ArrayAttr key = builder.getArrayAttr(SmallVector<Attribute>(axes.begin(), axes.end()));
  Value &value = coords[key];
  if (!value) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(entry);
    value = CoordOp::create(builder, whole.getLoc(), mesh.name, key);
  }
  return value;
}

OpFoldResult Partitioner::lookup(ArrayRef<StringAttr> axes, const halo::Table &table) {
  if (auto constant = table.constant())
    return builder.getIndexAttr(*constant);
  Value part = coord(axes);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointAfterValue(part);
  return LookupOp::create(builder, whole.getLoc(), part, makeTable(builder.getContext(), table)).getResult();
}

static halo::Table sizeTable(const halo::Cuts &cuts) {
  std::vector<int64_t> sizes;
  for (int64_t r = 0; r < cuts.parts(); ++r)
    sizes.push_back(cuts.part(r).size());
  return halo::Table::of(sizes);
}

SmallVector<OpFoldResult> Partitioner::localSizes(RankedTensorType type, ShardingAttr sharding) {
  SmallVector<OpFoldResult> sizes;
  for (auto [dim, size] : llvm::zip(sharding.getDims(), type.getShape()))
    sizes.push_back(dim.isCut() ? lookup(dim.getAxes(), sizeTable(mesh.cuts(dim, size)))
                                : OpFoldResult(builder.getIndexAttr(size)));
  return sizes;
}

// ===--------------------------------------------------------------------=== //
// Values at another sharding
// ===--------------------------------------------------------------------=== //

Value Partitioner::makeFree(Value value, ShardingAttr to) {
  auto type = cast<RankedTensorType>(value.getType());
  RankedTensorType local = localType(type, to);
  Operation *op = value.getDefiningOp();
  Location loc = op->getLoc();
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto splat = cast<SplatElementsAttr>(constant.getValue());
    if (local.hasStaticShape())
      return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(local, splat.getSplatValue<Attribute>()));
    Value scalar = arith::ConstantOp::create(builder, loc, cast<TypedAttr>(splat.getSplatValue<Attribute>()));
    Value empty = tensor::EmptyOp::create(builder, loc, localSizes(type, to), type.getElementType());
    return linalg::FillOp::create(builder, loc, scalar, empty).getResult(0);
  }
  Value empty = tensor::EmptyOp::create(builder, loc, localSizes(type, to), type.getElementType());
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return linalg::FillOp::create(builder, loc, locals.lookup(fill.getInputs()[0]), empty).getResult(0);
  if (auto splat = dyn_cast<tensor::SplatOp>(op))
    return linalg::FillOp::create(builder, loc, locals.lookup(splat.getInput()), empty).getResult(0);
  return empty;
}

Value Partitioner::localValue(Value value, ShardingAttr to) {
  Value local = locals.lookup(value);
  ShardingAttr from = analysis.of(value);
  if (!to || from == to)
    return local;
  if (isFree(value))
    return makeFree(value, to);
  return redistribute(value.getLoc(), local, cast<RankedTensorType>(value.getType()), from, to);
}

/// What every rank needs of every other one costs the most: it is told.
static void remarkGather(Location loc, RankedTensorType type, ShardingAttr from, ShardingAttr to) {
  for (auto [d, dims] : llvm::enumerate(llvm::zip(from.getDims(), to.getDims())))
    if (auto [a, b] = dims; a.isCut() && !b.isCut())
      emitRemark(loc) << "dim " << d << " of " << type << " gathered: it is cut, but needed whole";
}

/// A slice where each dimension that changes was whole; else boxes.
Value Partitioner::redistribute(Location loc, Value local, RankedTensorType type, ShardingAttr from, ShardingAttr to) {
  if (from == to)
    return local;
  SmallVector<OpFoldResult> sizes = localSizes(type, to);
  bool slice = true;
  for (auto [a, b] : llvm::zip(from.getDims(), to.getDims()))
    slice &= a == b || !a.isCut();
  if (slice) {
    SmallVector<OpFoldResult> offsets, strides(type.getRank(), builder.getIndexAttr(1));
    for (auto [d, dims] : llvm::enumerate(llvm::zip(from.getDims(), to.getDims()))) {
      auto [a, b] = dims;
      if (a == b) {
        offsets.push_back(builder.getIndexAttr(0));
        continue;
      }
      halo::Cuts cuts = mesh.cuts(b, type.getDimSize(d));
      offsets.push_back(lookup(b.getAxes(), halo::Table::of({cuts.bounds.begin(), cuts.bounds.end() - 1})));
    }
    return tensor::ExtractSliceOp::create(builder, loc, localType(type, to), local, offsets, sizes, strides);
  }
  remarkGather(loc, type, from, to);
  Value empty = tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
  return RedistributeOp::create(builder, loc, empty.getType(), local, empty, TypeAttr::get(type), from, to)
      .getResult();
}

// ===--------------------------------------------------------------------=== //
// Operations
// ===--------------------------------------------------------------------=== //

LogicalResult Partitioner::convertCut(Operation *op, const Decision &decision) {
  bool partial = !decision.reduceAxes.empty() && !upstream::idempotentCombiner(op);
  LocalBuilder local{builder, op->getLoc(), {}, {}, {}, partial, {}};
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    local.operands.push_back(localValue(operand, decision.operands[i]));
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    auto type = cast<RankedTensorType>(result.getType());
    if (local.partial)
      type = RankedTensorType::get(type.getShape(), accumulationType(type.getElementType()));
    local.results.push_back(localType(type, decision.results[i]));
    local.sizes.push_back(localSizes(type, decision.results[i]));
  }
  if (auto fold = dyn_cast<FoldBorderOp>(op)) {
    SmallVector<Value> values{foldBorder(fold, decision, local)};
    combinePartials(op, decision, values);
    locals.map(op->getResult(0), values[0]);
    return success();
  }
  if (auto windowed = dyn_cast<WindowedOpInterface>(op)) {
    FailureOr<LocalWindows> windows = makeWindows(windowed, decision, local.operands);
    if (failed(windows))
      return failure();
    local.windows = *windows;
  }
  Block *block = builder.getInsertionBlock();
  Operation *before = block->empty() ? nullptr : &block->back();
  FailureOr<SmallVector<Value>> values = createLocal(op, local);
  if (failed(values))
    return op->emitOpError() << "cannot be made local as it is cut";
  // Offsets and what a region reads from outside are still the whole program's.
  for (auto it = before ? std::next(before->getIterator()) : block->begin(); it != block->end(); ++it)
    it->walk([&](Operation *made) {
      for (OpOperand &operand : made->getOpOperands())
        if (Value value = locals.lookupOrNull(operand.get()))
          operand.set(value);
    });
  combinePartials(op, decision, *values);
  reportStep(op, &decision);
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    locals.map(result, (*values)[i]);
  return success();
}

LogicalResult Partitioner::convertFor(Operation *op) {
  auto loop = cast<scf::ForOp>(op);
  SmallVector<Value> inits;
  for (auto [init, arg] : llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs()))
    inits.push_back(localValue(init, analysis.of(arg)));
  auto local = scf::ForOp::create(builder, loop.getLoc(), locals.lookup(loop.getLowerBound()),
                                  locals.lookup(loop.getUpperBound()), locals.lookup(loop.getStep()), inits);
  locals.map(loop.getInductionVar(), local.getInductionVar());
  for (auto [a, b] : llvm::zip(loop.getRegionIterArgs(), local.getRegionIterArgs()))
    locals.map(a, b);
  for (auto [a, b] : llvm::zip(loop.getResults(), local.getResults()))
    locals.map(a, b);
  OpBuilder::InsertionGuard guard(builder);
  if (inits.empty())
    local.getBody()->getTerminator()->erase();
  builder.setInsertionPointToEnd(local.getBody());
  if (failed(convertBlock(*loop.getBody())))
    return failure();
  SmallVector<Value> yields;
  for (auto [value, arg] : llvm::zip(loop.getBody()->getTerminator()->getOperands(), loop.getRegionIterArgs()))
    yields.push_back(localValue(value, analysis.of(arg)));
  scf::YieldOp::create(builder, loop.getLoc(), yields);
  return success();
}

LogicalResult Partitioner::convertWhile(Operation *op) {
  auto loop = cast<scf::WhileOp>(op);
  SmallVector<Value> inits;
  SmallVector<Type> types;
  for (auto [init, arg] : llvm::zip(loop.getInits(), loop.getBeforeArguments()))
    inits.push_back(localValue(init, analysis.of(arg)));
  for (Value result : loop.getResults())
    types.push_back(valueType(result));
  auto local = scf::WhileOp::create(builder, loop.getLoc(), types, inits);
  for (auto [a, b] : llvm::zip(loop.getResults(), local.getResults()))
    locals.map(a, b);
  OpBuilder::InsertionGuard guard(builder);
  auto enter = [&](Region &region, Block &from) {
    Block &block = region.emplaceBlock();
    for (BlockArgument arg : from.getArguments())
      locals.map(arg, block.addArgument(valueType(arg), arg.getLoc()));
    builder.setInsertionPointToEnd(&block);
    return convertBlock(from);
  };
  if (failed(enter(local.getBefore(), *loop.getBeforeBody())))
    return failure();
  SmallVector<Value> passed, yields;
  for (Value value : loop.getConditionOp().getArgs())
    passed.push_back(localValue(value, analysis.of(value)));
  scf::ConditionOp::create(builder, loop.getLoc(), locals.lookup(loop.getConditionOp().getCondition()), passed);
  if (failed(enter(local.getAfter(), *loop.getAfterBody())))
    return failure();
  for (auto [value, arg] : llvm::zip(loop.getYieldOp().getOperands(), loop.getBeforeArguments()))
    yields.push_back(localValue(value, analysis.of(arg)));
  scf::YieldOp::create(builder, loop.getLoc(), yields);
  return success();
}

LogicalResult Partitioner::convertIf(Operation *op) {
  auto branch = cast<scf::IfOp>(op);
  SmallVector<Type> types;
  for (Value result : branch.getResults())
    types.push_back(valueType(result));
  auto local = scf::IfOp::create(builder, branch.getLoc(), types, locals.lookup(branch.getCondition()),
                                 !branch.getElseRegion().empty());
  for (auto [a, b] : llvm::zip(branch.getResults(), local.getResults()))
    locals.map(a, b);
  for (auto [from, to] : llvm::zip(branch->getRegions(), local->getRegions())) {
    if (from.empty())
      continue;
    OpBuilder::InsertionGuard guard(builder);
    if (to.empty())
      to.emplaceBlock();
    if (to.front().mightHaveTerminator())
      to.front().getTerminator()->erase();
    builder.setInsertionPointToEnd(&to.front());
    if (failed(convertBlock(from.front())))
      return failure();
    SmallVector<Value> yields;
    for (auto [value, result] : llvm::zip(from.front().getTerminator()->getOperands(), branch.getResults()))
      yields.push_back(localValue(value, analysis.of(result)));
    scf::YieldOp::create(builder, branch.getLoc(), yields);
  }
  return success();
}

LogicalResult Partitioner::convert(Operation *op) {
  if (isa<ReshardOp, ReshardLikeOp>(op)) {
    reportStep(op, nullptr);
    locals.map(op->getResult(0), localValue(op->getOperand(0), analysis.of(op->getResult(0))));
    return success();
  }
  if (isa<scf::ForOp>(op))
    return convertFor(op);
  if (isa<scf::WhileOp>(op))
    return convertWhile(op);
  if (isa<scf::IfOp>(op))
    return convertIf(op);
  if (const Decision *decision = analysis.decision(op))
    return convertCut(op, *decision);
  reportStep(op, nullptr);
  builder.clone(*op, locals);
  return success();
}

LogicalResult Partitioner::convertBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (!unused.contains(&op) && failed(convert(&op)))
      return failure();
  return success();
}

void Partitioner::convertReturn(Operation *op) {
  SmallVector<Value> values;
  for (auto [i, value] : llvm::enumerate(op->getOperands()))
    values.push_back(localValue(value, analysis.result(i)));
  reportReturn(op);
  func::ReturnOp::create(builder, op->getLoc(), values);
}

LogicalResult Partitioner::run() {
  Region &region = whole.getBody();
  Block *old = &region.front();
  entry = new Block();
  region.push_back(entry);
  SmallVector<Type> inputs, outputs;
  auto localize = [&](Type type, ShardingAttr sharding) -> Type {
    return sharding ? localType(cast<RankedTensorType>(type), sharding) : type;
  };
  for (BlockArgument arg : old->getArguments()) {
    inputs.push_back(localize(arg.getType(), analysis.of(arg)));
    locals.map(arg, entry->addArgument(inputs.back(), arg.getLoc()));
    reportValue(arg, true);
  }
  builder.setInsertionPointToEnd(entry);
  unused = findUnused(*old);
  if (failed(convertBlock(*old)))
    return failure();
  convertReturn(old->getTerminator());

  auto shardOf = [&](Type type, ShardingAttr sharding) {
    return ShardOfAttr::get(type.getContext(), cast<RankedTensorType>(type), sharding);
  };
  for (auto [i, arg] : llvm::enumerate(old->getArguments())) {
    whole.removeArgAttr(i, kSharding);
    if (ShardingAttr s = analysis.of(arg))
      whole.setArgAttr(i, kShardOf, shardOf(arg.getType(), s));
  }
  for (auto [i, type] : llvm::enumerate(whole.getResultTypes())) {
    whole.removeResultAttr(i, builder.getStringAttr(kSharding));
    outputs.push_back(localize(type, analysis.result(i)));
    if (ShardingAttr s = analysis.result(i))
      whole.setResultAttr(i, kShardOf, shardOf(type, s));
  }
  whole.setFunctionType(builder.getFunctionType(inputs, outputs));
  old->dropAllReferences();
  old->erase();
  return success();
}
