// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks, buffers, and sums.
#include "../Common/Lookup.h"
#include "MPI.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MPI/IR/MPI.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace ringconv;

static TableAttr tableOf(MLIRContext *ctx, ArrayRef<int64_t> values) {
  return makeTable(ctx, halo::Table::of(std::vector<int64_t>(values.begin(), values.end())));
}

MPICalls::MPICalls(func::FuncOp func, MeshAttr mesh) : mesh(mesh), b(func.getContext()), loc(func.getLoc()) {
  b.setInsertionPointToStart(&func.getBody().front());
  world = mpi::CommWorldOp::create(b, loc, mpi::CommType::get(b.getContext()));
  Value size = mpi::CommSizeOp::create(b, loc, TypeRange{b.getI32Type()}, world).getSize();
  Value wanted = arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(mesh.size()));
  Value same = arith::CmpIOp::create(b, loc, arith::CmpIPredicate::eq, size, wanted);
  cf::AssertOp::create(b, loc, same,
                       "the number of MPI processes is not the mesh's size, " + std::to_string(mesh.size()));
  rank = mpi::CommRankOp::create(b, loc, TypeRange{b.getI32Type()}, world).getRank();
  position = arith::IndexCastOp::create(b, loc, b.getIndexType(), rank);
  if (mesh.getDeviceIds().empty())
    return;
  SmallVector<int64_t> positions(mesh.size());
  for (auto [p, id] : llvm::enumerate(mesh.getDeviceIds()))
    positions[id] = p;
  position = lowerLookup(b, loc, position, tableOf(b.getContext(), positions));
}

Value MPICalls::index(int64_t value) { return arith::ConstantIndexOp::create(b, loc, value); }
Value MPICalls::toI32(Value value) { return arith::IndexCastOp::create(b, loc, b.getI32Type(), value); }

Value MPICalls::rankOf(Value peer) {
  if (!mesh.getDeviceIds().empty())
    peer = lowerLookup(b, loc, peer, tableOf(b.getContext(), mesh.getDeviceIds()));
  return toI32(peer);
}

/// Row-major, the last axis fastest; the first of `axes` is the major one.
Value MPICalls::coordOf(ArrayRef<Attribute> axes) {
  Value part = index(0);
  for (Attribute name : axes) {
    int64_t axis = mesh.axisIndex(cast<StringAttr>(name).getValue()), inner = 1;
    for (int64_t extent : mesh.getExtents().drop_front(axis + 1))
      inner *= extent;
    Value extent = index(mesh.getExtents()[axis]);
    Value outer = arith::DivUIOp::create(b, loc, position, index(inner));
    part = arith::AddIOp::create(b, loc, arith::MulIOp::create(b, loc, part, extent),
                                 arith::RemUIOp::create(b, loc, outer, extent).getResult());
  }
  return part;
}

void MPICalls::lowerCoord(CoordOp op) {
  loc = op.getLoc();
  b.setInsertionPoint(op);
  op.replaceAllUsesWith(coordOf(op.getAxes().getValue()));
  op.erase();
}

// ===--------------------------------------------------------------------=== //
// Buffers
// ===--------------------------------------------------------------------=== //

SmallVector<Value> MPICalls::sizesOf(Value memref) {
  SmallVector<Value> sizes;
  for (int64_t d = 0; d < cast<MemRefType>(memref.getType()).getRank(); ++d)
    sizes.push_back(memref::DimOp::create(b, loc, memref, d));
  return sizes;
}

Value MPICalls::allocate(ArrayRef<Value> sizes, Type element) {
  Value count = index(1);
  for (Value size : sizes)
    count = arith::MulIOp::create(b, loc, count, size);
  return memref::AllocOp::create(b, loc, MemRefType::get({ShapedType::kDynamic}, element), count);
}

