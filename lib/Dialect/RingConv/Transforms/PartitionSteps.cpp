// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Partitioner, report: each operation as a step with its work and what moves, for
// prices.
#include "Partitioner.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace ringconv;

/// Of the whole operation: points of the iteration space; a window has its outputs
/// times what each reads that is no hole. Operations that only move elements do none.
static double workOf(Operation *op) {
  FailureOr<SmallVector<Factor>> factors = factorsOf(op);
  if (failed(factors) || isa_and_present<tensor::TensorDialect>(op->getDialect()))
    return 0;
  double work = 1;
  for (const Factor &factor : *factors)
    work *= double(factor.size);
  auto windowed = dyn_cast<WindowedOpInterface>(op);
  if (!windowed)
    return work;
  ArrayRef<int64_t> shape = cast<RankedTensorType>(op->getOperand(0).getType()).getShape();
  for (auto [window, d] : llvm::zip(windowed.getWindows(), windowed.getInputWindowDims()))
    work *= double(halo::numOutputs(window, shape[d])) * double(window.size) / double(window.baseDilation);
  return work;
}

void Partitioner::reportValue(Value value, bool throughout) {
  ShardingAttr sharding = analysis.of(value);
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!report.wantsSteps || !sharding || !type)
    return;
  int64_t step = report.steps.size();
  reported[value] = report.values.size();
  report.values.push_back(
      {reportTensor(type, sharding), throughout ? -1 : step - 1, throughout ? INT64_MAX : step - 1});
}

void Partitioner::reportStep(Operation *op, const Decision *decision) {
  // Constants and destinations are no work; they count where they are read.
  bool free =
      op->getNumResults() == 0 || isa<tensor::EmptyOp, linalg::FillOp>(op) || op->hasTrait<OpTrait::ConstantLike>();
  if (!report.wantsSteps || free || !isa<RankedTensorType>(op->getResult(0).getType()))
    return;
  StepReport step;
  step.label = op->getName().getStringRef();
  step.location = locationText(op->getLoc());
  step.work = workOf(op);
  if (isa<WindowedOpInterface>(op) && decision) {
    step.window = report.windows.size() - 1;
    step.label = report.windows.back().label;
  }
  bool reshards = isa<ReshardOp, ReshardLikeOp>(op);
  for (auto [i, operand] : llvm::enumerate(op->getOperands().take_front(reshards ? 1 : op->getNumOperands()))) {
    ShardingAttr is = analysis.of(operand);
    ShardingAttr need = decision ? decision->operands[i] : reshards ? analysis.of(op->getResult(0)) : is;
    auto type = dyn_cast<RankedTensorType>(operand.getType());
    if (!type || !is || isFree(operand))
      continue;
    step.tensors.push_back(reportTensor(type, need ? need : is));
    if (need && need != is)
      step.moves.push_back({reportTensor(type, is), step.tensors.back()});
    if (auto found = reported.find(operand); found != reported.end())
      if (int64_t &end = report.values[found->second].end; end != INT64_MAX)
        end = report.steps.size();
  }
  for (auto [i, result] : llvm::enumerate(op->getResults())) {
    auto type = cast<RankedTensorType>(result.getType());
    ShardingAttr computed = decision ? decision->results[i] : analysis.of(result);
    if (!computed)
      continue;
    step.tensors.push_back(reportTensor(type, computed));
    ++step.results;
    if (ShardingAttr wanted = analysis.of(result); wanted != computed)
      step.moves.push_back({step.tensors.back(), reportTensor(type, wanted)});
  }
  if (decision)
    step.reduceAxes = meshPositions(decision->reduceAxes);
  report.steps.push_back(std::move(step));
  for (Value result : op->getResults())
    reportValue(result, false);
}

void Partitioner::reportReturn(Operation *op) {
  if (!report.wantsSteps)
    return;
  StepReport step;
  step.label = op->getName().getStringRef();
  step.location = locationText(op->getLoc());
  for (auto [i, value] : llvm::enumerate(op->getOperands())) {
    ShardingAttr is = analysis.of(value), wanted = analysis.result(i);
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (is && is != wanted && !isFree(value))
      step.moves.push_back({reportTensor(type, is), reportTensor(type, wanted)});
    if (auto found = reported.find(value); found != reported.end())
      report.values[found->second].end = INT64_MAX;
  }
  if (!step.moves.empty())
    report.steps.push_back(std::move(step));
}
