// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "VectorPlan.h"
#include "ringconv/Halo/Halo.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include <map>
#include <numeric>
#include <utility>

using namespace mlir;
using namespace ringconv;

// ===--------------------------------------------------------------------=== //
// Numbers that differ by rank
// ===--------------------------------------------------------------------=== //

/// Far beyond any index, so that sums of two do not overflow.
static constexpr int64_t kFar = int64_t(1) << 60;

static Bounds boundsOf(LookupOp lookup) {
  ArrayRef<int64_t> runs = lookup.getTable().getRuns();
  int64_t parts = -1;
  if (auto coord = lookup.getPart().getDefiningOp<CoordOp>())
    if (MeshOp mesh = lookupMesh(coord, coord.getMeshAttr())) {
      SmallVector<StringAttr> axes;
      for (Attribute axis : coord.getAxes())
        axes.push_back(cast<StringAttr>(axis));
      parts = mesh.getMesh().parts(axes);
    }
  Bounds bounds{kFar, -kFar};
  for (size_t i = 0; i < runs.size(); i += 3) {
    bool isLast = i + 3 == runs.size();
    // The last run of a table ends with the parts.
    if (isLast && runs[i + 2] && parts < 0)
      return {-kFar, kFar};
    int64_t end = isLast ? std::max(parts, runs[i] + 1) : runs[i + 3];
    for (int64_t c : {runs[i], end - 1}) {
      int64_t v = lookup.getTable().at(c);
      bounds = {std::min(bounds.min, v), std::max(bounds.max, v)};
    }
  }
  return bounds;
}

Bounds ringconv::boundsOf(Value value) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return {constant.getSExtValue(), constant.getSExtValue()};
  Operation *op = value.getDefiningOp();
  if (auto lookup = dyn_cast_or_null<LookupOp>(op))
    return ::boundsOf(lookup);
  if (!isa_and_present<arith::AddIOp, arith::SubIOp, arith::MaxSIOp, arith::MinSIOp>(op))
    return {-kFar, kFar};
  Bounds a = boundsOf(op->getOperand(0)), b = boundsOf(op->getOperand(1));
  if (isa<arith::MaxSIOp>(op))
    return {std::max(a.min, b.min), std::max(a.max, b.max)};
  if (isa<arith::MinSIOp>(op))
    return {std::min(a.min, b.min), std::min(a.max, b.max)};
  if (isa<arith::SubIOp>(op))
    b = {-b.max, -b.min};
  return {std::max(a.min + b.min, -kFar), std::min(a.max + b.max, kFar)};
}

static int64_t floorMod(int64_t v, int64_t modulus) { return v - halo::floorDiv(v, modulus) * modulus; }

static std::optional<int64_t> residueOf(LookupOp lookup, int64_t modulus) {
  ArrayRef<int64_t> runs = lookup.getTable().getRuns();
  int64_t residue = floorMod(runs[1], modulus);
  for (size_t i = 0; i < runs.size(); i += 3)
    if (floorMod(runs[i + 1], modulus) != residue || runs[i + 2] % modulus)
      return std::nullopt;
  return residue;
}

std::optional<int64_t> ringconv::residueOf(Value value, int64_t modulus) {
  APInt constant;
  if (matchPattern(value, m_ConstantInt(&constant)))
    return floorMod(constant.getSExtValue(), modulus);
  Operation *op = value.getDefiningOp();
  if (auto lookup = dyn_cast_or_null<LookupOp>(op))
    return ::residueOf(lookup, modulus);
  if (!isa_and_present<arith::AddIOp, arith::SubIOp>(op))
    return std::nullopt;
  auto a = residueOf(op->getOperand(0), modulus), b = residueOf(op->getOperand(1), modulus);
  if (!a || !b)
    return std::nullopt;
  return floorMod(isa<arith::AddIOp>(op) ? *a + *b : *a - *b, modulus);
}

// ===--------------------------------------------------------------------=== //
// Columns
// ===--------------------------------------------------------------------=== //

bool ColumnWindow::isStatic() const {
  return llvm::none_of(ArrayRef<int64_t>{offset, outputs, low, own, high}, ShapedType::isDynamic);
}

