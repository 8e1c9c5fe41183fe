// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "NCCLCalls.h"
#include "../Common/BufferCasts.h"
#include "../Common/RankValues.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ringconv;

/// ncclDataType_t and ncclRedOp_t, as nccl.h numbers them.
enum { kNCCLInt8 = 0, kNCCLInt32 = 2, kNCCLInt64 = 4, kNCCLFloat32 = 7, kNCCLFloat64 = 8, kNCCLSum = 0 };

/// What packed messages and the pieces of a rank for itself are aligned to.
static constexpr int64_t kMessageAlignment = 16;

static int64_t ncclType(Type type) {
  if (type.isF64())
    return kNCCLFloat64;
  if (type.isF32())
    return kNCCLFloat32;
  return type.isInteger(64) ? kNCCLInt64 : kNCCLInt32;
}

// ===--------------------------------------------------------------------=== //
// Groups
// ===--------------------------------------------------------------------=== //

Value NCCLCalls::event(int64_t exchange, int64_t which) {
  return call("ringconv_cuda_event", {context, i64(2 * exchange + which)}, pointer);
}

void NCCLCalls::ifAny(Value count, llvm::function_ref<void()> body) {
  Value some = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::sgt, count, i64(0));
  auto branch = scf::IfOp::create(b, loc, some, false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  body();
}

/// Bytes for all pieces of the group, on the rank that has most.
int64_t NCCLCalls::stagingBytes(GroupOp op) {
  MeshAttr m = (*module.getOps<MeshOp>().begin()).getMesh();
  auto bytes = largestOverRanks(m, [&](RankValues &values) -> std::optional<int64_t> {
    int64_t sum = 0;
    bool known = values.run(op, [&](Operation *piece) {
      Value data = piece->getOperand(0);
      auto elements = values.elements(data);
      if (elements)
        sum += llvm::alignTo(*elements * elementBytes(cast<MemRefType>(data.getType()).getElementType()),
                             kMessageAlignment);
      return elements.has_value();
    });
    return known ? std::optional(sum) : std::nullopt;
  });
  if (bytes)
    return *bytes;
  op.emitError() << "the sizes of these messages do not follow from the ranks' coordinates";
  failed = true;
  return 0;
}

void NCCLCalls::beginGroup(GroupOp op, int64_t exchange) {
  auto type = MemRefType::get({stagingBytes(op)}, b.getI8Type());
  staging[exchange] = memref::AllocOp::create(b, loc, type);
  RuntimeCalls::beginGroup(op, exchange);
}

void NCCLCalls::onCommunicationStream(int64_t exchange, llvm::function_ref<void(Value)> body) {
  Value ready = event(exchange, 0), communication = stream(Stream::Communication);
  status("cuEventRecord", {ready, stream(Stream::Compute)});
  status("cuStreamWaitEvent", {communication, ready, i32(0)});
  body(communication);
  status("cuEventRecord", {event(exchange, 1), communication});
}

void NCCLCalls::waitForArrival(int64_t exchange) {
  status("cuStreamWaitEvent", {stream(Stream::Compute), event(exchange, 1), i32(0)});
}

/// One send or receive for each peer.
void NCCLCalls::emitMessages(int64_t exchange, Value count) {
  onCommunicationStream(exchange, [&](Value stream) {
    Value world = call("ringconv_cuda_communicator", {context, i64(0)}, pointer);
    status("ncclGroupStart", {});
    auto index = [&](int64_t v) { return arith::ConstantIndexOp::create(b, loc, v).getResult(); };
    Value end = arith::IndexCastOp::create(b, loc, b.getIndexType(), count);
    auto loop = scf::ForOp::create(b, loc, index(0), end, index(1));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value number = toI64(loop.getInductionVar()), ex = i64(exchange);
    Value data = call("ringconv_cuda_message_data", {context, ex, number}, pointer);
    Value bytes = call("ringconv_cuda_message_bytes", {context, ex, number}, b.getI64Type());
    Value peer = call("ringconv_cuda_message_peer", {context, ex, number}, b.getI64Type());
    peer = arith::TruncIOp::create(b, loc, b.getI32Type(), peer);
    Value receives = call("ringconv_cuda_message_receives", {context, ex, number}, b.getI1Type());
    auto branch = scf::IfOp::create(b, loc, receives, true);
    b.setInsertionPointToStart(branch.thenBlock());
    status("ncclRecv", {data, bytes, i32(kNCCLInt8), peer, world, stream});
    b.setInsertionPointToStart(branch.elseBlock());
    status("ncclSend", {data, bytes, i32(kNCCLInt8), peer, world, stream});
    b.setInsertionPointAfter(loop);
    status("ncclGroupEnd", {});
  });
}

