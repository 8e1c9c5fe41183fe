// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ShardingAnalysis.h"
#include "ringconv/Halo/Fold.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace ringconv;

bool ringconv::isFree(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return false;
  if (auto constant = dyn_cast<arith::ConstantOp>(op))
    return isa<SplatElementsAttr>(constant.getValue());
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return fill.getOutputs()[0].getDefiningOp<tensor::EmptyOp>();
  return isa<tensor::EmptyOp, tensor::SplatOp>(op);
}

const Decision *ShardingAnalysis::decision(Operation *op) const {
  auto it = decisions.find(op);
  return it == decisions.end() ? nullptr : &it->second;
}

ShardingAttr ShardingAnalysis::whole(Value value) const {
  auto type = dyn_cast<RankedTensorType>(value.getType());
  return type ? mesh.replicated(type.getRank()) : ShardingAttr();
}

// ===--------------------------------------------------------------------=== //
// Wishes, backward
// ===--------------------------------------------------------------------=== //

void ShardingAnalysis::wish(Value value, ShardingAttr sharding, bool exact) {
  Operation *op = value.getDefiningOp();
  if (!op || !isa<RankedTensorType>(value.getType()) || isa<ReshardOp, ReshardLikeOp>(op) || isFree(value))
    return;
  if (exact)
    wanted.try_emplace(value, sharding);
  else
    hints.try_emplace(value, sharding);
}

/// What operands should be so that the result comes out as `sharding`. Only
/// operations that read what they write, element by element, pass a wish on
/// exactly: the halo of a window is found from where its input lies.
void ShardingAnalysis::wishOperands(Operation *op, ShardingAttr sharding, bool exact) {
  SmallVector<ShardingAttr> none(op->getNumOperands());
  for (auto [i, operand] : llvm::enumerate(op->getOperands()))
    none[i] = whole(operand);
  FailureOr<Decision> decision = decide(op, mesh, none, sharding, {});
  if (failed(decision))
    return;
  bool elementwise = OpTrait::hasElementwiseMappableTraits(op) || isa<FoldBorderOp>(op);
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
    elementwise = linalg::isElementwise(linalgOp);
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    ShardingAttr need = decision->operands[i];
    if (!need)
      continue;
    if (auto window = dyn_cast<WindowedOpInterface>(op); window && int64_t(i) < window.getNumWindowedOperands()) {
      SmallVector<DimShardingAttr> dims(need.getDims());
      ArrayRef<int64_t> shape = cast<RankedTensorType>(operand.getType()).getShape();
      SmallVector<halo::Window> windows = window.getWindows();
      for (auto [n, d] : llvm::enumerate(window.getInputWindowDims()))
        if (const WindowCut &cut = decision->windows[n]; !cut.axes.empty() && !cut.cutsTaps)
          dims[d] = makeDimSharding(op->getContext(), cut.axes, halo::anchoredInputs(windows[n], shape[d], cut.output));
      need = ShardingAttr::get(op->getContext(), mesh.name, dims);
    }
    if (!need.isReplicated())
      wish(operand, need, exact && elementwise && operand.hasOneUse());
  }
}

void ShardingAnalysis::collectWishes(Block &block) {
  for (Operation &op : llvm::reverse(block)) {
    // What is used at other cuts only is computed there.
    if (auto reshard = dyn_cast<ReshardOp>(op))
      wish(reshard.getInput(), canonical(reshard.getSharding(), reshard.getType().getShape(), mesh.mesh),
           reshard.getInput().hasOneUse());
    if (op.getNumResults() == 0 || (op.getNumRegions() && !isa<linalg::LinalgOp>(op)))
      continue;
    if (ShardingAttr w = wanted.lookup(op.getResult(0)))
      wishOperands(&op, w, true);
    else if (ShardingAttr h = hints.lookup(op.getResult(0)))
      wishOperands(&op, h, false);
  }
}

// ===--------------------------------------------------------------------=== //
// Forward
// ===--------------------------------------------------------------------=== //

