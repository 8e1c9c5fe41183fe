// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structured operations of linalg on memrefs: one thread per point of the
// parallel dimensions, which walks the reduction dimensions row-major; long
// reductions of one operand by a block of threads for each point:
//
//     thread t combines elements t, t + 256, ..., then in shared memory
//     t with t + 128, t + 64, ..., t + 1.
//
// Which of them depends on the reduction alone, so that the order of a sum is the
// same wherever a tensor is cut in its other dimensions.
#include "Elements.h"
#include "Operations.h"

#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace ringconv;

namespace {

class LinalgKernel {
public:
  LinalgKernel(linalg::LinalgOp op, KernelModule &kernels) : op(op), kernel(kernels, op, "linalg") {}

  /// One thread for each point.
  void make();
  /// One block for each point; `combiner` joins two partial results.
  void makeBlockwise(Operation *combiner);

private:
  void begin();
  Value combine(Loops &l, Operation *combiner, Value a, Value b);
  Value partial(Loops &l, ArrayRef<Value> parallel, Value thread, Value neutral);
  SmallVector<Value> indexOf(Loops &l, ArrayRef<Value> parallel);
  Value extent(Loops &l, int64_t d);

  bool isParallel(int64_t d) { return iterators[d] == utils::IteratorType::parallel; }
  void passAll();
  void addLoops(Loops &l, ArrayRef<Value> point);
  SmallVector<Value> reduce(Loops &l, size_t n, SmallVector<Value> index, ValueRange sums);
  SmallVector<Value> point(Loops &l, ArrayRef<Value> index, ValueRange sums);
  Value at(Loops &l, OpOperand &operand, ArrayRef<Value> index, Value stored);
  SmallVector<Value> coordinates(Loops &l, OpOperand &operand, ArrayRef<Value> index);

  linalg::LinalgOp op;
  KernelBuilder kernel;
  SmallVector<utils::IteratorType> iterators;
  SmallVector<OpFoldResult> extents; ///< of all dimensions, on the host
  SmallVector<OpFoldResult> parallelExtents;
  SmallVector<int64_t> reductions;
  IRMapping map; ///< from values of the host to values of the kernel
};

} // namespace

/// Operands, and what the region uses from outside.
void LinalgKernel::passAll() {
  llvm::SetVector<Value> outside;
  getUsedValuesDefinedAbove(op->getRegions(), outside);
  for (Value operand : op->getOperands())
    outside.insert(operand);
  for (Value value : outside)
    map.map(value, isa<MemRefType>(value.getType()) ? kernel.passBuffer(value) : kernel.passScalar(value));
}

SmallVector<Value> LinalgKernel::coordinates(Loops &l, OpOperand &operand, ArrayRef<Value> index) {
  AffineMap indexing = op.getMatchingIndexingMap(&operand);
  SmallVector<Value> at;
  SmallVector<OpFoldResult> dims(index.begin(), index.end());
  for (AffineExpr expr : indexing.getResults()) {
    auto one = AffineMap::get(indexing.getNumDims(), 0, expr);
    at.push_back(
        getValueOrCreateConstantIndexOp(l.b, l.loc, affine::makeComposedFoldedAffineApply(l.b, l.loc, one, dims)));
  }
  return at;
}

/// The value of an operand at a point; `stored` stands for results under way.
Value LinalgKernel::at(Loops &l, OpOperand &operand, ArrayRef<Value> index, Value stored) {
  if (stored)
    return stored;
  Value inside = map.lookup(operand.get());
  if (!isa<MemRefType>(inside.getType()))
    return inside;
  return memref::LoadOp::create(l.b, l.loc, inside, coordinates(l, operand, index));
}

/// The region at one point: from the results so far to the next ones.
SmallVector<Value> LinalgKernel::point(Loops &l, ArrayRef<Value> index, ValueRange sums) {
  Block *block = op.getBlock();
  IRMapping local(map);
  for (OpOperand &operand : op->getOpOperands()) {
    unsigned n = operand.getOperandNumber();
    if (n >= block->getNumArguments() || block->getArgument(n).use_empty())
      continue;
    Value sum = op.isDpsInit(&operand) ? sums[n - op.getNumDpsInputs()] : Value();
    local.map(block->getArgument(n), at(l, operand, index, sum));
  }
  for (Operation &inner : block->without_terminator()) {
    Operation *copy = l.b.clone(inner, local);
    copy->walk([&](linalg::IndexOp i) {
      i.replaceAllUsesWith(index[i.getDim()]);
      if (i == copy)
        local.map(inner.getResult(0), index[i.getDim()]);
      i.erase();
    });
  }
  SmallVector<Value> results;
  for (Value v : block->getTerminator()->getOperands())
    results.push_back(local.lookupOrDefault(v));
  return results;
}