SmallVector<TileColumn> ColumnWindow::columns(int64_t begin, int64_t size) const {
  std::map<int64_t, SmallVector<TileUse>> byElement;
  for (int64_t i = 0; i < size; ++i)
    for (int64_t t = 0; t < taps; ++t) {
      int64_t position = offset + (begin + i) * stride + t * dilation, element = halo::floorDiv(position, base);
      if (element * base == position && mayBeValid(element))
        byElement[element].push_back({i, t});
    }
  SmallVector<TileColumn> columns;
  for (auto &[element, uses] : byElement)
    columns.push_back({element, uses});
  return columns;
}

// ===--------------------------------------------------------------------=== //
// Tiles
// ===--------------------------------------------------------------------=== //

/// More multiply-adds in one loop body cost compile time and gain nothing.
static constexpr int64_t kMaxBody = 400, kMaxBatchBody = 450;
/// Versions of the tile in one kernel: beyond, code grows without need.
static constexpr int64_t kMaxVersions = 10;
/// Planning takes time for each tile.
static constexpr int64_t kMaxColumns = 1 << 20;
/// Bytes of a block's filter that are read again and again from the second cache,
/// beyond which features go in passes of `kPassFilter`; of the input of a stretch.
static constexpr int64_t kMaxFilter = 640 << 10, kPassFilter = 160 << 10, kStretchInput = 192 << 10;

namespace {
struct Tiling {
  int64_t vectors, tile, cost;
};
} // namespace

/// Outputs are split into `count` tiles whose sizes differ by at most one unit:
/// with base dilation a unit is what keeps the phase of the holes.
static SmallVector<int64_t> splitColumns(const ColumnWindow &w, int64_t count) {
  int64_t unit = w.base / std::gcd(w.stride, w.base), units = (w.outputs + unit - 1) / unit;
  SmallVector<int64_t> sizes;
  int64_t left = w.outputs;
  for (int64_t i = 0; i < count; ++i) {
    sizes.push_back(std::min((units / count + (i < units % count)) * unit, left));
    left -= sizes.back();
  }
  return sizes;
}

/// Cost of a tile per input feature and row, in half cycles: two multiply-adds
/// or two loads start per cycle, a multiply-add takes four cycles, a loop step
/// about two. kFar where the tile does not fit.
///
/// Accumulators, the filter vectors in use and one broadcast value must fit in
/// the registers with one to spare. A filter vector is in use while the tile's
/// outputs pass over one element: (size - 1) * stride / dilation taps at most.
static int64_t tileCost(const ColumnWindow &w, int64_t size, int64_t vectors, int64_t registers) {
  int64_t live = std::min(w.taps, (size - 1) * w.stride / w.dilation + 1);
  int64_t fmas = size * vectors * ((w.taps + w.base - 1) / w.base);
  // A single output must do, whatever the number of taps.
  if (fmas > kMaxBody || (size > 1 && size * vectors + live * vectors + 1 > registers - 1))
    return kFar;
  int64_t span = (size - 1) * w.stride + (w.taps - 1) * w.dilation + 1;
  int64_t reads = std::min(span, size * w.taps) / w.base + w.taps * vectors;
  return std::max({fmas, reads, 8 * (w.taps / w.base)}) + 4;
}

/// The cheapest tiling for a number of vectors per tile. With an unknown number
/// of columns: tiles of 8, which leave few columns over.
static Tiling chooseTiling(const ColumnWindow &w, int64_t vectors, int64_t registers) {
  if (!w.isStatic()) {
    int64_t size = 8;
    while (size > 1 && tileCost(w, size, vectors, registers) >= kFar)
      --size;
    return {vectors, size, tileCost(w, size, vectors, registers)};
  }
  Tiling best{vectors, 0, kFar};
  auto consider = [&](int64_t count) {
    int64_t cost = 0, largest = 0;
    for (int64_t size : splitColumns(w, count)) {
      cost = std::min(kFar, cost + (size ? tileCost(w, size, vectors, registers) : 0));
      largest = std::max(largest, size);
    }
    if (cost < best.cost)
      best = {vectors, largest, cost};
  };
  int64_t fewest = std::max<int64_t>(1, (w.outputs + 15) / 16);
  for (int64_t count = fewest; count <= std::max<int64_t>(w.outputs, 1) && count < fewest + 16; ++count)
    consider(count);
  // Of many columns, those counts all give tiles of about 16, which may not fit.
  int64_t unit = w.base / std::gcd(w.stride, w.base), units = (w.outputs + unit - 1) / unit;
  for (int64_t perTile = 15; perTile > 0 && units > 15 * 16; --perTile)
    consider((units + perTile - 1) / perTile);
  return best;
}

