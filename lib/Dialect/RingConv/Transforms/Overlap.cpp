// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ringconv-overlap. The result of a local operation with halos in dimensions
// 1 .. n is cut into slices of one buffer; for two dimensions:
//
//      +-----------------------------+
//      |          low 1              |     edges of dimension d lie within the
//      +-------+-------------+-------+     interior of the dimensions before it
//      | low 2 |  interior   | high 2|
//      +-------+-------------+-------+
//      |          high 1             |
//      +-----------------------------+
//
// The interior reads the shard alone: its extended coordinates are the shard's,
// and every tap outside of it is padding, on any rank.
#include "ringconv/Dialect/RingConv/IR/RingConv.h"
#include "ringconv/Dialect/RingConv/Transforms/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace ringconv {
#define GEN_PASS_DEF_OVERLAPPASS
#include "ringconv/Dialect/RingConv/Transforms/Passes.h.inc"
} // namespace ringconv

using namespace mlir;
using namespace ringconv;

namespace {

/// One halo dimension of the operation: its spatial number, its dimension in the
/// result, and how many outputs belong to each edge.
struct EdgeDim {
  int64_t spatial, result, low, high, slabLow;
};

/// The parts of local_conv and local_pool that the split changes.
struct LocalOp {
  Operation *op;
  DestinationStyleOpInterface dst;

  explicit LocalOp(Operation *op) : op(op), dst(cast<DestinationStyleOpInterface>(op)) {}
  template <typename F> auto visit(F f) {
    if (auto conv = dyn_cast<LocalConvOp>(op))
      return f(conv);
    return f(cast<LocalPoolOp>(op));
  }
  ArrayRef<int64_t> inputDims() { return visit([](auto o) { return o.getInputDims(); }); }
  ArrayRef<int64_t> outputDims() { return visit([](auto o) { return o.getOutputDims(); }); }
  ArrayRef<int64_t> stride() { return visit([](auto o) { return o.getStride(); }); }
  ArrayRef<int64_t> lhsDilate() { return visit([](auto o) { return o.getLhsDilate(); }); }
  ArrayRef<int64_t> haloDims() { return visit([](auto o) { return o.getHaloDims(); }); }
  ValueRange halos() { return visit([](auto o) { return ValueRange(o.getHalos()); }); }
  Value input() { return op->getOperand(0); }
  Value init() { return dst.getDpsInitOperand(0)->get(); }

  /// offset, valid_begin, valid_end as mixed values.
  void windows(Builder &b, SmallVector<OpFoldResult> (&lists)[3]) {
    visit([&](auto o) {
      auto next = o.getScalars().begin();
      ArrayRef<int64_t> numbers[3] = {o.getOffset(), o.getValidBegin(), o.getValidEnd()};
      for (int i = 0; i < 3; ++i)
        for (int64_t v : numbers[i])
          lists[i].push_back(ShapedType::isDynamic(v) ? OpFoldResult(*next++) : OpFoldResult(b.getIndexAttr(v)));
      return 0;
    });
  }
};

/// a + c for a constant c, folded where it can be.
OpFoldResult addConstant(OpBuilder &b, Location loc, OpFoldResult a, int64_t c) {
  if (auto value = getConstantIntValue(a))
    return b.getIndexAttr(*value + c);
  if (c == 0)
    return a;
  Value v = cast<Value>(a);
  return arith::AddIOp::create(b, loc, v, arith::ConstantIndexOp::create(b, loc, c)).getResult();
}


class Splitter {
public:
  Splitter(LocalOp local, WaitOp wait, ArrayRef<EdgeDim> edges)
      : local(local), wait(wait), edges(edges), b(local.op), loc(local.op->getLoc()) {
    local.windows(b, lists);
    sizes = tensor::getMixedSizes(b, loc, local.init());
  }

  void run() {
    Value result = slice(box(edges.size(), 0), local.init(), false);
    wait->moveBefore(local.op);
    b.setInsertionPoint(local.op);
    for (size_t d = 0; d < edges.size(); ++d)
      for (int side : {-1, 1})
        if (side < 0 ? edges[d].low : edges[d].high)
          result = slice(box(d, side), result, true);
    local.op->getResult(0).replaceAllUsesWith(result);
    local.op->erase();
  }

private:
  struct Box {
    SmallVector<OpFoldResult> offsets, sizes;
  };

