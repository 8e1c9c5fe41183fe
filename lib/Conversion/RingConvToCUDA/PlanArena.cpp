// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-plan-arena: one piece of device memory for all buffers of a rank.
//
// Each allocation gets an offset; those that are in use at the same time do not
// overlap. Time is the number of an operation in the order of the text:
//
//     alloc a  0 |a               buffers that share   offset
//     fill a   1 |a               no moment may lie      ^
//     alloc b  2 |a b             at one place           |  b   c
//     b = f(a) 3 |a b                                    |  a a
//     alloc c  4 |  b c                                  +-------> time
//     c = g(b) 5 |  b c
//
// A buffer that a loop uses, but that is made before it, is in use to the
// loop's end: the next round reads it again. Loops carry no buffers
// (`ringconv-carry-buffers`).
#include "../Common/BufferCasts.h"
#include "../Common/RankValues.h"
#include "ringconv/Conversion/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace ringconv {
#define GEN_PASS_DEF_PLANARENAPASS
#include "ringconv/Conversion/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

namespace {

/// Enough for every vector access and for coalesced lines.
constexpr int64_t kArenaAlignment = 256;

struct Buffer {
  memref::AllocOp alloc;
  int64_t bytes = 0, offset = 0;
  int64_t begin = 0, end = 0; ///< moments of the first and the last use
  bool meets(const Buffer &other) const { return begin <= other.end && other.begin <= end; }
};

class ArenaPlan {
public:
  ArenaPlan(func::FuncOp func, MeshAttr mesh) : func(func), mesh(mesh) {}

  LogicalResult make();
  /// Replaces the allocations by places in the arena.
  void apply();
  int64_t bytes() const { return total; }

private:
  LogicalResult measure(Buffer &buffer);
  void number(Operation *op);
  void findUses(Buffer &buffer, const BufferViewFlowAnalysis &aliases);
  void place();

  func::FuncOp func;
  MeshAttr mesh;
  SmallVector<Buffer> buffers;
  DenseMap<Operation *, std::pair<int64_t, int64_t>> moments; ///< of an operation with all it holds
  int64_t now = 0, total = 0;
};

} // namespace

LogicalResult ArenaPlan::measure(Buffer &buffer) {
  auto type = buffer.alloc.getType();
  auto elements =
      type.hasStaticShape()
          ? std::optional(type.getNumElements())
          : largestOverRanks(mesh, [&](RankValues &values) { return values.elements(buffer.alloc.getResult()); });
  if (!elements)
    return buffer.alloc.emitError() << "the size of this buffer does not follow from the ranks' coordinates";
  if (__builtin_mul_overflow(*elements, elementBytes(type.getElementType()), &buffer.bytes) || buffer.bytes > int64_t(1)
                                                                                                                  << 50)
    return buffer.alloc.emitError() << "a buffer of " << type << " is larger than any memory";
  return success();
}

void ArenaPlan::number(Operation *op) {
  int64_t begin = now++;
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Operation &inner : block)
        number(&inner);
  moments[op] = {begin, now++};
}

/// The operation that holds `user` in the innermost block that also holds
/// `alloc`: a use inside of a loop or branch there is a use by all of it.
static Operation *asSeenFrom(memref::AllocOp alloc, Operation *user) {
  for (Block *block = alloc->getBlock(); block; block = block->getParentOp()->getBlock())
    if (Operation *ancestor = block->findAncestorOpInBlock(*user))
      return ancestor;
  return user;
}

void ArenaPlan::findUses(Buffer &buffer, const BufferViewFlowAnalysis &aliases) {
  buffer.begin = buffer.end = moments[buffer.alloc].first;
  for (Value alias : aliases.resolve(buffer.alloc.getResult()))
    for (Operation *user : alias.getUsers())
      if (!isa<memref::DeallocOp>(user))
        buffer.end = std::max(buffer.end, moments[asSeenFrom(buffer.alloc, user)].second);
}

/// Largest first, each at the lowest offset that is free while it is in use.
void ArenaPlan::place() {
  SmallVector<Buffer *> order;
  for (Buffer &buffer : buffers)
    order.push_back(&buffer);
  llvm::stable_sort(order, [](Buffer *a, Buffer *b) { return a->bytes > b->bytes; });
  SmallVector<Buffer *> placed;
  for (Buffer *buffer : order) {
    SmallVector<Buffer *> others;
    for (Buffer *other : placed)
      if (other->meets(*buffer))
        others.push_back(other);
    llvm::sort(others, [](Buffer *a, Buffer *b) { return a->offset < b->offset; });
    int64_t offset = 0;
    for (Buffer *other : others) {
      if (offset + buffer->bytes <= other->offset)
        break;
      offset = std::max<int64_t>(offset, llvm::alignTo(other->offset + other->bytes, kArenaAlignment));
    }
    buffer->offset = offset;
    total = std::max<int64_t>(total, llvm::alignTo(offset + buffer->bytes, kArenaAlignment));
    placed.push_back(buffer);
  }
}

LogicalResult ArenaPlan::make() {
  number(func);
  BufferViewFlowAnalysis aliases(func);
  auto walked = func.walk([&](memref::AllocOp alloc) -> WalkResult {
    Buffer buffer{alloc};
    if (failed(measure(buffer)))
      return WalkResult::interrupt();
    findUses(buffer, aliases);
    buffers.push_back(buffer);
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  place();
  return success();
}

void ArenaPlan::apply() {
  func.walk([](memref::DeallocOp op) { op.erase(); });
  func.walk([](KeepOp op) { op.erase(); });
  if (buffers.empty())
    return;
  auto module = func->getParentOfType<ModuleOp>();
  StringRef name = "ringconv_cuda_arena";
  OpBuilder b(func);
  Location loc = func.getLoc();
  Type pointer = LLVM::LLVMPointerType::get(func.getContext());
  if (!module.lookupSymbol(name))
    func::FuncOp::create(b, loc, name, b.getFunctionType({pointer}, {pointer})).setPrivate();
  b.setInsertionPointToStart(&func.getBody().front());
  Value start = func::CallOp::create(b, loc, name, pointer, func.getArgument(0)).getResult(0);
  Value arena = bufferAt(b, loc, MemRefType::get({total}, b.getI8Type()), start);
  for (Buffer &buffer : buffers) {
    b.setInsertionPoint(buffer.alloc);
    Value offset = arith::ConstantIndexOp::create(b, loc, buffer.offset);
    Value view = memref::ViewOp::create(b, buffer.alloc.getLoc(), buffer.alloc.getType(), arena, offset,
                                        buffer.alloc.getDynamicSizes());
    buffer.alloc.replaceAllUsesWith(view);
    buffer.alloc.erase();
  }
}

namespace {
struct PlanArenaPass : ringconv::impl::PlanArenaPassBase<PlanArenaPass> {
  void runOnOperation() override {
    ModuleOp module = getOperation();
    int64_t bytes = 0;
    auto meshes = module.getOps<MeshOp>();
    MeshAttr mesh = meshes.empty() ? MeshAttr::get(&getContext(), {}, {}, {}) : (*meshes.begin()).getMesh();
    for (func::FuncOp func : module.getOps<func::FuncOp>()) {
      if (func.isExternal() || func.isPrivate())
        continue;
      ArenaPlan plan(func, mesh);
      if (failed(plan.make()))
        return signalPassFailure();
      plan.apply();
      bytes = std::max(bytes, plan.bytes());
    }
    module->setAttr("ringconv.arena", Builder(&getContext()).getI64IntegerAttr(bytes));
  }
};
} // namespace
