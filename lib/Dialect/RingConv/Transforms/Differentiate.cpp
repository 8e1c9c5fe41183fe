// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-differentiate: a function's vector-Jacobian product, by reverse
// accumulation over its one block.
#include "Differentiate.h"
#include "Inline.h"
#include "ShardingAnalysis.h"
#include "ringconv/Dialect/RingConv/Transforms/Partition.h"
#include "ringconv/Dialect/RingConv/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

namespace ringconv {
#define GEN_PASS_DEF_DIFFERENTIATEPASS
#include "ringconv/Dialect/RingConv/Transforms/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

static bool isFloat(Value value) { return isa<FloatType>(getElementTypeOrSelf(value.getType())); }

LogicalResult ringconv::noRule(Operation *op, const Twine &why) {
  return op->emitOpError() << "has no gradient: " << why;
}

// ===--------------------------------------------------------------------=== //
// Reverse accumulation
// ===--------------------------------------------------------------------=== //

void Gradients::follow(Block &block, ArrayRef<Value> sources) {
  wanted.insert(sources.begin(), sources.end());
  for (Operation &op : block) {
    bool depends = false;
    op.walk(
        [&](Operation *inner) { depends |= llvm::any_of(inner->getOperands(), [&](Value v) { return wants(v); }); });
    for (Value result : op.getResults())
      if (depends && isFloat(result))
        wanted.insert(result);
  }
}

void Gradients::add(Value value, Value gradient) {
  if (!wants(value))
    return;
  Value &sum = gradients[value];
  sum = sum ? arith::AddFOp::create(b, loc, sum, gradient).getResult() : gradient;
}

void Gradients::addLike(Value value, Value gradient) {
  if (wants(value))
    add(value, ReshardLikeOp::create(b, loc, gradient, value));
}

static LogicalResult applyRule(Operation *op, Value dy, Gradients &gradients) {
  return TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](ConvOp conv) { return pullBack(conv, dy, gradients); })
      .Case([&](PoolOp pool) { return pullBack(pool, dy, gradients); })
      .Case([&](ReshardOp reshard) { return gradients.addLike(reshard.getInput(), dy), success(); })
      .Case([&](linalg::LinalgOp linalgOp) { return pullBack(linalgOp, gradients); })
      .Default([&](Operation *) {
        if (OpTrait::hasElementwiseMappableTraits(op))
          return pullBackScalar(op, dy, gradients);
        return pullBackTensor(op, dy, gradients);
      });
}

LogicalResult Gradients::run(Block &block) {
  SmallVector<Operation *> ops;
  for (Operation &op : block)
    ops.push_back(&op);
  for (Operation *op : llvm::reverse(ops)) {
    bool flows = llvm::any_of(op->getResults(), [&](Value v) { return of(v) != Value(); });
    if (!flows)
      continue;
    loc = op->getLoc();
    if (failed(applyRule(op, of(op->getResult(0)), *this)))
      return failure();
  }
  return success();
}

// ===--------------------------------------------------------------------=== //
// The gradient function
// ===--------------------------------------------------------------------=== //

namespace {
struct DifferentiatePass : ringconv::impl::DifferentiatePassBase<DifferentiatePass> {
  using DifferentiatePassBase::DifferentiatePassBase;

  void runOnOperation() override {
    FailureOr<func::FuncOp> func = findEntry();
    if (failed(func) || failed(differentiate(*func)))
      signalPassFailure();
  }

private:
  FailureOr<func::FuncOp> findEntry();
  LogicalResult differentiate(func::FuncOp func);
  FailureOr<SmallVector<Value>> findSources(func::FuncOp func);
  LogicalResult addResultGradients(func::FuncOp func);
  void returnGradients(func::FuncOp func, ArrayRef<Value> sources, Gradients &gradients);
};
} // namespace

/// `entry`; left out: main, else the only public function.
FailureOr<func::FuncOp> DifferentiatePass::findEntry() {
  SmallVector<func::FuncOp> all;
  for (func::FuncOp func : getOperation().getOps<func::FuncOp>())
    if (func.isPublic() && !func.isExternal())
      all.push_back(func);
  StringRef name = entry.empty() ? StringRef("main") : StringRef(entry);
  for (func::FuncOp func : all)
    if (func.getSymName() == name)
      return func;
  if (entry.empty() && all.size() == 1)
    return all.front();
  auto diag = getOperation().emitError() << "no public function @" << name << " to differentiate; there are";
  for (func::FuncOp func : all)
    diag << " @" << func.getSymName();
  if (all.empty())
    diag << " none";
  return failure();
}