Value LinalgKernel::extent(Loops &l, int64_t d) {
  auto constant = getConstantIntValue(extents[d]);
  return constant ? l.constant(*constant) : kernel.passScalar(cast<Value>(extents[d]));
}

/// All dimensions' coordinates from those of the parallel ones; the others 0.
SmallVector<Value> LinalgKernel::indexOf(Loops &l, ArrayRef<Value> parallel) {
  SmallVector<Value> index(iterators.size());
  for (size_t d = 0, next = 0; d < iterators.size(); ++d)
    index[d] = isParallel(d) ? parallel[next++] : l.constant(0);
  return index;
}

SmallVector<Value> LinalgKernel::reduce(Loops &l, size_t n, SmallVector<Value> index, ValueRange sums) {
  if (n == reductions.size())
    return point(l, index, sums);
  return l.forLoop(l.constant(0), extent(l, reductions[n]), sums, [&](Value i, ValueRange inner) {
    SmallVector<Value> next(index);
    next[reductions[n]] = i;
    return reduce(l, n + 1, next, inner);
  });
}

void LinalgKernel::addLoops(Loops &l, ArrayRef<Value> parallel) {
  SmallVector<Value> index = indexOf(l, parallel), sums;
  for (OpOperand &init : op.getDpsInitsMutable()) {
    Block *block = op.getBlock();
    bool read = init.getOperandNumber() < block->getNumArguments() && !op.getMatchingBlockArgument(&init).use_empty();
    Type element = getElementTypeOrSelf(init.get().getType());
    sums.push_back(read ? at(l, init, index, {}) : l.zero(element));
  }
  SmallVector<Value> results = reduce(l, 0, index, sums);
  for (auto [init, value] : llvm::zip(op.getDpsInitsMutable(), results))
    memref::StoreOp::create(l.b, l.loc, value, map.lookup(init.get()), coordinates(l, init, index));
}

void LinalgKernel::begin() {
  iterators = op.getIteratorTypesArray();
  passAll();
  extents.resize(iterators.size());
  // Each dimension's extent from the first operand that has it alone.
  for (OpOperand &operand : op->getOpOperands())
    for (auto [r, expr] : llvm::enumerate(op.getMatchingIndexingMap(&operand).getResults()))
      if (auto dim = dyn_cast<AffineDimExpr>(expr); dim && extents[dim.getPosition()].isNull())
        extents[dim.getPosition()] = memref::getMixedSize(kernel.host, kernel.loc, operand.get(), r);
  for (size_t d = 0; d < iterators.size(); ++d)
    if (isParallel(d))
      parallelExtents.push_back(extents[d]);
    else
      reductions.push_back(d);
}

void LinalgKernel::make() {
  begin();
  forEachElement(kernel, parallelExtents, [&](Loops &l, ArrayRef<Value> index) { addLoops(l, index); });
}

// ===--------------------------------------------------------------------=== //
// Long reductions
// ===--------------------------------------------------------------------=== //

Value LinalgKernel::combine(Loops &l, Operation *combiner, Value a, Value b) {
  Operation *copy = l.b.clone(*combiner);
  copy->setOperands({a, b});
  return copy->getResult(0);
}

/// What one thread combines.
Value LinalgKernel::partial(Loops &l, ArrayRef<Value> parallel, Value thread, Value neutral) {
  int64_t total = 1;
  for (int64_t d : reductions)
    total *= *getConstantIntValue(extents[d]);
  return l.forLoop(
      thread, l.constant(total), neutral,
      [&](Value linear, ValueRange sums) {
        SmallVector<Value> index = indexOf(l, parallel);
        for (int64_t d : llvm::reverse(reductions)) {
          index[d] = arith::RemUIOp::create(l.b, l.loc, linear, extent(l, d));
          linear = arith::DivUIOp::create(l.b, l.loc, linear, extent(l, d));
        }
        return point(l, index, sums);
      },
      kThreads)[0];
}

static void when(Loops &l, Value condition, llvm::function_ref<void()> body) {
  auto branch = scf::IfOp::create(l.b, l.loc, condition, false);
  OpBuilder::InsertionGuard guard(l.b);
  l.b.setInsertionPointToStart(branch.thenBlock());
  body();
}