/// Tiles as runs: those at the borders of the shard alone, interior ones of one
/// size as a loop.
static SmallVector<TileRun> makeRuns(const ColumnWindow &w, int64_t tile) {
  int64_t unit = w.base / std::gcd(w.stride, w.base), begin = 0;
  int64_t perTile = std::max<int64_t>(1, tile / unit), units = (w.outputs + unit - 1) / unit;
  SmallVector<TileRun> runs;
  for (int64_t size : splitColumns(w, (units + perTile - 1) / perTile)) {
    TileRun run{begin, size};
    begin += size;
    auto columns = w.columns(run.begin, size);
    run.interior = llvm::all_of(columns, [&](const TileColumn &c) {
      return w.mustBeValid(c.element) && c.element >= w.low && c.element < w.low + w.own;
    });
    // A tile that reads padding has fewer uses than one that does not.
    int64_t first = halo::floorDiv(w.offset + run.begin * w.stride, w.base);
    int64_t last = halo::floorDiv(w.offset + (begin - 1) * w.stride + (w.taps - 1) * w.dilation, w.base);
    run.interior &= w.mustBeValid(first) && w.mustBeValid(last);
    run.step = size * w.stride / w.base;
    bool keepsPhase = size * w.stride % w.base == 0;
    if (!runs.empty() && keepsPhase && run.interior && runs.back().interior && runs.back().size == size)
      ++runs.back().count;
    else
      runs.push_back(run);
  }
  return runs;
}

// ===--------------------------------------------------------------------=== //
// The plan
// ===--------------------------------------------------------------------=== //

bool ringconv::isContiguousDim(MemRefType type, int64_t d) {
  int64_t offset;
  SmallVector<int64_t> strides;
  return succeeded(type.getStridesAndOffset(strides, offset)) && strides[d] == 1;
}

bool ringconv::isVectorDim(MemRefType type, int64_t d) {
  return isContiguousDim(type, d) && isContiguousDim(type, type.getRank() - 1);
}

static bool isFloat(Type t) { return t.isF32() || t.isF64() || t.isF16() || t.isBF16(); }

/// Why the operands' types do not fit, or null.
static const char *checkTypes(LocalConvOp op) {
  auto input = cast<MemRefType>(op.getInput().getType()), filter = cast<MemRefType>(op.getFilter().getType());
  auto init = cast<MemRefType>(op.getInit().getType());
  if (!isFloat(input.getElementType()) || !isFloat(init.getElementType()))
    return "integers";
  if (op.getStride().empty())
    return "no spatial dimension";
  if (!filter.hasStaticShape() || init.isDynamicDim(dimOf(op.getOutputDims(), kFeature)))
    return "a filter of dynamic shape";
  if (filter.getNumElements() == 0)
    return "an empty filter";
  if (op.getBias() && !isContiguousDim(cast<MemRefType>(op.getBias().getType()), 0))
    return "a strided bias";
  return nullptr;
}

/// Halos in the columns' dimension are slabs that hold all corners (they come
/// last), so that an element's column alone says whether it lies in them.
static const char *checkHalos(ArrayRef<int64_t> halos, ArrayRef<int64_t> inputDims) {
  if (llvm::any_of(halos, [&](int64_t d) { return !llvm::is_contained(inputDims, d); }))
    return "halos of a dimension that is not spatial";
  if (llvm::is_contained(halos, inputDims.back()) && halos.back() != inputDims.back())
    return "halos in a dimension inside that of the columns";
  return nullptr;
}

static Bounds boundsOfMixed(LocalConvOp op, ArrayRef<int64_t> list, size_t n, size_t scalarsBefore) {
  if (!ShapedType::isDynamic(list[n]))
    return {list[n], list[n]};
  size_t dynamicBefore = llvm::count_if(list.take_front(n), ShapedType::isDynamic);
  return boundsOf(op.getScalars()[scalarsBefore + dynamicBefore]);
}

