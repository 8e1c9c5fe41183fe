// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Calls.h"
#include "../Common/Lookup.h"
#include "../Common/BufferCasts.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "ringconv/Runtime/Program.h"

using namespace mlir;
using namespace ringconv;

RuntimeCalls::RuntimeCalls(ModuleOp module, func::FuncOp func)
    : module(module), func(func), b(func.getContext()), loc(func.getLoc()),
      pointer(LLVM::LLVMPointerType::get(func.getContext())), context(func.getArgument(0)) {}

Value RuntimeCalls::i64(int64_t v) { return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(v)); }
Value RuntimeCalls::toI64(Value index) { return arith::IndexCastOp::create(b, loc, b.getI64Type(), index); }

Value RuntimeCalls::call(StringRef name, ArrayRef<Value> args, Type result) {
  SmallVector<Type> results;
  if (result)
    results.push_back(result);
  if (!module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    auto declared = func::FuncOp::create(b, module.getLoc(), name,
                                         b.getFunctionType(TypeRange(ValueRange(args)), results));
    declared.setPrivate();
  }
  auto op = func::CallOp::create(b, loc, name, results, args);
  return result ? op.getResult(0) : Value();
}

/// Scratch memory stands in the entry block: loops reuse it.
Value RuntimeCalls::makeScratch(int64_t elements) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&func.getBody().front());
  return memref::AllocaOp::create(b, loc, MemRefType::get({std::max<int64_t>(elements, 1)}, b.getI64Type()));
}

Value RuntimeCalls::pointerTo(Value scratch) {
  Value address = memref::ExtractAlignedPointerAsIndexOp::create(b, loc, scratch);
  return LLVM::IntToPtrOp::create(b, loc, pointer, toI64(address));
}

Value RuntimeCalls::describe(Value memref, ArrayRef<int64_t> reverse, Value scratch, Value &data) {
  auto type = cast<MemRefType>(memref.getType());
  int64_t rank = type.getRank();
  auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, memref);
  Value offset = toI64(metadata.getOffset());
  for (int64_t d = 0; d < rank; ++d) {
    Value size = toI64(metadata.getSizes()[d]), stride = toI64(metadata.getStrides()[d]);
    if (llvm::is_contained(reverse, d)) {
      Value last = arith::SubIOp::create(b, loc, size, i64(1));
      offset = arith::AddIOp::create(b, loc, offset, arith::MulIOp::create(b, loc, last, stride));
      stride = arith::SubIOp::create(b, loc, i64(0), stride);
    }
    memref::StoreOp::create(b, loc, size, scratch, arith::ConstantIndexOp::create(b, loc, d).getResult());
    memref::StoreOp::create(b, loc, stride, scratch, arith::ConstantIndexOp::create(b, loc, rank + d).getResult());
  }
  Value base = toI64(memref::ExtractAlignedPointerAsIndexOp::create(b, loc, memref));
  Value bytes = arith::MulIOp::create(b, loc, offset, i64(elementBytes(type.getElementType())));
  Value address = arith::AddIOp::create(b, loc, base, bytes);
  data = LLVM::IntToPtrOp::create(b, loc, pointer, address);
  return pointerTo(scratch);
}

void RuntimeCalls::beginGroup(GroupOp, int64_t exchange) {
  call("ringconv_rt_group", {context, i64(exchange)}, b.getI32Type());
}
void RuntimeCalls::postGroup(GroupOp, int64_t exchange) {
  call("ringconv_rt_post", {context, i64(exchange)}, b.getI32Type());
}
void RuntimeCalls::waitGroup(WaitOp, int64_t exchange) {
  call("ringconv_rt_wait", {context, i64(exchange)}, b.getI32Type());
}
void RuntimeCalls::lowerMark(MarkOp op) {
  call(op.getEnd() ? "ringconv_rt_op_end" : "ringconv_rt_op_begin", {context, i64(op.getReport())}, Type());
}

void RuntimeCalls::lowerGroup(GroupOp op) {
  int64_t exchange = nextExchange++;
  if (auto report = op.getReport())
    for (int64_t entry : *report) {
      if (int64_t(exchangeOf.size()) <= entry)
        exchangeOf.resize(entry + 1, -1);
      exchangeOf[entry] = exchange;
    }
  beginGroup(op, exchange);
  // The pieces know their exchange by the attribute that stays with them.
  op.getBody().walk([&](Operation *piece) {
    if (isa<SendOp, RecvOp>(piece))
      piece->setAttr("exchange", b.getI64IntegerAttr(exchange));
  });
  Block *body = &op.getBody().front();
  op->getBlock()->getOperations().splice(Block::iterator(op), body->getOperations());
  b.setInsertionPoint(op);
  postGroup(op, exchange);
  for (Operation *user : llvm::make_early_inc_range(op.getToken().getUsers())) {
    b.setInsertionPoint(user);
    waitGroup(cast<WaitOp>(user), exchange);
    user->erase();
  }
  op.erase();
}

static int64_t exchangeAttr(Operation *op) { return op->getAttrOfType<IntegerAttr>("exchange").getInt(); }

