// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Groups: the region becomes isends and irecvs at its place; at the wait come
// the waits of all requests, then the region once more, of which only the
// branches around receives and the unpacking are left.
//
// A request cannot leave out that it is none: MPI_REQUEST_NULL has no operation.
// A branch that takes no part sends itself an empty message instead, under a tag
// of its own.
#include "MPI.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MPI/IR/MPI.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace ringconv;

static bool hasPieces(Operation *op) {
  return op
      ->walk(
          [](Operation *inner) { return isa<SendOp, RecvOp>(inner) ? WalkResult::interrupt() : WalkResult::advance(); })
      .wasInterrupted();
}

void MPICalls::postSend(SendOp op, IRMapping &map, Pieces &pieces) {
  Value data = map.lookupOrDefault(op.getData()), to = rankOf(map.lookupOrDefault(op.getPeer()));
  SmallVector<Value> sizes = sizesOf(data);
  Value buffer = allocate(sizes, cast<MemRefType>(data.getType()).getElementType());
  copy(data, view(buffer, sizes));
  auto request = mpi::RequestType::get(b.getContext());
  auto send = mpi::ISendOp::create(b, loc, Type(), request, buffer, tag, to, world);
  pieces.push_back({send.getReq(), buffer});
}

void MPICalls::postRecv(RecvOp op, IRMapping &map, Pieces &pieces) {
  Value data = map.lookupOrDefault(op.getData()), from = rankOf(map.lookupOrDefault(op.getPeer()));
  SmallVector<Value> sizes = sizesOf(data);
  Value buffer = allocate(sizes, cast<MemRefType>(data.getType()).getElementType());
  auto request = mpi::RequestType::get(b.getContext());
  auto recv = mpi::IRecvOp::create(b, loc, Type(), request, buffer, tag, from, world);
  pieces.push_back({recv.getReq(), buffer});
}

MPICalls::Piece MPICalls::postNothing(Operation *piece) {
  auto type = cast<MemRefType>(piece->getOperand(0).getType());
  Value empty = allocate({index(0)}, type.getElementType());
  auto request = mpi::RequestType::get(b.getContext());
  Value recv = mpi::IRecvOp::create(b, loc, Type(), request, empty, emptyTag, rank, world).getReq();
  Value send = mpi::ISendOp::create(b, loc, Type(), request, empty, emptyTag, rank, world).getReq();
  // One of the two stands for the piece, the other ends here.
  bool sends = isa<SendOp>(piece);
  mpi::Wait::create(b, loc, Type(), sends ? recv : send);
  return {sends ? send : recv, empty};
}

LogicalResult MPICalls::postIf(Operation *op, IRMapping &map, Pieces &pieces) {
  auto branch = cast<scf::IfOp>(op);
  if (branch.getNumResults() || !branch.getElseRegion().empty())
    return branch.emitOpError() << "in a group: expected neither results nor else";
  SmallVector<Operation *> inside;
  branch.walk([&](Operation *inner) {
    if (isa<SendOp, RecvOp>(inner))
      inside.push_back(inner);
  });
  SmallVector<Type> types;
  for (Operation *piece : inside) {
    Type element = cast<MemRefType>(piece->getOperand(0).getType()).getElementType();
    types.append({mpi::RequestType::get(b.getContext()), MemRefType::get({ShapedType::kDynamic}, element)});
  }
  auto made = scf::IfOp::create(b, loc, types, map.lookupOrDefault(branch.getCondition()), true, true);
  auto yield = [&](ArrayRef<Piece> posted) {
    SmallVector<Value> values;
    for (const Piece &piece : posted)
      values.append({piece.request, piece.buffer});
    scf::YieldOp::create(b, loc, values);
  };
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(made.thenBlock());
  Pieces posted;
  if (failed(post(*branch.thenBlock(), map, posted)))
    return failure();
  yield(posted);
  b.setInsertionPointToStart(made.elseBlock());
  posted.clear();
  for (Operation *piece : inside)
    posted.push_back(postNothing(piece));
  yield(posted);
  for (unsigned i = 0; i < inside.size(); ++i)
    pieces.push_back({made.getResult(2 * i), made.getResult(2 * i + 1)});
  return success();
}