/// What the result of an operation should be: a wish, or the sharding of a value
/// that is there already, where only a reshard_like asks, or the fold before it.
ShardingAttr ShardingAnalysis::wantedOf(Value value) const {
  if (ShardingAttr want = wanted.lookup(value); want || !value.hasOneUse())
    return want;
  Operation *user = *value.user_begin();
  if (auto like = dyn_cast<ReshardLikeOp>(user))
    return of(like.getModel());
  auto fold = dyn_cast<FoldBorderOp>(user);
  ShardingAttr folded = fold ? wantedOf(fold.getResult()) : ShardingAttr();
  if (!folded)
    return {};
  SmallVector<DimShardingAttr> dims(folded.getDims());
  int64_t d = fold.getDim();
  if (dims[d].isCut())
    dims[d] = makeDimSharding(fold.getContext(), dims[d].getAxes(),
                              halo::foldCuts(fold.getExtension(), mesh.cuts(dims[d], fold.getType().getDimSize(d))));
  return ShardingAttr::get(fold.getContext(), mesh.name, dims);
}

/// An operation without rules runs on whole values, the same on every rank.
LogicalResult ShardingAnalysis::analyzeUncut(Operation *op) {
  for (auto [i, operand] : llvm::enumerate(op->getOperands())) {
    ShardingAttr s = of(operand);
    if (!s || s.isReplicated())
      continue;
    auto diag = op->emitOpError() << "has no rules for cut values, but operand " << i << " is cut as " << s
                                  << "; a ringconv.reshard to <@" << mesh.name.getValue() << ", [";
    llvm::interleaveComma(s.getDims(), diag, [&](DimShardingAttr) { diag << "{}"; });
    return diag << "]> before it makes it whole";
  }
  for (Value result : op->getResults())
    if (ShardingAttr s = whole(result))
      shardings[result] = s;
  return success();
}

LogicalResult ShardingAnalysis::analyze(Operation *op) {
  if (auto reshard = dyn_cast<ReshardOp>(op)) {
    shardings[reshard.getResult()] =
        canonical(reshard.getSharding(), reshard.getType().getShape(), mesh.mesh);
    return success();
  }
  if (auto like = dyn_cast<ReshardLikeOp>(op)) {
    shardings[like.getResult()] = of(like.getModel());
    return success();
  }
  if (isa<scf::ForOp, scf::WhileOp>(op))
    return analyzeLoop(op);
  if (isa<scf::IfOp>(op))
    return analyzeBranch(op);
  if (op->getNumRegions() && !isa<linalg::LinalgOp>(op) && !isa<tensor::PadOp>(op))
    return op->emitOpError() << "has regions that ringconv-partition does not know";
  // What a region reads from outside it reads anywhere.
  for (Region &region : op->getRegions())
    if (region.walk([&](Operation *inner) { return WalkResult(analyzeUncut(inner)); }).wasInterrupted())
      return failure();
  for (Value result : op->getResults())
    if (isFree(result))
      return shardings[result] = whole(result), success();

  SmallVector<ShardingAttr> operands;
  for (Value operand : op->getOperands())
    operands.push_back(of(operand));
  bool tensors = op->getNumResults() && isa<RankedTensorType>(op->getResult(0).getType());
  bool cut = llvm::any_of(operands, [](ShardingAttr s) { return s && !s.isReplicated(); });
  Value first = tensors ? op->getResult(0) : Value();
  ShardingAttr want = tensors ? wantedOf(first) : ShardingAttr();
  ShardingAttr hint = tensors ? hints.lookup(first) : ShardingAttr();
  // What has a local form gets it even where nothing is cut.
  if (!tensors || (!isa<ShardableOpInterface>(op) && !cut && !want && !hint))
    return analyzeUncut(op);
  FailureOr<Decision> decision = decide(op, mesh, operands, want, hint);
  if (failed(decision))
    return analyzeUncut(op);
  for (auto [i, result] : llvm::enumerate(op->getResults()))
    shardings[result] = i == 0 && want ? want : decision->results[i];
  decisions[op] = std::move(*decision);
  return success();
}