ColumnWindow ringconv::readColumns(LocalConvOp op, const VectorShape &shape) {
  size_t n = shape.taps.size() - 1;
  int64_t d = shape.inputDims.back();
  auto sizeOf = [](Value v, int64_t dim) { return cast<MemRefType>(v.getType()).getDimSize(dim); };
  ColumnWindow w{shape.taps[n],
                 op.getStride()[n],
                 op.getRhsDilate()[n],
                 op.getLhsDilate()[n],
                 op.getOffset()[n],
                 sizeOf(op.getInit(), shape.outputDims.back()),
                 0,
                 sizeOf(op.getInput(), d),
                 0,
                 {},
                 {}};
  if (llvm::is_contained(op.getHaloDims(), d)) {
    w.low = sizeOf(op.getHalos()[op.getHalos().size() - 2], d);
    w.high = sizeOf(op.getHalos().back(), d);
  }
  size_t offsets = llvm::count_if(op.getOffset(), ShapedType::isDynamic);
  size_t begins = llvm::count_if(op.getValidBegin(), ShapedType::isDynamic);
  w.validBegin = boundsOfMixed(op, op.getValidBegin(), n, offsets);
  w.validEnd = boundsOfMixed(op, op.getValidEnd(), n, offsets + begins);
  // What lies beyond the slabs is valid nowhere.
  if (w.isStatic()) {
    w.validBegin.min = std::max<int64_t>(w.validBegin.min, 0);
    w.validEnd.max = std::min(w.validEnd.max, w.low + w.own + w.high);
  }
  return w;
}

static const char *setLanes(VectorShape &shape, const LoopOptions &options) {
  shape.lanes = options.vectorWidth * 32 / shape.accumulator.getIntOrFloatBitWidth();
  return shape.lanes < 2 || !llvm::isPowerOf2_64(shape.lanes) ? "a vector width that is no power of two" : nullptr;
}

std::optional<VectorShape> ringconv::readVectorShape(LocalPoolOp op, const LoopOptions &options, std::string &reason) {
  VectorShape shape;
  shape.element = cast<MemRefType>(op.getInit().getType()).getElementType();
  shape.inputDims = spatialDims(op.getInputDims());
  shape.outputDims = spatialDims(op.getOutputDims());
  shape.taps.assign(op.getSize().begin(), op.getSize().end());
  const char *why = !isFloat(shape.element) ? "integers" : shape.taps.empty() ? "no spatial dimension" : nullptr;
  if (!why) {
    shape.accumulator = accumulationType(shape.element);
    why = checkHalos(op.getHaloDims(), shape.inputDims);
  }
  if (!why)
    why = setLanes(shape, options);
  if (!why)
    return shape;
  reason = why;
  return std::nullopt;
}

std::optional<VectorShape> ringconv::readVectorShape(LocalConvOp op, const LoopOptions &options, std::string &reason) {
  auto refuse = [&](const char *why) {
    reason = why;
    return std::nullopt;
  };
  if (const char *why = checkTypes(op))
    return refuse(why);
  VectorShape shape;
  shape.inputDims = spatialDims(op.getInputDims());
  shape.filterDims = spatialDims(op.getFilterDims());
  shape.outputDims = spatialDims(op.getOutputDims());
  if (const char *why = checkHalos(op.getHaloDims(), shape.inputDims))
    return refuse(why);
  auto filter = cast<MemRefType>(op.getFilter().getType());
  shape.element = cast<MemRefType>(op.getInit().getType()).getElementType();
  shape.accumulator = accumulationType(filter.getElementType());
  for (int64_t d : shape.filterDims)
    shape.taps.push_back(filter.getDimSize(d));
  shape.features = filter.getDimSize(dimOf(op.getFilterDims(), kInput));

  int64_t outputs = filter.getDimSize(dimOf(op.getFilterDims(), kOutput));
  if (const char *why = setLanes(shape, options))
    return refuse(why);
  if (op.getFeatureGroupOutputs() && op.getBatchGroupOutputs())
    return refuse("groups of features and of batches");
  shape.featureGroups = op.getFeatureGroupOutputs();
  shape.batchGroups = op.getBatchGroupOutputs();
  shape.perGroup = std::max<int64_t>(op.getFeatureGroupOutputs(), op.getBatchGroupOutputs());
  if (shape.perGroup == 0)
    shape.perGroup = outputs;
  if (outputs % shape.perGroup)
    return refuse("groups that are cut");
  shape.groups = outputs / shape.perGroup;
  return shape;
}

