// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// convert-ringconv-to-cudnn.
#include "../Common/BufferCasts.h"
#include "../RingConvToCUDA/DriverCalls.h"
#include "../RingConvToLoops/Loops.h"
#include "ConvOperands.h"
#include "ringconv/Conversion/Passes.h"
#include "ringconv/Runtime/CudaCalls.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace ringconv {
#define GEN_PASS_DEF_CONVERTRINGCONVTOCUDNNPASS
#include "ringconv/Conversion/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

/// Why cuDNN does not do a convolution; empty where it does.
static std::string whyNot(LocalConvOp op, const ConvShape &shape) {
  if (!isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(shape.element))
    return "its elements are no floats";
  if (shape.element != shape.result)
    return "its result is wider than its operands";
  if (shape.dims.empty() || shape.dims.size() > RINGCONV_CONVOLUTION_SPATIAL)
    return "it has " + std::to_string(shape.dims.size()) + " spatial dimensions";
  if (llvm::any_of(shape.dims, [](const ConvDim &dim) { return dim.base != 1; }))
    return "its input is dilated";
  if (!llvm::all_equal(op.getReverse()))
    return "some dimensions are reversed, others are not";
  return "";
}

static int32_t dtypeOf(Type type) {
  return type.isF64() ? RINGCONV_F64 : type.isF32() ? RINGCONV_F32 : type.isF16() ? RINGCONV_F16 : RINGCONV_BF16;
}

namespace {

class CudnnCalls : public DriverCalls {
public:
  CudnnCalls(ModuleOp module, func::FuncOp func, int64_t workspace) : DriverCalls(module, func), workspace(workspace) {}

  /// Leaves what cuDNN does not do; true where it took the operation.
  bool convolve(LocalConvOp op);

private:
  Value describe(LocalConvOp op, const ConvShape &shape, const ConvInput &input, Value filter);

  int64_t workspace;
};

/// A `ringconv_convolution` of the runtime, written field by field.
class Record {
public:
  Record(OpBuilder &b, Location loc, Value memory) : b(b), loc(loc), memory(memory) {}

  void add(OpFoldResult number) {
    Value v = getValueOrCreateConstantIndexOp(b, loc, number);
    memref::StoreOp::create(b, loc, arith::IndexCastOp::create(b, loc, b.getI64Type(), v), memory,
                            arith::ConstantIndexOp::create(b, loc, next++).getResult());
  }
  void add(int64_t number) { add(OpFoldResult(b.getIndexAttr(number))); }
  /// Two numbers and one per spatial dimension; those that are left out are 1.
  void add(OpFoldResult first, OpFoldResult second, ArrayRef<OpFoldResult> spatial) {
    add(first);
    add(second);
    addSpatial(spatial);
  }
  void addSpatial(ArrayRef<OpFoldResult> spatial) {
    for (size_t d = 0; d < RINGCONV_CONVOLUTION_SPATIAL; ++d)
      add(d < spatial.size() ? spatial[d] : OpFoldResult(b.getIndexAttr(1)));
  }

private:
  OpBuilder &b;
  Location loc;
  Value memory;
  int64_t next = 0;
};

} // namespace

/// Extents, then strides, of a buffer whose dimensions have these numbers.
static void addTensor(OpBuilder &b, Location loc, Record &record, Value buffer, ArrayRef<int64_t> dims) {
  ConvBuffer strides = describeBuffer(b, loc, buffer, dims);
  SmallVector<OpFoldResult> sizes = memref::getMixedSizes(b, loc, buffer), spatial;
  for (int64_t d : spatialDims(dims))
    spatial.push_back(sizes[d]);
  record.add(sizes[dimOf(dims, kBatch)], sizes[dimOf(dims, kFeature)], spatial);
  record.add(strides.batch, strides.feature, strides.spatial);
}

Value CudnnCalls::describe(LocalConvOp op, const ConvShape &shape, const ConvInput &input, Value filter) {
  Value memory = makeScratch(sizeof(ringconv_convolution) / sizeof(int64_t));
  Record record(b, loc, memory);
  record.add(dtypeOf(shape.element));
  record.add(shape.dims.size());
  record.add(shape.groups);
  record.add(op.getReverse()[0]);
  record.add(hasFeaturesLast(op));
  addTensor(b, loc, record, input.buffer, op.getInputDims());
  SmallVector<OpFoldResult> taps, strides, dilations, padding;
  for (auto [dim, pad] : llvm::zip(shape.dims, input.padding)) {
    taps.push_back(b.getIndexAttr(dim.taps));
    strides.push_back(b.getIndexAttr(dim.stride));
    dilations.push_back(b.getIndexAttr(dim.dilation));
    padding.push_back(b.getIndexAttr(pad));
  }
  record.add(memref::getMixedSize(b, loc, filter, 0), b.getIndexAttr(shape.features), taps);
  addTensor(b, loc, record, op.getInit(), op.getOutputDims());
  record.addSpatial(strides);
  record.addSpatial(dilations);
  record.addSpatial(padding);
  return pointerTo(memory);
}

bool CudnnCalls::convolve(LocalConvOp op) {
  b.setInsertionPoint(op);
  loc = op.getLoc();
  std::string reason;
  std::optional<ConvShape> shape = describeConv(b, op, reason);
  if (shape)
    reason = whyNot(op, *shape);
  if (!reason.empty()) {
    op.emitRemark() << "not by cuDNN: " << reason;
    return false;
  }
  markWork(op, op.getReportAttr());
  b.setInsertionPoint(op);
  ConvInput input = makeConvInput(op, *shape);
  Value filter = makeConvFilter(op);
  Value bias = op.getBias(), memory;
  if (workspace)
    memory = memref::AllocOp::create(b, loc, MemRefType::get({workspace}, b.getI8Type()));
  SmallVector<Value> used, arguments{context, describe(op, *shape, input, filter)};
  for (Value buffer : {input.buffer, filter, bias, Value(op.getInit()), memory}) {
    arguments.push_back(buffer ? pointerOf(b, loc, buffer) : LLVM::ZeroOp::create(b, loc, pointer).getResult());
    if (buffer)
      used.push_back(buffer);
  }
  arguments.append({i64(workspace), place()});
  call("ringconv_cuda_convolve", arguments, b.getI32Type());
  KeepOp::create(b, loc, used);
  op.emitRemark() << "by cuDNN" << (input.copied ? ", its input copied together with its halos" : "")
                  << (filter != op.getFilter() ? ", its filter copied" : "");
  op.erase();
  return true;
}

namespace {
struct ConvertRingConvToCuDNNPass : ringconv::impl::ConvertRingConvToCuDNNPassBase<ConvertRingConvToCuDNNPass> {
  using ConvertRingConvToCuDNNPassBase::ConvertRingConvToCuDNNPassBase;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    bool any = false;
    for (func::FuncOp func : llvm::to_vector(module.getOps<func::FuncOp>())) {
      if (func.isExternal() || func.isPrivate())
        continue;
      SmallVector<LocalConvOp> ops;
      func.walk([&](LocalConvOp op) { ops.push_back(op); });
      if (ops.empty())
        continue;
      if (func.getNumArguments() == 0 || !isa<LLVM::LLVMPointerType>(func.getArgument(0).getType())) {
        func.emitError() << "@" << func.getSymName() << " has no context: convert-ringconv-to-nccl must run first";
        return signalPassFailure();
      }
      CudnnCalls calls(module, func, workspace);
      for (LocalConvOp op : ops)
        any |= calls.convolve(op);
    }
    if (any)
      module->setAttr("ringconv.cudnn", UnitAttr::get(&getContext()));
  }
};
} // namespace