/// The arguments whose gradients are wanted: those that say so, else all floats.
FailureOr<SmallVector<Value>> DifferentiatePass::findSources(func::FuncOp func) {
  SmallVector<Value> marked, floats;
  for (auto [i, arg] : llvm::enumerate(func.getArguments())) {
    bool isTensor = isa<RankedTensorType>(arg.getType()) && isFloat(arg);
    if (isTensor)
      floats.push_back(arg);
    if (!func.getArgAttr(i, kWantsGrad))
      continue;
    func.removeArgAttr(i, kWantsGrad);
    if (!isTensor)
      return func.emitError() << "argument " << i << " wants a gradient but is no float tensor: " << arg.getType(),
             failure();
    marked.push_back(arg);
  }
  return marked.empty() ? floats : marked;
}

/// An argument more for each float result, cut as it.
LogicalResult DifferentiatePass::addResultGradients(func::FuncOp func) {
  FailureOr<MeshOp> mesh = findMesh(getOperation());
  if (failed(mesh))
    return failure();
  SmallVector<ShardingAttr> shardings(func.getNumResults());
  if (*mesh) {
    MeshContext context{FlatSymbolRefAttr::get(*mesh), (*mesh).getMesh()};
    ShardingAnalysis analysis(func, context);
    if (failed(analysis.run()))
      return failure();
    for (unsigned i = 0; i < func.getNumResults(); ++i) {
      auto given = func.getResultAttrOfType<ShardingAttr>(i, kSharding);
      shardings[i] = given ? given : analysis.result(i);
    }
  }
  for (auto [i, type] : llvm::enumerate(func.getResultTypes())) {
    if (!isa<RankedTensorType>(type) || !isa<FloatType>(getElementTypeOrSelf(type)))
      continue;
    NamedAttrList attrs;
    if (shardings[i])
      attrs.set(kSharding, shardings[i]);
    if (auto name = func.getResultAttrOfType<StringAttr>(i, kName))
      attrs.set(kName, StringAttr::get(&getContext(), "grad_" + name.getValue()));
    if (failed(func.insertArgument(func.getNumArguments(), type, attrs.getDictionary(&getContext()), func.getLoc())))
      return failure();
  }
  return success();
}

/// Each gradient is cut as its argument: by its attribute, or not at all.
void DifferentiatePass::returnGradients(func::FuncOp func, ArrayRef<Value> sources, Gradients &gradients) {
  Operation *ret = func.getBody().front().getTerminator();
  SmallVector<Value> values;
  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attrs;
  for (unsigned i = 0; train && i < func.getNumResults(); ++i) {
    values.push_back(ret->getOperand(i));
    types.push_back(values.back().getType());
    attrs.push_back(func.getResultAttrDict(i));
  }
  MeshOp mesh = *findMesh(getOperation());
  for (Value source : sources) {
    unsigned i = cast<BlockArgument>(source).getArgNumber();
    auto type = cast<RankedTensorType>(source.getType());
    Value gradient = gradients.of(source);
    values.push_back(gradient ? gradient : makeConstant(gradients.b, func.getLoc(), type, 0));
    types.push_back(type);
    NamedAttrList list;
    auto sharding = func.getArgAttrOfType<ShardingAttr>(i, kSharding);
    if (mesh)
      list.set(kSharding, sharding ? sharding : ShardingAttr::replicated(FlatSymbolRefAttr::get(mesh), type.getRank()));
    if (auto name = func.getArgAttrOfType<StringAttr>(i, kName))
      list.set(kName, StringAttr::get(&getContext(), "grad_" + name.getValue()));
    attrs.push_back(list.getDictionary(&getContext()));
  }
  ret->setOperands(values);
  func.setFunctionType(FunctionType::get(&getContext(), func.getArgumentTypes(), types));
  func.setAllResultAttrs(attrs);
}

/// What nothing needs any more, above all the end of the forward computation.
static void eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}

LogicalResult DifferentiatePass::differentiate(func::FuncOp original) {
  std::string name = (original.getSymName() + (train ? "_train" : "_grad")).str();
  if (getOperation().lookupSymbol(name))
    return original.emitError() << "@" << name << " is there already";
  if (!original.getBody().hasOneBlock())
    return original.emitError() << "@" << original.getSymName() << " must have one block; write branches as scf";
  auto func = cast<func::FuncOp>(original->clone());
  func.setSymName(name);
  getOperation().insert(std::next(original->getIterator()), func);
  FailureOr<SmallVector<Value>> sources = failure();
  if (failed(inlineCallsOf(func)) || failed(sources = findSources(func)))
    return failure();
  unsigned first = func.getNumArguments();
  if (failed(addResultGradients(func)))
    return failure();
  Block &block = func.getBody().front();
  OpBuilder builder(block.getTerminator());
  Gradients gradients(builder, func.getLoc());
  gradients.follow(block, *sources);
  for (Value value : block.getTerminator()->getOperands())
    if (isa<RankedTensorType>(value.getType()) && isFloat(value))
      gradients.add(value, func.getArgument(first++));
  if (failed(gradients.run(block)))
    return failure();
  returnGradients(func, *sources, gradients);
  eraseDead(block);
  return success();
}