void NCCLCalls::postGroup(GroupOp op, int64_t exchange) {
  Value memory = staging[exchange];
  int64_t bytes = cast<MemRefType>(memory.getType()).getDimSize(0);
  call("ringconv_cuda_pack", {context, i64(exchange), pointerOf(b, loc, memory), i64(bytes)}, b.getI32Type());
  Value count = call("ringconv_cuda_messages", {context, i64(exchange)}, b.getI64Type());
  ifAny(count, [&] { emitMessages(exchange, count); });
}

void NCCLCalls::waitGroup(WaitOp op, int64_t exchange) {
  Value count = call("ringconv_cuda_messages", {context, i64(exchange)}, b.getI64Type());
  ifAny(count, [&] { waitForArrival(exchange); });
  call("ringconv_cuda_unpack", {context, i64(exchange)}, b.getI32Type());
  SmallVector<Value> memory{staging[exchange]};
  for (Value operand : op->getOperands())
    if (isa<MemRefType>(operand.getType()))
      memory.push_back(operand);
  KeepOp::create(b, loc, memory);
}

// ===--------------------------------------------------------------------=== //
// Sums
// ===--------------------------------------------------------------------=== //

Value NCCLCalls::communicator(ArrayAttr axes, MeshAttr mesh) {
  int64_t mask = axesMask(axes, mesh);
  auto it = llvm::find(sums, mask);
  int64_t number = it - sums.begin();
  if (it == sums.end())
    sums.push_back(mask);
  return call("ringconv_cuda_communicator", {context, i64(1 + number)}, pointer);
}

static Value elementsOf(OpBuilder &b, Location loc, Value memref) {
  Value product = arith::ConstantIndexOp::create(b, loc, 1);
  for (OpFoldResult size : memref::getMixedSizes(b, loc, memref))
    product = arith::MulIOp::create(b, loc, product, getValueOrCreateConstantIndexOp(b, loc, size));
  return product;
}

static Value allocate(OpBuilder &b, Location loc, ArrayRef<OpFoldResult> sizes, Type element) {
  SmallVector<Value> dynamic;
  SmallVector<int64_t> shape;
  dispatchIndexOpFoldResults(sizes, dynamic, shape);
  return memref::AllocOp::create(b, loc, MemRefType::get(shape, element), dynamic);
}

/// NCCL sums dense memory.
Value NCCLCalls::makeDense(Value memref) {
  auto type = cast<MemRefType>(memref.getType());
  if (type.getLayout().isIdentity())
    return memref;
  Value dense = allocate(b, loc, memref::getMixedSizes(b, loc, memref), type.getElementType());
  memref::CopyOp::create(b, loc, memref, dense);
  return dense;
}

/// All members have the same shards: either all of them have elements or none.
NCCLCalls::Sums NCCLCalls::startSums(ValueRange tensors, ArrayAttr axes, MeshAttr mesh) {
  Sums sums{nextExchange++, {}, llvm::to_vector(tensors), {}};
  Value all;
  SmallVector<Value> counts;
  for (Value tensor : tensors) {
    sums.dense.push_back(makeDense(tensor));
    counts.push_back(toI64(elementsOf(b, loc, sums.dense.back())));
    all = all ? arith::AddIOp::create(b, loc, all, counts.back()).getResult() : counts.back();
  }
  sums.count = all;
  Value group = communicator(axes, mesh);
  call("ringconv_cuda_count_reduction", {context, i64(sums.exchange)}, Type());
  ifAny(all, [&] {
    onCommunicationStream(sums.exchange, [&](Value stream) {
      auto sum = [&](Value dense, Value count) {
        Value data = pointerOf(b, loc, dense);
        int64_t type = ncclType(cast<MemRefType>(dense.getType()).getElementType());
        status("ncclAllReduce", {data, data, count, i32(type), i32(kNCCLSum), group, stream});
      };
      if (tensors.size() == 1)
        return sum(sums.dense[0], all);
      status("ncclGroupStart", {});
      for (auto [dense, count] : llvm::zip(sums.dense, counts))
        ifAny(count, [&, dense = dense, count = count] { sum(dense, count); });
      status("ncclGroupEnd", {});
    });
  });
  return sums;
}

void NCCLCalls::finishSums(const Sums &sums) {
  ifAny(sums.count, [&] { waitForArrival(sums.exchange); });
  SmallVector<Value> memory(sums.dense);
  for (auto [dense, tensor] : llvm::zip(sums.dense, sums.tensors)) {
    if (dense != tensor)
      memref::CopyOp::create(b, loc, dense, tensor);
    memory.push_back(tensor);
  }
  KeepOp::create(b, loc, memory);
}

/// The sum of one rank is what it has.
static bool isAlone(ArrayAttr axes, MeshAttr mesh) {
  return mesh.parts(llvm::to_vector(axes.getAsRange<StringAttr>())) == 1;
}

void NCCLCalls::lowerAllReduce(AllReduceOp op) {
  if (isAlone(op.getAxes(), mesh(op, op.getMeshAttr())))
    return;
  Value init = op.getInit();
  finishSums(startSums(init, op.getAxes(), mesh(op, op.getMeshAttr())));
}