void LinalgKernel::makeBlockwise(Operation *combiner) {
  begin();
  OpBuilder &b = kernel.body;
  Loops l{b, kernel.loc};
  OpOperand &init = *op.getDpsInitOperand(0);
  Type element = getElementTypeOrSelf(init.get().getType());
  auto space = gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  Value shared =
      kernel.func.addWorkgroupAttribution(MemRefType::get({kThreads}, element, AffineMap(), space), kernel.loc);
  Value thread = gpu::ThreadIdOp::create(b, kernel.loc, gpu::Dimension::x);
  SmallVector<Value> parallel = blockCoordinates(kernel, parallelExtents);
  Value neutral = arith::ConstantOp::create(b, kernel.loc, *arith::getNeutralElement(combiner));
  memref::StoreOp::create(b, kernel.loc, partial(l, parallel, thread, neutral), shared, thread);
  gpu::BarrierOp::create(b, kernel.loc);
  for (int64_t half = kThreads / 2; half > 0; half /= 2) {
    when(l, l.less(thread, l.constant(half)), [&] {
      Value mine = memref::LoadOp::create(b, kernel.loc, shared, thread);
      Value other = memref::LoadOp::create(b, kernel.loc, shared, l.add(thread, half));
      memref::StoreOp::create(b, kernel.loc, combine(l, combiner, mine, other), shared, thread);
    });
    gpu::BarrierOp::create(b, kernel.loc);
  }
  when(l, l.equal(thread, l.constant(0)), [&] {
    SmallVector<Value> index = indexOf(l, parallel);
    Value sum = memref::LoadOp::create(b, kernel.loc, shared, thread);
    Value result = combine(l, combiner, at(l, init, index, {}), sum);
    memref::StoreOp::create(b, kernel.loc, result, map.lookup(init.get()), coordinates(l, init, index));
  });
  kernel.launch({blockCount(kernel, parallelExtents)}, {kThreads});
}

/// Elements from which on a reduction is long.
static constexpr int64_t kLongReduction = 1024;

/// The operation that joins partial results, if this is a long reduction of one
/// operand by an operation that may be regrouped; null otherwise.
static Operation *combinerOfLongReduction(linalg::LinalgOp op) {
  if (op.getNumDpsInits() != 1 || op.getNumDpsInputs() != 1 || op.getNumReductionLoops() == 0)
    return nullptr;
  int64_t extent = 1;
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  for (auto [size, kind] : llvm::zip(ranges, op.getIteratorTypesArray()))
    if (kind == utils::IteratorType::reduction)
      extent = ShapedType::isDynamic(size) ? 0 : extent * size;
  SmallVector<Operation *> combiners;
  if (extent < kLongReduction || op.getBlock()->getNumArguments() != 2 ||
      !matchReduction(op.getRegionOutputArgs(), 0, combiners) || combiners.size() != 1)
    return nullptr;
  return arith::getNeutralElement(combiners[0]) ? combiners[0] : nullptr;
}

// ===--------------------------------------------------------------------=== //
// Choice
// ===--------------------------------------------------------------------=== //

/// An elementwise operation on dense buffers sees no dimensions: as one of a
/// single dimension it needs no division. Null if it is none.
static linalg::GenericOp flatten(linalg::LinalgOp op) {
  int64_t rank = op.getNumLoops();
  if (rank < 2 || op.getNumParallelLoops() != rank || op.hasIndexSemantics() ||
      op.getBlock()->getNumArguments() != op->getNumOperands())
    return nullptr;
  for (OpOperand &operand : op->getOpOperands()) {
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (type && (!op.getMatchingIndexingMap(&operand).isIdentity() || !type.getLayout().isIdentity()))
      return nullptr;
  }
  OpBuilder b(op);
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  ReassociationIndices all = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  for (Value operand : op->getOperands()) {
    bool isBuffer = isa<MemRefType>(operand.getType());
    maps.push_back(isBuffer ? b.getMultiDimIdentityMap(1) : AffineMap::get(1, 0, b.getContext()));
    operands.push_back(isBuffer ? memref::CollapseShapeOp::create(b, op.getLoc(), operand, all).getResult() : operand);
  }
  ValueRange values(operands);
  auto flat = linalg::GenericOp::create(b, op.getLoc(), values.take_front(op.getNumDpsInputs()),
                                        values.drop_front(op.getNumDpsInputs()), maps, utils::IteratorType::parallel);
  flat.getRegion().takeBody(op->getRegion(0));
  return flat;
}

LogicalResult ringconv::makeKernel(linalg::LinalgOp op, KernelModule &kernels) {
  // One thread writes an element: its place is a function of the parallel
  // dimensions, each of which takes part.
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    auto isDim = [](AffineExpr expr) { return isa<AffineDimExpr>(expr); };
    if (!map.isProjectedPermutation(/*allowZeroInResults=*/true) ||
        llvm::count_if(map.getResults(), isDim) != int64_t(op.getNumParallelLoops()))
      return op->emitOpError() << "has a result that is not addressed by its parallel dimensions, which kernels need";
  }
  if (linalg::GenericOp flat = flatten(op)) {
    op->erase();
    op = flat;
  }
  if (Operation *combiner = combinerOfLongReduction(op))
    LinalgKernel(op, kernels).makeBlockwise(combiner);
  else
    LinalgKernel(op, kernels).make();
  op->erase();
  return success();
}
