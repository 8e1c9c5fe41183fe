// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Partitioner, partial results: where a reduction is cut, what the ranks have is
// combined, by one message for all results of an operation.
#include "Partitioner.h"
#include "Upstream.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace ringconv;

/// sum + bias in the accumulation type, rounded once to the result's type.
Value Partitioner::addBias(Operation *op, Value sum, ShardingAttr sharding) {
  auto conv = dyn_cast<ConvOp>(op);
  Type want = cast<RankedTensorType>(op->getResult(0).getType()).getElementType();
  auto type = cast<RankedTensorType>(sum.getType());
  bool bias = conv && conv.getBias();
  if (!bias && want == type.getElementType())
    return sum;
  Location loc = op->getLoc();
  int64_t rank = type.getRank(), feature = conv ? dimOf(conv.getOutputDims(), kFeature) : 0;
  MLIRContext *ctx = builder.getContext();
  SmallVector<Value> inputs{sum};
  SmallVector<AffineMap> maps{AffineMap::getMultiDimIdentityMap(rank, ctx)};
  if (bias) {
    auto biasSharding = ShardingAttr::get(ctx, mesh.name, {sharding.dim(feature)});
    inputs.push_back(localValue(conv.getBias(), biasSharding));
    maps.push_back(AffineMap::get(rank, 0, getAffineDimExpr(feature, ctx)));
  }
  auto whole = cast<RankedTensorType>(op->getResult(0).getType());
  Value out = tensor::EmptyOp::create(builder, loc, localSizes(whole, sharding), want);
  maps.push_back(maps[0]);
  SmallVector<utils::IteratorType> iterators(rank, utils::IteratorType::parallel);
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    Value v = args[0];
    bool isFloat = isa<FloatType>(want);
    if (bias) {
      Value add = args[1];
      if (add.getType() != v.getType())
        add = isFloat ? arith::ExtFOp::create(b, loc, v.getType(), add).getResult()
                      : arith::ExtSIOp::create(b, loc, v.getType(), add).getResult();
      v = isFloat ? arith::AddFOp::create(b, loc, v, add).getResult()
                  : arith::AddIOp::create(b, loc, v, add).getResult();
    }
    if (want != v.getType())
      v = isFloat ? arith::TruncFOp::create(b, loc, want, v).getResult()
                  : arith::TruncIOp::create(b, loc, want, v).getResult();
    linalg::YieldOp::create(b, loc, v);
  };
  return linalg::GenericOp::create(builder, loc, out.getType(), inputs, out, maps, iterators, body).getResult(0);
}

/// The sharding in which a partial sum can be scattered: `to` adds to `from`
/// cuts of whole dimensions by axes of the sum, and nothing else.
static bool scatters(ShardingAttr from, ShardingAttr to, ArrayRef<StringAttr> axes) {
  bool any = false;
  for (auto [a, b] : llvm::zip(from.getDims(), to.getDims())) {
    if (a == b)
      continue;
    if (a.isCut() || !llvm::all_of(b.getAxes(), [&](StringAttr x) { return llvm::is_contained(axes, x); }))
      return false;
    any = true;
  }
  return any;
}

/// The sum of the ranks' partial results, as the analysis wants it.
Value Partitioner::sumPartial(Operation *op, const Decision &decision, OpResult result, Value partial) {
  Location loc = op->getLoc();
  auto type = cast<RankedTensorType>(result.getType());
  ShardingAttr from = decision.results[result.getResultNumber()], to = analysis.of(result);
  auto sumType = RankedTensorType::get(type.getShape(), cast<RankedTensorType>(partial.getType()).getElementType());
  ArrayAttr axes = builder.getArrayAttr(SmallVector<Attribute>(decision.reduceAxes.begin(), decision.reduceAxes.end()));
  if (scatters(from, to, decision.reduceAxes)) {
    Value empty = tensor::EmptyOp::create(builder, loc, localSizes(sumType, to), sumType.getElementType());
    Value sum =
        ReduceScatterOp::create(builder, loc, empty.getType(), partial, empty, TypeAttr::get(sumType), axes, from, to)
            .getResult();
    emitRemark(op->getLoc()) << "partial sums over " << axes << " by reduce-scatter";
    return addBias(op, sum, to);
  }
  Value sum = AllReduceOp::create(builder, loc, partial.getType(), partial, mesh.name, axes).getResult();
  emitRemark(op->getLoc()) << "partial sums over " << axes << " by all-reduce";
  return redistribute(loc, addBias(op, sum, from), type, from, to);
}