  /// The low (-1) or high (1) edge of dimension `d`, within the interior of the
  /// dimensions before; side 0: the interior of all.
  Box box(size_t d, int side) {
    Box box{SmallVector<OpFoldResult>(sizes.size(), b.getIndexAttr(0)), sizes};
    for (size_t e = 0; e < edges.size() && (e <= d); ++e) {
      const EdgeDim &edge = edges[e];
      OpFoldResult &offset = box.offsets[edge.result], &size = box.sizes[edge.result];
      if (e < d || side == 0) {
        offset = b.getIndexAttr(edge.low);
        size = addConstant(b, loc, sizes[edge.result], -edge.low - edge.high);
      } else if (side < 0) {
        size = b.getIndexAttr(edge.low);
      } else {
        offset = addConstant(b, loc, sizes[edge.result], -edge.high);
        size = b.getIndexAttr(edge.high);
      }
    }
    return box;
  }

  /// The operation on one slice of the result, put back into it.
  Value slice(const Box &box, Value result, bool halos) {
    SmallVector<OpFoldResult> strides(box.sizes.size(), b.getIndexAttr(1));
    Value piece = tensor::ExtractSliceOp::create(b, loc, result, box.offsets, box.sizes, strides);
    SmallVector<OpFoldResult> numbers[3] = {lists[0], lists[1], lists[2]};
    for (const EdgeDim &edge : edges) {
      // Windows start at the first output of the slice.
      int64_t n = edge.spatial, stride = local.stride()[n];
      OpFoldResult first = box.offsets[edge.result];
      if (auto c = getConstantIntValue(first)) {
        numbers[0][n] = addConstant(b, loc, numbers[0][n], *c * stride);
      } else {
        Value scaled = arith::MulIOp::create(b, loc, cast<Value>(first),
                                             arith::ConstantIndexOp::create(b, loc, stride));
        Value base = getValueOrCreateConstantIndexOp(b, loc, numbers[0][n]);
        numbers[0][n] = arith::AddIOp::create(b, loc, base, scaled).getResult();
      }
      if (halos)
        continue;
      numbers[0][n] = addConstant(b, loc, numbers[0][n], -edge.slabLow * local.lhsDilate()[n]);
      numbers[1][n] = b.getIndexAttr(0);
      numbers[2][n] = tensor::getMixedSize(b, loc, local.input(), dimOf(local.inputDims(), n));
    }
    Value computed = clone(piece, numbers, halos);
    return tensor::InsertSliceOp::create(b, loc, computed, result, box.offsets, box.sizes, strides);
  }

  Value clone(Value init, ArrayRef<SmallVector<OpFoldResult>> numbers, bool halos) {
    SmallVector<Value> scalars;
    DenseI64ArrayAttr attrs[3];
    for (int i = 0; i < 3; ++i) {
      SmallVector<int64_t> fixed;
      SmallVector<Value> dynamic;
      dispatchIndexOpFoldResults(numbers[i], dynamic, fixed);
      scalars.append(dynamic);
      attrs[i] = b.getDenseI64ArrayAttr(fixed);
    }
    auto haloDims = b.getDenseI64ArrayAttr(halos ? local.haloDims() : ArrayRef<int64_t>());
    ValueRange slabs = halos ? local.halos() : ValueRange();
    if (auto conv = dyn_cast<LocalConvOp>(local.op))
      return LocalConvOp::create(b, loc, init.getType(), conv.getInput(), slabs, conv.getFilter(), conv.getBias(),
                                 scalars, init, conv.getInputDimsAttr(), conv.getFilterDimsAttr(),
                                 conv.getOutputDimsAttr(), conv.getStrideAttr(), conv.getLhsDilateAttr(),
                                 conv.getRhsDilateAttr(), conv.getReverseAttr(), haloDims, attrs[0], attrs[1],
                                 attrs[2], conv.getFeatureGroupOutputsAttr(), conv.getBatchGroupOutputsAttr(),
                                 conv.getReportAttr())
          .getResult();
    auto pool = cast<LocalPoolOp>(local.op);
    ValueRange selector = pool.getSelector();
    if (!halos && !selector.empty())
      selector = selector.take_front(1);
    return LocalPoolOp::create(b, loc, init.getType(), pool.getInput(), slabs, selector, scalars, init, pool.getKindAttr(),
                               pool.getCountPaddingAttr(), pool.getInputDimsAttr(), pool.getOutputDimsAttr(),
                               pool.getSizeAttr(), pool.getStrideAttr(), pool.getLhsDilateAttr(),
                               pool.getRhsDilateAttr(), haloDims, attrs[0], attrs[1], attrs[2], pool.getReportAttr())
        .getResult();
  }