/// Takes its wait with it.
void NCCLCalls::lowerStartReduce(StartReduceOp op) {
  MeshAttr m = mesh(op, op.getMeshAttr());
  bool alone = isAlone(op.getAxes(), m);
  Sums sums = alone ? Sums{} : startSums(op.getInits(), op.getAxes(), m);
  for (Operation *wait : llvm::make_early_inc_range(op.getToken().getUsers())) {
    b.setInsertionPoint(wait);
    if (!alone)
      finishSums(sums);
    wait->erase();
  }
}

/// The boxes of all members one after the other, each in a block of the size of
/// the largest; what a block has beyond its box are zeros.
Value NCCLCalls::packForScatter(ReduceScatterOp op, ScatterGroup &group, ArrayRef<OpFoldResult> block) {
  Type element = cast<MemRefType>(op.getInput().getType()).getElementType();
  int64_t rank = block.size();
  SmallVector<OpFoldResult> sizes{b.getIndexAttr(group.members)};
  llvm::append_range(sizes, block);
  Value packed = allocate(b, loc, sizes, element);
  bool padded = false;
  auto index = [&](int64_t v) { return arith::ConstantIndexOp::create(b, loc, v).getResult(); };
  auto loop = scf::ForOp::create(b, loc, index(0), index(group.members), index(1));
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    Value member = loop.getInductionVar();
    SmallVector<OpFoldResult> from(rank, b.getIndexAttr(0)), box(block), ones(rank, b.getIndexAttr(1));
    for (int64_t d = 0; d < rank; ++d) {
      if (!group.isCut(d))
        continue;
      std::vector<int64_t> begins, extents;
      for (halo::Interval part : group.parts(d)) {
        begins.push_back(part.begin);
        extents.push_back(part.size());
      }
      auto lookup = [&](const std::vector<int64_t> &values) -> OpFoldResult {
        TableAttr table = makeTable(b.getContext(), halo::Table::of(values));
        if (auto constant = table.constant())
          return b.getIndexAttr(*constant);
        return LookupOp::create(b, loc, member, table).getResult();
      };
      from[d] = lookup(begins);
      box[d] = lookup(extents);
      padded |= isa<Value>(box[d]);
    }
    Value source = memref::SubViewOp::create(b, loc, op.getInput(), from, box, ones);
    SmallVector<OpFoldResult> at(rank + 1, b.getIndexAttr(0)), one(rank + 1, b.getIndexAttr(1)),
        size{b.getIndexAttr(1)};
    at[0] = member;
    llvm::append_range(size, box);
    auto type = memref::SubViewOp::inferRankReducedResultType(cast<MemRefType>(source.getType()).getShape(),
                                                              cast<MemRefType>(packed.getType()), at, size, one);
    memref::CopyOp::create(b, loc, source,
                           memref::SubViewOp::create(b, loc, cast<MemRefType>(type), packed, at, size, one));
  }
  if (padded) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(loop);
    Value zero = arith::ConstantOp::create(b, loc, b.getZeroAttr(element));
    linalg::FillOp::create(b, loc, zero, packed);
  }
  return packed;
}

void NCCLCalls::lowerReduceScatter(ReduceScatterOp op) {
  MeshAttr m = mesh(op, op.getFrom().getMesh());
  ScatterGroup group(op, m);
  if (group.members == 1) {
    memref::CopyOp::create(b, loc, op.getInput(), op.getInit());
    return;
  }
  int64_t exchange = nextExchange++;
  Type element = cast<MemRefType>(op.getInput().getType()).getElementType();
  SmallVector<OpFoldResult> block = memref::getMixedSizes(b, loc, op.getInput());
  for (size_t d = 0; d < block.size(); ++d) {
    int64_t largest = 0;
    if (!group.isCut(d))
      continue;
    for (halo::Interval part : group.parts(d))
      largest = std::max(largest, part.size());
    block[d] = b.getIndexAttr(largest);
  }
  Value packed = packForScatter(op, group, block), received = allocate(b, loc, block, element);
  Value count = toI64(elementsOf(b, loc, received));
  Value source = pointerOf(b, loc, packed), target = pointerOf(b, loc, received);
  Value comm = communicator(op.getAxes(), m);
  call("ringconv_cuda_count_reduction", {context, i64(exchange)}, Type());
  ifAny(count, [&] {
    onCommunicationStream(exchange, [&](Value stream) {
      status("ncclReduceScatter", {source, target, count, i32(ncclType(element)), i32(kNCCLSum), comm, stream});
    });
    waitForArrival(exchange);
  });
  SmallVector<OpFoldResult> zeros(block.size(), b.getIndexAttr(0)), ones(block.size(), b.getIndexAttr(1));
  Value mine = memref::SubViewOp::create(b, loc, received, zeros, memref::getMixedSizes(b, loc, op.getInit()), ones);
  memref::CopyOp::create(b, loc, mine, op.getInit());
  KeepOp::create(b, loc, ValueRange{packed, received});
}