/// Carried values keep the sharding they come with; a value that comes whole but
/// is computed cut in the body is cut from the start. Each round cuts at least
/// one more carried value.
LogicalResult ShardingAnalysis::analyzeCarried(Block::BlockArgListType args, Block &body,
                                               llvm::function_ref<LogicalResult()> analyzeBody,
                                               SmallVectorImpl<ShardingAttr> &carried) {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [arg, s] : llvm::zip(args, carried))
      shardings[arg] = s;
    if (failed(analyzeBody()))
      return failure();
    for (auto [i, yielded] : llvm::enumerate(body.getTerminator()->getOperands())) {
      ShardingAttr s = of(yielded);
      if (s && carried[i].isReplicated() && !s.isReplicated() && args[i] != yielded) {
        carried[i] = s;
        changed = true;
      }
    }
  }
  return success();
}

LogicalResult ShardingAnalysis::analyzeLoop(Operation *op) {
  auto loop = dyn_cast<scf::ForOp>(op);
  SmallVector<ShardingAttr> carried;
  OperandRange inits = loop ? OperandRange(loop.getInitArgs()) : cast<scf::WhileOp>(op).getInits();
  for (auto [i, init] : llvm::enumerate(inits)) {
    ShardingAttr s = of(init), want;
    if (loop)
      want = wanted.lookup(loop.getResult(i)) ? wanted.lookup(loop.getResult(i)) : hints.lookup(loop.getResult(i));
    carried.push_back(s && s.isReplicated() && want ? want : s);
  }
  if (loop) {
    if (failed(analyzeCarried(loop.getRegionIterArgs(), *loop.getBody(), [&] { return analyze(*loop.getBody()); },
                              carried)))
      return failure();
    for (auto [result, s] : llvm::zip(loop.getResults(), carried))
      shardings[result] = s;
    return success();
  }
  auto whileOp = cast<scf::WhileOp>(op);
  Block &before = *whileOp.getBeforeBody(), &after = *whileOp.getAfterBody();
  // What the condition passes on is what the body and the results get.
  auto analyzeBoth = [&]() -> LogicalResult {
    if (failed(analyze(before)))
      return failure();
    for (auto [i, value] : llvm::enumerate(whileOp.getConditionOp().getArgs()))
      if (ShardingAttr s = of(value))
        shardings[after.getArgument(i)] = shardings[whileOp.getResult(i)] = s;
    return analyze(after);
  };
  return analyzeCarried(before.getArguments(), after, analyzeBoth, carried);
}

LogicalResult ShardingAnalysis::analyzeBranch(Operation *op) {
  auto branch = cast<scf::IfOp>(op);
  for (Region &region : op->getRegions())
    if (!region.empty() && failed(analyze(region.front())))
      return failure();
  for (auto [i, result] : llvm::enumerate(branch.getResults())) {
    ShardingAttr s = of(branch.thenYield().getOperand(i)), other = of(branch.elseYield().getOperand(i));
    ShardingAttr want = wanted.lookup(result);
    shardings[result] = want ? want : s && s.isReplicated() ? other : s;
  }
  return success();
}

LogicalResult ShardingAnalysis::analyze(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(analyze(&op)))
      return failure();
  return success();
}

LogicalResult ShardingAnalysis::run() {
  Block &body = func.getBody().front();
  for (auto [i, arg] : llvm::enumerate(body.getArguments())) {
    auto type = dyn_cast<RankedTensorType>(arg.getType());
    if (!type)
      continue;
    auto given = func.getArgAttrOfType<ShardingAttr>(i, kSharding);
    shardings[arg] = given ? canonical(given, type.getShape(), mesh.mesh) : mesh.replicated(type.getRank());
  }
  Operation *ret = body.getTerminator();
  SmallVector<ShardingAttr> asked;
  for (auto [i, value] : llvm::enumerate(ret->getOperands())) {
    auto given = func.getResultAttrOfType<ShardingAttr>(i, kSharding);
    auto type = dyn_cast<RankedTensorType>(value.getType());
    asked.push_back(given && type ? canonical(given, type.getShape(), mesh.mesh) : ShardingAttr());
    if (asked.back())
      wish(value, asked.back(), true);
  }
  collectWishes(body);
  if (failed(analyze(body)))
    return failure();
  for (auto [value, sharding] : llvm::zip(ret->getOperands(), asked))
    results.push_back(sharding ? sharding : of(value));
  return success();
}