  LocalOp local;
  WaitOp wait;
  ArrayRef<EdgeDim> edges;
  OpBuilder b;
  Location loc;
  SmallVector<OpFoldResult> lists[3];
  SmallVector<OpFoldResult> sizes;
};

struct OverlapPass : ringconv::impl::OverlapPassBase<OverlapPass> {
  using OverlapPassBase::OverlapPassBase;

  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<LocalConvOp, LocalPoolOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      overlap(op);
  }

private:
  void overlap(Operation *op) {
    LocalOp local(op);
    WaitOp wait = local.halos().empty() ? WaitOp() : local.halos()[0].getDefiningOp<WaitOp>();
    // Several users of one exchange: the first waits, the others find it done.
    if (!wait || wait->getBlock() != op->getBlock() || !isFirstUser(op, wait))
      return;
    auto start = wait.getToken().getDefiningOp<StartOp>();
    if (!start)
      return;
    SmallVector<EdgeDim> edges;
    if (!findEdges(local, start, wait, edges)) {
      emitRemark(op->getLoc()) << "not overlapped: the interior is under " << int64_t(minInterior)
                                << " percent of the outputs of some rank";
      return;
    }
    emitRemark(op->getLoc()) << "interior computed while halos travel, edges after them";
    Splitter(local, wait, edges).run();
    ++numSplit;
  }

  static bool isFirstUser(Operation *op, WaitOp wait) {
    return llvm::all_of(wait->getUsers(), [&](Operation *user) {
      return user == op || (user->getBlock() == op->getBlock() && op->isBeforeInBlock(user));
    });
  }

  /// The edges are those of the operation that the exchange was made for; others
  /// may share it.
  static bool isMadeFor(LocalOp local, StartOp start, size_t input) {
    std::optional<ArrayRef<int64_t>> made = start.getReport();
    IntegerAttr report = local.visit([](auto op) { return op.getReportAttr(); });
    return made && report && input < made->size() && (*made)[input] == report.getInt();
  }

  bool findEdges(LocalOp local, StartOp start, WaitOp wait, SmallVectorImpl<EdgeDim> &edges) {
    // The slabs of this operation are those of one input of the start.
    size_t first = cast<OpResult>(local.halos()[0]).getResultNumber(), input = 0;
    for (size_t seen = 0; input < start.getDims().size(); ++input) {
      if (seen == first)
        break;
      seen += countSlabs(cast<ArrayAttr>(start.getDims()[input]));
    }
    if (!isMadeFor(local, start, input))
      return false;
    double interior = 1, all = 1;
    int64_t last = int64_t(local.stride().size()) - 1;
    for (auto dim : cast<ArrayAttr>(start.getDims()[input]).getAsRange<HaloDimAttr>()) {
      if (!dim.hasSlabs())
        continue;
      if (dim.getEdges().empty())
        return false;
      int64_t n = local.inputDims()[dim.getDim()], low = dim.getEdges()[0], high = dim.getEdges()[1];
      if (n == last) {
        low = low ? std::max<int64_t>(low, minEdge) : 0;
        high = high ? std::max<int64_t>(high, minEdge) : 0;
      }
      edges.push_back({n, dimOf(local.outputDims(), n), low, high, dim.getLow()});
      interior *= std::max<int64_t>(dim.getEdges()[2] - low - high, 0);
      all *= dim.getEdges()[2];
    }
    return interior > 0 && 100 * interior >= minInterior * all;
  }
};

} // namespace