/// True if the groups are single features that lie side by side in input, slabs,
/// and result.
static bool isDepthwise(LocalConvOp op, const VectorShape &shape) {
  if (!shape.featureGroups || shape.perGroup != 1 || shape.features != 1 || shape.groups < 8)
    return false;
  int64_t in = dimOf(op.getInputDims(), kFeature), out = dimOf(op.getOutputDims(), kFeature);
  auto isVector = [](Value v, int64_t d) { return isVectorDim(cast<MemRefType>(v.getType()), d); };
  return isVector(op.getInput(), in) && isVector(op.getInit(), out) &&
         llvm::all_of(op.getHalos(), [&](Value halo) { return isVector(halo, in); });
}

/// Entries of the batch per tile, a divisor of the batch: as many as registers and
/// the size of the body allow, and as still add to the speed.
static int64_t chooseBatch(LocalConvOp op, const VectorPlan &plan, int64_t registers) {
  int64_t count = cast<MemRefType>(op.getInit().getType()).getDimSize(dimOf(op.getOutputDims(), kBatch));
  if (!plan.columns.isStatic() || ShapedType::isDynamic(count) || plan.depthwise)
    return 1;
  int64_t accumulators = plan.tile * plan.vectors, best = 1;
  int64_t fmas = accumulators * ((plan.columns.taps + plan.columns.base - 1) / plan.columns.base);
  for (int64_t batch = 2; batch * accumulators <= 16 && accumulators < 8; ++batch)
    if (count % batch == 0 && batch * fmas <= kMaxBatchBody && batch * accumulators + plan.vectors + 1 < registers)
      best = batch;
  return best;
}

/// How loops are blocked for the caches.
static void chooseBlocking(VectorPlan &plan) {
  int64_t bytes = plan.accumulator.getIntOrFloatBitWidth() / 8, taps = 1;
  for (int64_t t : plan.taps)
    taps *= t;
  int64_t perFeature = taps * plan.width() * bytes;
  plan.pass = plan.features;
  if (plan.features * perFeature > kMaxFilter && plan.columns.isStatic())
    plan.pass = std::max<int64_t>(4, kPassFilter / perFeature / 4 * 4);
  // Nothing is read where there are no features or no outputs.
  int64_t read = std::max<int64_t>(1, plan.features * plan.tile * plan.columns.stride * bytes);
  plan.stretch = std::max<int64_t>(1, kStretchInput / read);
}

std::optional<VectorPlan> ringconv::planVectorLoops(LocalConvOp op, const LoopOptions &options, std::string &reason) {
  auto refuse = [&](const char *why) {
    reason = why;
    return std::nullopt;
  };
  std::optional<VectorShape> shape = readVectorShape(op, options, reason);
  if (!shape)
    return std::nullopt;
  VectorPlan plan;
  static_cast<VectorShape &>(plan) = *shape;
  if (isDepthwise(op, plan)) {
    plan.depthwise = true;
    plan.perGroup = std::exchange(plan.groups, 1);
  }
  if (plan.perGroup < 8)
    return refuse("fewer than 8 output features per group");

  plan.columns = readColumns(op, plan);
  if (plan.columns.isStatic() && plan.columns.outputs > kMaxColumns)
    return refuse("more columns than are planned one by one");
  int64_t bits = plan.accumulator.getIntOrFloatBitWidth(), registers = plan.lanes * bits == 512 ? 32 : 16;
  Tiling tiling = chooseTiling(plan.columns, 1, registers);
  // Too few accumulators to hide the latency: two vectors of features each.
  if (tiling.tile < 8 && plan.perGroup >= 2 * plan.lanes) {
    Tiling two = chooseTiling(plan.columns, 2, registers);
    if (two.cost < 2 * tiling.cost)
      tiling = two;
  }
  if (tiling.cost >= kFar)
    return refuse("a window of too many taps");
  plan.vectors = tiling.vectors;
  plan.tile = std::max<int64_t>(tiling.tile, 1); // of no outputs: loops around it do nothing
  plan.batch = chooseBatch(op, plan, registers);
  chooseBlocking(plan);
  if (plan.columns.isStatic() && plan.columns.outputs > 0)
    plan.tiles = makeRuns(plan.columns, plan.tile);
  if (int64_t(plan.tiles.size()) > kMaxVersions)
    return refuse("too many different tiles");
  return plan;
}