/// A loop over the ranks, each step the messages with one of them, completed in
/// the step. Ranks go through their partners in ascending order, so that pairs
/// of ranks meet in one order of all pairs: none waits for another in a circle.
LogicalResult MPICalls::postFor(Operation *op, IRMapping &map) {
  auto loop = cast<scf::ForOp>(op);
  if (!loop.getInitArgs().empty())
    return loop.emitOpError() << "in a group: expected no carried values";
  auto made = scf::ForOp::create(b, loc, map.lookupOrDefault(loop.getLowerBound()),
                                 map.lookupOrDefault(loop.getUpperBound()), map.lookupOrDefault(loop.getStep()));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(made.getBody());
  map.map(loop.getInductionVar(), made.getInductionVar());
  Pieces pieces;
  if (failed(post(*loop.getBody(), map, pieces)))
    return failure();
  complete(*loop.getBody(), map, pieces);
  return success();
}

LogicalResult MPICalls::post(Block &from, IRMapping &map, Pieces &pieces) {
  for (Operation &op : from) {
    if (auto send = dyn_cast<SendOp>(op)) {
      postSend(send, map, pieces);
    } else if (auto recv = dyn_cast<RecvOp>(op)) {
      postRecv(recv, map, pieces);
    } else if (isa<scf::YieldOp>(op)) {
      continue;
    } else if (!hasPieces(&op)) {
      b.clone(op, map);
    } else if (isa<scf::IfOp>(op) ? failed(postIf(&op, map, pieces))
                                  : !isa<scf::ForOp>(op) || failed(postFor(&op, map))) {
      if (!isa<scf::IfOp, scf::ForOp>(op))
        op.emitOpError() << "in a group: expected scf.if or scf.for around pieces";
      return failure();
    }
  }
  return success();
}

/// `pieces` loses those that the block has, in their order.
void MPICalls::unpack(Block &from, IRMapping &map, ArrayRef<Piece> &pieces) {
  for (Operation &op : from) {
    if (isa<SendOp>(op)) {
      pieces = pieces.drop_front();
    } else if (auto recv = dyn_cast<RecvOp>(op)) {
      Value data = map.lookupOrDefault(recv.getData());
      copy(view(pieces.front().buffer, sizesOf(data), recv.getReverse()), data);
      pieces = pieces.drop_front();
    } else if (isa<scf::YieldOp>(op) || (isa<scf::ForOp>(op) && hasPieces(&op))) {
      continue; // a loop has completed its own
    } else if (auto branch = dyn_cast<scf::IfOp>(op); branch && hasPieces(&op)) {
      auto made = scf::IfOp::create(b, loc, map.lookupOrDefault(branch.getCondition()), false);
      OpBuilder::InsertionGuard guard(b);
      b.setInsertionPointToStart(made.thenBlock());
      unpack(*branch.thenBlock(), map, pieces);
    } else {
      b.clone(op, map);
    }
  }
}

void MPICalls::complete(Block &from, IRMapping &map, ArrayRef<Piece> pieces) {
  for (const Piece &piece : pieces)
    mpi::Wait::create(b, loc, Type(), piece.request);
  ArrayRef<Piece> left = pieces;
  unpack(from, map, left);
  for (const Piece &piece : pieces)
    memref::DeallocOp::create(b, loc, piece.buffer);
}

LogicalResult MPICalls::lowerGroup(GroupOp op) {
  loc = op.getLoc();
  b.setInsertionPoint(op);
  auto number = [&](int64_t value) -> Value { return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(value)); };
  tag = number(2 * nextTag);
  emptyTag = number(2 * nextTag++ + 1);
  Block &body = op.getBody().front();
  IRMapping posted;
  Pieces pieces;
  if (failed(post(body, posted, pieces)))
    return failure();
  for (Operation *wait : llvm::make_early_inc_range(op.getToken().getUsers())) {
    b.setInsertionPoint(wait);
    IRMapping waited;
    complete(body, waited, pieces);
    wait->erase();
  }
  op.erase();
  return success();
}