void RuntimeCalls::lowerSend(SendOp op) {
  auto type = cast<MemRefType>(op.getData().getType());
  Value data, shape = describe(op.getData(), {}, makeScratch(2 * type.getRank()), data);
  call("ringconv_rt_send",
       {context, i64(exchangeAttr(op)), toI64(op.getPeer()), data, i64(elementBytes(type.getElementType())),
        i64(type.getRank()), shape},
       b.getI32Type());
}

void RuntimeCalls::lowerRecv(RecvOp op) {
  auto type = cast<MemRefType>(op.getData().getType());
  Value data, shape = describe(op.getData(), op.getReverse(), makeScratch(2 * type.getRank()), data);
  call("ringconv_rt_recv",
       {context, i64(exchangeAttr(op)), toI64(op.getPeer()), data, i64(elementBytes(type.getElementType())),
        i64(type.getRank()), shape, i64(0)},
       b.getI32Type());
}

void RuntimeCalls::lowerCoord(CoordOp op) {
  MeshAttr m = mesh(op, op.getMeshAttr());
  Value part = i64(0);
  for (auto name : op.getAxes().getAsRange<StringAttr>()) {
    int64_t axis = m.axisIndex(name.getValue());
    Value c = call("ringconv_rt_coord", {context, i64(axis)}, b.getI64Type());
    part = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, part, i64(m.getExtents()[axis])), c);
  }
  op.replaceAllUsesWith(arith::IndexCastOp::create(b, loc, b.getIndexType(), part).getResult());
}

static int32_t dtypeOf(Type type) {
  return type.isF64() ? RINGCONV_F64 : type.isF32() ? RINGCONV_F32 : type.isInteger(64) ? RINGCONV_I64 : RINGCONV_I32;
}

int64_t RuntimeCalls::axesMask(ArrayAttr axes, MeshAttr m) {
  int64_t mask = 0;
  for (auto name : axes.getAsRange<StringAttr>())
    mask |= int64_t(1) << m.axisIndex(name.getValue());
  return mask;
}

void RuntimeCalls::lowerAllReduce(AllReduceOp op) {
  auto type = cast<MemRefType>(op.getInit().getType());
  Value data, shape = describe(op.getInit(), {}, makeScratch(2 * type.getRank()), data);
  Value dtype = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(dtypeOf(type.getElementType())));
  call("ringconv_rt_all_reduce",
       {context, i64(nextExchange++), i64(axesMask(op.getAxes(), mesh(op, op.getMeshAttr()))), dtype, data,
        i64(type.getRank()), shape},
       b.getI32Type());
}

ScatterGroup::ScatterGroup(ReduceScatterOp op, MeshAttr mesh) : op(op), mesh(mesh) {
  for (auto [a, name] : llvm::enumerate(mesh.getAxes()))
    if (llvm::is_contained(op.getAxes(), Attribute(name))) {
      axes.push_back(a);
      members *= mesh.getExtents()[a];
    }
}

int64_t ScatterGroup::partOf(int64_t member, DimShardingAttr dim) {
  SmallVector<int64_t> coords(mesh.getExtents().size(), 0);
  for (int64_t a : llvm::reverse(axes)) {
    coords[a] = member % mesh.getExtents()[a];
    member /= mesh.getExtents()[a];
  }
  int64_t part = 0;
  for (StringAttr name : dim.getAxes()) {
    int64_t a = mesh.axisIndex(name.getValue());
    part = part * mesh.getExtents()[a] + coords[a];
  }
  return part;
}

bool ScatterGroup::isCut(int64_t d) { return op.getFrom().dim(d) != op.getTo().dim(d); }

std::vector<halo::Interval> ScatterGroup::parts(int64_t d) {
  halo::Cuts cuts = cutsOf(op.getTo().dim(d), cast<RankedTensorType>(op.getType()).getDimSize(d), mesh);
  std::vector<halo::Interval> intervals;
  for (int64_t member = 0; member < members; ++member)
    intervals.push_back(cuts.part(partOf(member, op.getTo().dim(d))));
  return intervals;
}

/// Takes its wait with it.
void RuntimeCalls::lowerStartReduce(StartReduceOp op) {
  Value exchange = i64(nextExchange++);
  Type element = cast<MemRefType>(op.getInits()[0].getType()).getElementType();
  Value dtype = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(dtypeOf(element)));
  Value axes = i64(axesMask(op.getAxes(), mesh(op, op.getMeshAttr())));
  call("ringconv_rt_sum", {context, exchange, axes, dtype}, b.getI32Type());
  for (Value init : op.getInits()) {
    int64_t rank = cast<MemRefType>(init.getType()).getRank();
    Value data, shape = describe(init, {}, makeScratch(2 * rank), data);
    call("ringconv_rt_sum_tensor", {context, exchange, data, i64(rank), shape}, b.getI32Type());
  }
  call("ringconv_rt_sum_start", {context, exchange}, b.getI32Type());
  for (Operation *wait : llvm::make_early_inc_range(op.getToken().getUsers())) {
    b.setInsertionPoint(wait);
    call("ringconv_rt_sum_wait", {context, exchange}, b.getI32Type());
    wait->erase();
  }
}