/// Partial sums of one type travel as one message, one behind the other in a new
/// outermost dimension.
void Partitioner::sumTogether(Operation *op, const Decision &decision, SmallVectorImpl<Value> &partials) {
  Location loc = op->getLoc();
  auto type = cast<RankedTensorType>(partials[0].getType());
  int64_t count = partials.size(), rank = type.getRank();
  SmallVector<int64_t> shape{count};
  llvm::append_range(shape, type.getShape());
  SmallVector<OpFoldResult> all = tensor::getMixedSizes(builder, loc, partials[0]);
  all.insert(all.begin(), builder.getIndexAttr(count));
  SmallVector<OpFoldResult> offsets(rank + 1, builder.getIndexAttr(0)), one(all),
      strides(rank + 1, builder.getIndexAttr(1));
  one[0] = builder.getIndexAttr(1);
  Value packed = tensor::EmptyOp::create(builder, loc, all, type.getElementType());
  for (int64_t i = 0; i < count; ++i) {
    offsets[0] = builder.getIndexAttr(i);
    packed = tensor::InsertSliceOp::create(builder, loc, partials[i], packed, offsets, one, strides);
  }
  ArrayAttr axes = builder.getArrayAttr(SmallVector<Attribute>(decision.reduceAxes.begin(), decision.reduceAxes.end()));
  Value sum = AllReduceOp::create(builder, loc, packed.getType(), packed, mesh.name, axes).getResult();
  emitRemark(loc) << count << " partial sums over " << axes << " by one all-reduce";
  for (int64_t i = 0; i < count; ++i) {
    offsets[0] = builder.getIndexAttr(i);
    partials[i] = tensor::ExtractSliceOp::create(builder, loc, type, sum, offsets, one, strides);
  }
}

/// Every rank gets all partial results and combines them itself: no message knows
/// any operation but a sum.
Value Partitioner::combineGathered(Operation *op, const Decision &decision, Value partial, Operation *combiner) {
  Location loc = op->getLoc();
  MLIRContext *ctx = builder.getContext();
  auto local = cast<RankedTensorType>(partial.getType()), type = cast<RankedTensorType>(op->getResult(0).getType());
  int64_t parts = mesh.mesh.parts(decision.reduceAxes), rank = type.getRank();
  auto stacked = [&](int64_t size, RankedTensorType t) {
    SmallVector<int64_t> shape{size};
    llvm::append_range(shape, t.getShape());
    return RankedTensorType::get(shape, t.getElementType());
  };
  auto sharding = [&](DimShardingAttr first) {
    SmallVector<DimShardingAttr> dims{first};
    llvm::append_range(dims, decision.results[0].getDims());
    return ShardingAttr::get(ctx, mesh.name, dims);
  };
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, partial);
  SmallVector<OpFoldResult> offsets(rank + 1, builder.getIndexAttr(0)), strides(rank + 1, builder.getIndexAttr(1));
  sizes.insert(sizes.begin(), builder.getIndexAttr(1));
  Value mine = tensor::EmptyOp::create(builder, loc, sizes, local.getElementType());
  mine = tensor::InsertSliceOp::create(builder, loc, partial, mine, offsets, sizes, strides);
  auto cut = makeDimSharding(ctx, decision.reduceAxes, halo::Cuts::balanced(parts, parts));
  Value all = redistribute(loc, mine, stacked(parts, type), sharding(cut), sharding(mesh.whole()));

  SmallVector<utils::IteratorType> iterators(rank + 1, utils::IteratorType::parallel);
  iterators[0] = utils::IteratorType::reduction;
  AffineMap from = AffineMap::getMultiDimIdentityMap(rank + 1, ctx), to = from.dropResult(0);
  auto body = [&](OpBuilder &b, Location loc, ValueRange args) {
    Operation *again = b.clone(*combiner);
    again->setOperands(args);
    linalg::YieldOp::create(b, loc, again->getResults());
  };
  // The own part again, as the start: it may be combined twice.
  return linalg::GenericOp::create(builder, loc, local, all, partial, {from, to}, iterators, body).getResult(0);
}

void Partitioner::combinePartials(Operation *op, const Decision &decision, SmallVectorImpl<Value> &values) {
  bool partial = !decision.reduceAxes.empty();
  Operation *combiner = partial ? upstream::idempotentCombiner(op) : nullptr;
  if (combiner)
    values[0] = combineGathered(op, decision, values[0], combiner);
  else if (partial && values.size() > 1 && llvm::all_equal(ValueRange(values).getTypes()))
    sumTogether(op, decision, values);
  else if (partial) {
    for (OpResult result : op->getResults())
      values[result.getResultNumber()] = sumPartial(op, decision, result, values[result.getResultNumber()]);
    return;
  }
  for (OpResult result : op->getResults()) {
    Value &value = values[result.getResultNumber()];
    value = redistribute(op->getLoc(), value, cast<RankedTensorType>(result.getType()),
                         decision.results[result.getResultNumber()], analysis.of(result));
  }
}
