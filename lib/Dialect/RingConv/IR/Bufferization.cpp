// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One-shot bufferization of the destination-style operations: tensors become
// memrefs, results become their inits, tokens stay.
#include "ringconv/Dialect/RingConv/IR/RingConv.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/IR/BufferizableOpInterface.h"
#include "mlir/Dialect/Bufferization/IR/DstBufferizableOpInterfaceImpl.h"

using namespace mlir;
using namespace mlir::bufferization;
using namespace ringconv;

namespace {
template <typename OpTy>
struct DestinationModel : DstBufferizableOpInterfaceExternalModel<DestinationModel<OpTy>, OpTy> {
  /// Inits are overwritten whole, but for what a wait completes and the summands
  /// of reductions: those must stay in their buffer.
  bool bufferizesToMemoryRead(Operation *op, OpOperand &operand, const AnalysisState &) const {
    if (cast<DestinationStyleOpInterface>(op).isDpsInit(&operand))
      return isa<WaitOp, AllReduceOp, StartReduceOp>(op);
    return true;
  }

  LogicalResult bufferize(Operation *op, RewriterBase &rewriter, const BufferizationOptions &options,
                          BufferizationState &state) const {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    auto dst = cast<DestinationStyleOpInterface>(op);
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      if (!isa<TensorType>(operand.getType())) {
        operands.push_back(operand);
        continue;
      }
      FailureOr<Value> buffer = getBuffer(rewriter, operand, options, state);
      if (failed(buffer))
        return failure();
      operands.push_back(*buffer);
    }
    SmallVector<Type> types;
    for (Type type : op->getResultTypes())
      if (!isa<TensorType>(type))
        types.push_back(type);
    OperationState newOp(op->getLoc(), op->getName(), operands, types, op->getAttrs());
    newOp.propertiesAttr = op->getPropertiesAsAttribute();
    Operation *memrefOp = rewriter.create(newOp);
    SmallVector<Value> replacements;
    unsigned plain = 0, init = 0;
    for (Value result : op->getResults())
      replacements.push_back(isa<TensorType>(result.getType())
                                 ? operands[dst.getDpsInitOperand(init++)->getOperandNumber()]
                                 : Value(memrefOp->getResult(plain++)));
    replaceOpWithBufferizedValues(rewriter, op, replacements);
    return success();
  }
};
} // namespace

void ringconv::registerBufferizationModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *ctx, RingConvDialect *) {
    LocalConvOp::attachInterface<DestinationModel<LocalConvOp>>(*ctx);
    LocalPoolOp::attachInterface<DestinationModel<LocalPoolOp>>(*ctx);
    StartOp::attachInterface<DestinationModel<StartOp>>(*ctx);
    WaitOp::attachInterface<DestinationModel<WaitOp>>(*ctx);
    RedistributeOp::attachInterface<DestinationModel<RedistributeOp>>(*ctx);
    AllReduceOp::attachInterface<DestinationModel<AllReduceOp>>(*ctx);
    StartReduceOp::attachInterface<DestinationModel<StartReduceOp>>(*ctx);
    ReduceScatterOp::attachInterface<DestinationModel<ReduceScatterOp>>(*ctx);
  });
}