/// The boxes of all members of the group, in the order of positions: where the
/// result adds a cut, the member's part of it; else all of the source.
void RuntimeCalls::lowerReduceScatter(ReduceScatterOp op) {
  MeshAttr m = mesh(op, op.getFrom().getMesh());
  auto whole = cast<RankedTensorType>(op.getType());
  int64_t rank = whole.getRank();
  ScatterGroup group(op, m);
  Value boxes = makeScratch(group.members * 2 * rank);
  auto index = [&](int64_t v) { return arith::ConstantIndexOp::create(b, loc, v).getResult(); };
  auto sourceType = cast<MemRefType>(op.getInput().getType());
  for (int64_t d = 0; d < rank; ++d) {
    Value extent = sourceType.isDynamicDim(d) ? toI64(memref::DimOp::create(b, loc, op.getInput(), d))
                                              : i64(sourceType.getDimSize(d));
    std::vector<int64_t> begins, sizes;
    bool isCut = group.isCut(d);
    if (isCut)
      for (halo::Interval box : group.parts(d)) {
        begins.push_back(box.begin);
        sizes.push_back(box.size());
      }
    auto loop = scf::ForOp::create(b, loc, index(0), index(group.members), index(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value member = loop.getInductionVar();
    Value row = arith::MulIOp::create(b, loc, member, index(2 * rank));
    auto store = [&](Value v, int64_t column) {
      memref::StoreOp::create(b, loc, v, boxes, arith::AddIOp::create(b, loc, row, index(column)).getResult());
    };
    auto lookup = [&](const std::vector<int64_t> &values) {
      return toI64(LookupOp::create(b, loc, member, makeTable(b.getContext(), halo::Table::of(values))));
    };
    store(isCut ? lookup(begins) : i64(0), d);
    store(isCut ? lookup(sizes) : extent, rank + d);
  }
  Value source, result, sourceShape = describe(op.getInput(), {}, makeScratch(2 * rank), source);
  Value resultShape = describe(op.getInit(), {}, makeScratch(2 * rank), result);
  Value dtype = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(dtypeOf(whole.getElementType())));
  call("ringconv_rt_reduce_scatter",
       {context, i64(nextExchange++), i64(axesMask(op.getAxes(), m)), dtype, source, sourceShape, result, resultShape,
        i64(rank), pointerTo(boxes)},
       b.getI32Type());
}

void RuntimeCalls::lowerKept(KeptOp op) {
  MemRefType type = op.getBuffer().getType();
  Value answer = makeScratch(2);
  call("ringconv_rt_kept",
       {context, i64(nextKept++), i64(type.getNumElements() * elementBytes(type.getElementType())), pointerTo(answer)},
       b.getI32Type());
  auto number = [&](int64_t i) -> Value {
    return memref::LoadOp::create(b, loc, answer, arith::ConstantIndexOp::create(b, loc, i).getResult());
  };
  Value address = LLVM::IntToPtrOp::create(b, loc, pointer, number(0));
  LLVMTypeConverter converter(b.getContext());
  Value descriptor = MemRefDescriptor::fromStaticShape(b, loc, converter, type, address);
  op.getBuffer().replaceAllUsesWith(UnrealizedConversionCastOp::create(b, loc, type, descriptor).getResult(0));
  op.getFresh().replaceAllUsesWith(arith::CmpIOp::create(b, loc, arith::CmpIPredicate::ne, number(1), i64(0)));
}

bool RuntimeCalls::lower(Operation *op) {
  b.setInsertionPoint(op);
  loc = op->getLoc();
  if (auto group = dyn_cast<GroupOp>(op))
    return lowerGroup(group), true;
  if (auto send = dyn_cast<SendOp>(op))
    lowerSend(send);
  else if (auto recv = dyn_cast<RecvOp>(op))
    lowerRecv(recv);
  else if (auto coord = dyn_cast<CoordOp>(op))
    lowerCoord(coord);
  else if (auto lookup = dyn_cast<LookupOp>(op))
    lookup.replaceAllUsesWith(lowerLookup(b, loc, lookup.getPart(), lookup.getTable()));
  else if (auto reduce = dyn_cast<AllReduceOp>(op))
    lowerAllReduce(reduce);
  else if (auto start = dyn_cast<StartReduceOp>(op))
    lowerStartReduce(start);
  else if (auto scatter = dyn_cast<ReduceScatterOp>(op))
    lowerReduceScatter(scatter);
  else if (auto kept = dyn_cast<KeptOp>(op))
    lowerKept(kept);
  else if (auto mark = dyn_cast<MarkOp>(op))
    lowerMark(mark);
  else if (auto count = dyn_cast<CountOp>(op))
    call("ringconv_rt_count", {context, toI64(count.getMultiplyAdds())}, Type());
  else
    return false;
  op->erase();
  return true;
}
