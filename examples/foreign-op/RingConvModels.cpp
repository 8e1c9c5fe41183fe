// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How ringconv cuts the operations of another dialect: models of its interfaces,
// attached from outside. The partitioner asks them, decides, exchanges halos and
// calls createLocal, which makes the operation on one rank's shard, here of
// upstream operations that every later pass knows.
#include "Image.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "ringconv/Dialect/RingConv/IR/RingConv.h"

#include <limits>

using namespace mlir;
using ringconv::Factor;
using ringconv::LocalBuilder;

namespace {

// ===--------------------------------------------------------------------=== //
// image.row_sum: rows are cut freely; columns are summed, so that cut columns
// give partial sums, which the partitioner adds over the ranks.
// ===--------------------------------------------------------------------=== //

struct RowSumShardable : ringconv::ShardableOpInterface::ExternalModel<RowSumShardable, image::RowSumOp> {
  SmallVector<Factor> getFactors(Operation *op) const {
    auto type = cast<RankedTensorType>(op->getOperand(0).getType());
    return {Factor(type.getDimSize(0), /*reduction=*/false, {0}, {0}),
            Factor(type.getDimSize(1), /*reduction=*/true, {1}, {-1})};
  }

  FailureOr<SmallVector<Value>> createLocal(Operation *op, LocalBuilder &local) const {
    OpBuilder &b = local.builder;
    Value zero = arith::ConstantOp::create(b, local.loc, b.getF32FloatAttr(0));
    Value init = linalg::FillOp::create(b, local.loc, zero, local.empty()).getResult(0);
    auto add = [](OpBuilder &b, Location loc, ValueRange args) {
      linalg::YieldOp::create(b, loc, arith::AddFOp::create(b, loc, args[0], args[1]).getResult());
    };
    auto sum = linalg::ReduceOp::create(b, local.loc, local.operands[0], init, ArrayRef<int64_t>{1}, add);
    return SmallVector<Value>{sum.getResult(0)};
  }
};

// ===--------------------------------------------------------------------=== //
// image.range: a window in both dimensions.
// ===--------------------------------------------------------------------=== //

struct RangeShardable : ringconv::ShardableOpInterface::ExternalModel<RangeShardable, image::RangeOp> {
  /// Dimensions with windows are not among the factors.
  SmallVector<Factor> getFactors(Operation *) const { return {}; }
  FailureOr<SmallVector<Value>> createLocal(Operation *op, LocalBuilder &local) const;
};

struct RangeWindowed : ringconv::WindowedOpInterface::ExternalModel<RangeWindowed, image::RangeOp> {
  SmallVector<ringconv::halo::Window> getWindows(Operation *op) const {
    ringconv::halo::Window window;
    window.size = cast<image::RangeOp>(op).getSize();
    window.padLow = window.padHigh = window.size / 2;
    window.border = ringconv::halo::Border::Replicate;
    return {window, window};
  }
  SmallVector<int64_t> getInputWindowDims(Operation *) const { return {0, 1}; }
  SmallVector<int64_t> getResultWindowDims(Operation *) const { return {0, 1}; }
  SmallVector<int64_t> getFilterWindowDims(Operation *) const { return {}; }
  int64_t getNumWindowedOperands(Operation *) const { return 1; }
  bool isReversed(Operation *, int64_t) const { return false; }
};

/// The shard with its slabs, as one tensor. Each slab is extended in earlier
/// dimensions and has the shard's range in later ones, so that joining
/// dimension by dimension puts the corners in place.
Value joinHalos(LocalBuilder &local) {
  Value whole = local.operands[0];
  for (auto [i, dim] : llvm::enumerate(local.windows.haloDims))
    whole = tensor::ConcatOp::create(local.builder, local.loc, dim,
                                     ValueRange{local.windows.halos[2 * i], whole, local.windows.halos[2 * i + 1]});
  return whole;
}

/// result[i, j] = `combine` of extended[i + k, j + l] over the square.
Value overSquares(LocalBuilder &local, Value extended, int64_t size, float neutral,
                  function_ref<Value(OpBuilder &, Location, Value, Value)> combine) {
  OpBuilder &b = local.builder;
  MLIRContext *ctx = b.getContext();
  Type f32 = b.getF32Type();
  Value start = arith::ConstantOp::create(b, local.loc, b.getF32FloatAttr(neutral));
  Value init = linalg::FillOp::create(b, local.loc, start, local.empty()).getResult(0);
  Value square = tensor::EmptyOp::create(b, local.loc, ArrayRef<int64_t>{size, size}, f32);
  AffineExpr i, j, k, l;
  bindDims(ctx, i, j, k, l);
  auto map = [&](ArrayRef<AffineExpr> results) { return AffineMap::get(4, 0, results, ctx); };
  using utils::IteratorType;
  auto generic = linalg::GenericOp::create(b, local.loc, init.getType(), ValueRange{extended, square}, init,
                                           ArrayRef<AffineMap>{map({i + k, j + l}), map({k, l}), map({i, j})},
                                           ArrayRef<IteratorType>{IteratorType::parallel, IteratorType::parallel,
                                                                  IteratorType::reduction, IteratorType::reduction},
                                           [&](OpBuilder &b, Location loc, ValueRange args) {
                                             linalg::YieldOp::create(b, loc, combine(b, loc, args[0], args[2]));
                                           });
  return generic.getResult(0);
}

FailureOr<SmallVector<Value>> RangeShardable::createLocal(Operation *op, LocalBuilder &local) const {
  OpBuilder &b = local.builder;
  int64_t size = cast<image::RangeOp>(op).getSize();
  Value extended = joinHalos(local);
  // Slabs have the same size on every rank: what this one reads begins at its
  // offset and is size - 1 longer than what it makes.
  SmallVector<OpFoldResult> extents;
  AffineExpr outputs = b.getAffineSymbolExpr(0);
  for (OpFoldResult made : local.sizes[0])
    extents.push_back(affine::makeComposedFoldedAffineApply(b, local.loc, outputs + (size - 1), made));
  SmallVector<OpFoldResult> strides(2, b.getIndexAttr(1));
  extended = tensor::ExtractSliceOp::create(b, local.loc, extended, local.windows.offset, extents, strides);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  Value largest = overSquares(local, extended, size, -infinity, [](OpBuilder &b, Location loc, Value x, Value y) {
    return arith::MaximumFOp::create(b, loc, x, y).getResult();
  });
  Value smallest = overSquares(local, extended, size, infinity, [](OpBuilder &b, Location loc, Value x, Value y) {
    return arith::MinimumFOp::create(b, loc, x, y).getResult();
  });
  return SmallVector<Value>{arith::SubFOp::create(b, local.loc, largest, smallest).getResult()};
}

} // namespace

void image::registerRingConvModels(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *ctx, ImageDialect *) {
    RowSumOp::attachInterface<RowSumShardable>(*ctx);
    RangeOp::attachInterface<RangeShardable, RangeWindowed>(*ctx);
    // What createLocal makes.
    ctx->loadDialect<affine::AffineDialect, arith::ArithDialect, linalg::LinalgDialect, tensor::TensorDialect>();
  });
}