Value MPICalls::view(Value buffer, ArrayRef<Value> sizes, ArrayRef<int64_t> reverse) {
  int64_t rank = sizes.size();
  SmallVector<Value> strides(rank);
  Value stride = index(1), offset = index(0);
  for (int64_t d = rank - 1; d >= 0; --d) {
    strides[d] = stride;
    if (llvm::is_contained(reverse, d)) {
      Value last = arith::SubIOp::create(b, loc, sizes[d], index(1));
      offset = arith::AddIOp::create(b, loc, offset, arith::MulIOp::create(b, loc, last, stride).getResult());
      strides[d] = arith::SubIOp::create(b, loc, index(0), stride);
    }
    stride = arith::MulIOp::create(b, loc, stride, sizes[d]);
  }
  SmallVector<int64_t> dynamic(rank, ShapedType::kDynamic);
  auto layout = StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, dynamic);
  auto type = MemRefType::get(dynamic, cast<MemRefType>(buffer.getType()).getElementType(), layout);
  return memref::ReinterpretCastOp::create(b, loc, type, buffer, OpFoldResult(offset), getAsOpFoldResult(sizes),
                                           getAsOpFoldResult(strides));
}

void MPICalls::copy(Value from, Value to) { linalg::CopyOp::create(b, loc, from, to); }

// ===--------------------------------------------------------------------=== //
// Sums
// ===--------------------------------------------------------------------=== //

/// The ranks that differ along `axes` only: those of one color, which is the
/// coordinate along all other axes.
Value MPICalls::communicatorOf(ArrayRef<Attribute> axes) {
  SmallVector<Attribute> others;
  for (StringAttr name : mesh.getAxes())
    if (!llvm::is_contained(axes, Attribute(name)))
      others.push_back(name);
  if (others.empty())
    return world;
  Value color = toI32(coordOf(others));
  return mpi::CommSplitOp::create(b, loc, TypeRange{world.getType()}, world, color, toI32(position)).getNewcomm();
}

Value MPICalls::sum(Value memref, ArrayRef<Attribute> axes) {
  Type element = cast<MemRefType>(memref.getType()).getElementType();
  SmallVector<Value> sizes = sizesOf(memref);
  Value part = allocate(sizes, element), total = allocate(sizes, element);
  copy(memref, view(part, sizes));
  mpi::AllReduceOp::create(b, loc, Type(), part, total, mpi::MPI_ReductionOpEnum::MPI_SUM, communicatorOf(axes));
  memref::DeallocOp::create(b, loc, part);
  return total;
}

void MPICalls::sumInPlace(Value memref, ArrayRef<Attribute> axes) {
  Value total = sum(memref, axes);
  copy(view(total, sizesOf(memref)), memref);
  memref::DeallocOp::create(b, loc, total);
}

void MPICalls::lowerAllReduce(AllReduceOp op) {
  loc = op.getLoc();
  b.setInsertionPoint(op);
  sumInPlace(op.getInit(), op.getAxes().getValue());
  op.erase();
}

/// The mpi dialect has no iallreduce either: the sums are complete where they
/// start.
void MPICalls::lowerStartReduce(StartReduceOp op) {
  loc = op.getLoc();
  b.setInsertionPoint(op);
  for (Value init : op.getInits())
    sumInPlace(init, op.getAxes().getValue());
  for (Operation *wait : llvm::make_early_inc_range(op.getToken().getUsers()))
    wait->erase();
  op.erase();
}

/// The mpi dialect has no reduce_scatter: the whole sum, of which the rank keeps
/// its box. Where the result adds a cut, the source is whole.
void MPICalls::lowerReduceScatter(ReduceScatterOp op) {
  loc = op.getLoc();
  b.setInsertionPoint(op);
  Value total = sum(op.getInput(), op.getAxes().getValue());
  auto whole = cast<RankedTensorType>(op.getType());
  SmallVector<OpFoldResult> begins, sizes = getAsOpFoldResult(sizesOf(op.getInit()));
  for (auto [d, dims] : llvm::enumerate(llvm::zip(op.getFrom().getDims(), op.getTo().getDims()))) {
    auto [from, to] = dims;
    if (from == to) {
      begins.push_back(b.getIndexAttr(0));
      continue;
    }
    std::vector<int64_t> bounds = cutsOf(to, whole.getDimSize(d), mesh).bounds;
    bounds.pop_back();
    SmallVector<Attribute> axes(to.getAxes().begin(), to.getAxes().end());
    begins.push_back(lowerLookup(b, loc, coordOf(axes), tableOf(b.getContext(), bounds)));
  }
  SmallVector<OpFoldResult> strides(begins.size(), b.getIndexAttr(1));
  Value box = memref::SubViewOp::create(b, loc, view(total, sizesOf(op.getInput())), begins, sizes, strides);
  copy(box, op.getInit());
  memref::DeallocOp::create(b, loc, total);
  op.erase();
}
