// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// linalg.conv_* and linalg.depthwise_conv_*, told by which loops their tensors
// share:
//
//   loop in          x y     batch            (b)
//                    x   w   input channel    (f, i)
//                      y w   output channel   (f, o)
//                    x y w   group            (f, o), major to a channel
//
// A group and a channel of one tensor become one dimension; b, f, o, i that do
// not exist become dimensions of 1 in front.
#include "Raise.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace ringconv;

/// Reads with zero points are another operation: they have more inputs.
static linalg::LinalgOp asConv(Operation *op) {
  StringRef name = op->getName().getStringRef();
  auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
  if (!linalgOp || !(name.starts_with("linalg.conv_") || name.starts_with("linalg.depthwise_conv_")) ||
      linalgOp.getNumDpsInputs() != 2 || linalgOp.getNumDpsInits() != 1 || !linalgOp.hasPureTensorSemantics() ||
      !llvm::all_of(op->getOperands(), [](Value v) { return raise::isStatic(v); }))
    return {};
  return linalgOp;
}

namespace {
/// The dimensions of one tensor: names, where two equal ones are a group and a
/// channel, and whether it is the group.
struct Dims {
  raise::Names names;
  SmallVector<bool> group;

  int64_t count(int64_t name) const { return llvm::count(names, name); }
};

/// A tensor with its dimensions as ringconv.conv wants them.
struct Form {
  raise::Names names;                     ///< with the ones in front
  SmallVector<int64_t> merged, shape;     ///< without and with the ones in front
  SmallVector<ReassociationIndices> from; ///< merged dimension -> dimensions
  SmallVector<ReassociationIndices> ones; ///< merged dimension -> dimensions of `shape`
};
} // namespace

/// Nothing if a group does not stand directly before its channel.
static std::optional<Form> formOf(const Dims &dims, ArrayRef<int64_t> shape, ArrayRef<int64_t> letters) {
  Form form;
  raise::Names merged;
  for (auto [d, name] : llvm::enumerate(dims.names)) {
    if (!merged.empty() && merged.back() == name && dims.group[d - 1] && !dims.group[d]) {
      form.from.back().push_back(d);
      form.merged.back() *= shape[d];
      continue;
    }
    if (llvm::is_contained(merged, name))
      return std::nullopt;
    merged.push_back(name);
    form.from.push_back({int64_t(d)});
    form.merged.push_back(shape[d]);
  }
  for (int64_t letter : letters)
    if (!llvm::is_contained(merged, letter))
      form.names.push_back(letter);
  int64_t ones = form.names.size();
  form.shape.assign(ones, 1);
  form.names.append(merged);
  form.shape.append(form.merged);
  for (int64_t d = 0; d < int64_t(merged.size()); ++d)
    form.ones.push_back({ones + d});
  for (int64_t d = ones; d-- > 0;)
    form.ones.front().insert(form.ones.front().begin(), d);
  return form;
}

static RankedTensorType withShape(Value value, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, cast<ShapedType>(value.getType()).getElementType());
}

static Value toForm(OpBuilder &b, Location loc, Value value, const Form &form) {
  if (form.merged.size() != size_t(cast<ShapedType>(value.getType()).getRank()))
    value = tensor::CollapseShapeOp::create(b, loc, withShape(value, form.merged), value, form.from);
  if (form.shape.size() != form.merged.size())
    value = tensor::ExpandShapeOp::create(b, loc, withShape(value, form.shape), value, form.ones);
  return value;
}

static Value fromForm(OpBuilder &b, Location loc, Value value, const Form &form, RankedTensorType type) {
  if (form.shape.size() != form.merged.size())
    value = tensor::CollapseShapeOp::create(b, loc, withShape(value, form.merged), value, form.ones);
  if (form.merged.size() != size_t(type.getRank()))
    value = tensor::ExpandShapeOp::create(b, loc, type, value, form.from);
  return value;
}

namespace {
struct Match {
  Dims input, filter, result;
  raise::Windows windows;
  SmallVector<int64_t> sizes, outputs; ///< by spatial number
  int64_t groups = 1;
};
} // namespace

/// Names of a tensor's dimensions by the loops that access them.
static Dims nameDims(ArrayRef<raise::Access> accesses, ArrayRef<raise::Access> spatial,
                     llvm::function_ref<int64_t(int64_t)> letter, llvm::function_ref<bool(int64_t)> isGroup) {
  Dims dims;
  for (const raise::Access &a : accesses) {
    int64_t name = a.isWindow() ? -1 : letter(a.loop);
    for (auto [n, s] : llvm::enumerate(spatial))
      if ((a.isWindow() && a.out == s.out) || (!a.isWindow() && (a.loop == s.out || a.loop == s.tap)))
        name = n;
    dims.names.push_back(name);
    dims.group.push_back(!a.isWindow() && isGroup(a.loop));
  }
  return dims;
}

static std::optional<Match> match(linalg::LinalgOp op) {
  auto x = raise::accessesOf(op, op.getDpsInputOperand(0)), w = raise::accessesOf(op, op.getDpsInputOperand(1));
  auto y = raise::accessesOf(op, op.getDpsInitOperand(0));
  if (!x || !w || !y)
    return std::nullopt;
  auto spatial = raise::spatialAccesses(*x, *y);
  if (!spatial)
    return std::nullopt;
  auto has = [](ArrayRef<raise::Access> accesses, int64_t loop) {
    return llvm::any_of(accesses, [&](const raise::Access &a) { return a.loop == loop; });
  };
  auto isGroup = [&](int64_t l) { return has(*x, l) && has(*w, l) && has(*y, l); };
  Match m;
  m.input = nameDims(
      *x, *spatial, [&](int64_t l) { return has(*w, l) ? kFeature : kBatch; }, isGroup);
  m.filter = nameDims(
      *w, *spatial, [&](int64_t l) { return has(*y, l) ? kOutput : kInput; }, isGroup);
  m.result = nameDims(
      *y, *spatial, [&](int64_t l) { return has(*w, l) ? kFeature : kBatch; }, isGroup);
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  for (int64_t l = 0; l < int64_t(ranges.size()); ++l)
    if (isGroup(l))
      m.groups *= ranges[l];
  auto shape = cast<ShapedType>(op.getDpsInputs()[0].getType()).getShape();
  for (auto [n, s] : llvm::enumerate(*spatial)) {
    m.windows.push_back({ranges[s.tap], s.stride, s.dilation});
    m.outputs.push_back(ranges[s.out]);
    m.sizes.push_back(shape[dimOf(m.input.names, n)]);
  }
  raise::cropToOutputs(m.windows, m.sizes, m.outputs);
  return m;
}

/// Takes a pad of zeros on window dimensions into the windows.
static Value foldPad(Value input, Match &m) {
  raise::Pad pad = raise::padOf(input);
  if (!pad.value || !raise::isZero(pad.value))
    return input;
  for (auto [d, name] : llvm::enumerate(m.input.names))
    if (name < 0 && (pad.low[d] != 0 || pad.high[d] != 0))
      return input;
  for (auto [d, name] : llvm::enumerate(m.input.names))
    if (name >= 0) {
      m.windows[name].padLow += pad.low[d];
      m.windows[name].padHigh += pad.high[d];
    }
  return pad.source;
}

/// The filter with its group before its output channel.
static Value groupFirst(OpBuilder &b, Location loc, Value filter, Dims &dims) {
  int64_t group = -1, channel = -1, rank = dims.names.size();
  for (int64_t d = 0; d < rank; ++d)
    if (dims.names[d] == kOutput)
      (dims.group[d] ? group : channel) = d;
  if (group < 0 || channel < 0 || group + 1 == channel)
    return filter;
  SmallVector<int64_t> order, shape;
  for (int64_t d = 0; d < rank; ++d) {
    if (d == channel)
      order.push_back(group);
    if (d != group)
      order.push_back(d);
  }
  Dims moved;
  for (int64_t d : order) {
    moved.names.push_back(dims.names[d]);
    moved.group.push_back(dims.group[d]);
    shape.push_back(cast<ShapedType>(filter.getType()).getDimSize(d));
  }
  dims = moved;
  Value empty = tensor::EmptyOp::create(b, loc, shape, cast<ShapedType>(filter.getType()).getElementType());
  return linalg::TransposeOp::create(b, loc, filter, empty, order).getResult()[0];
}

/// The vector that `init` repeats along everything but features, or null.
static Value biasOf(Value init, const Dims &result) {
  auto broadcast = init.getDefiningOp<linalg::BroadcastOp>();
  if (!broadcast || result.count(kFeature) != 1 || cast<ShapedType>(broadcast.getInput().getType()).getRank() != 1)
    return {};
  int64_t feature = llvm::find(result.names, kFeature) - result.names.begin();
  return llvm::is_contained(broadcast.getDimensions(), feature) ? Value() : broadcast.getInput();
}

bool raise::raiseLinalgConv(Operation *op) {
  linalg::LinalgOp linalgOp = asConv(op);
  auto m = linalgOp ? match(linalgOp) : std::nullopt;
  if (!m)
    return false;
  Location loc = op->getLoc();
  Value input = linalgOp.getDpsInputs()[0], filter = linalgOp.getDpsInputs()[1], init = linalgOp.getDpsInits()[0];
  auto type = cast<RankedTensorType>(init.getType());
  auto elementOf = [](Value v) { return cast<ShapedType>(v.getType()).getElementType(); };
  if (!convTypes(elementOf(input), elementOf(filter), type.getElementType()))
    return false;
  auto y = formOf(m->result, type.getShape(), {kBatch, kFeature});
  auto x = formOf(m->input, cast<ShapedType>(input.getType()).getShape(), {kBatch, kFeature});
  if (!x || !y)
    return false;
  OpBuilder b(op);
  input = foldPad(input, *m);
  filter = groupFirst(b, loc, filter, m->filter);
  x = formOf(m->input, cast<ShapedType>(input.getType()).getShape(), {kBatch, kFeature});
  auto w = formOf(m->filter, cast<ShapedType>(filter.getType()).getShape(), {kOutput, kInput});
  if (!w) // the transposition, if there is one, has no use
    return false;
  Value bias = biasOf(init, m->result);
  Conv conv{toForm(b, loc, input, *x), toForm(b, loc, filter, *w), bias, x->names, w->names, y->names, m->windows};
  conv.featureGroups = m->groups;
  Value value = makeConv(b, loc, withShape(init, y->shape), conv);
  value = fromForm(b, loc, value, *y, type);
  if (!bias && !isZero(splatOf(init)))
    value = type.getElementType().isInteger() ? arith::AddIOp::create(b, loc, value, init).getResult()
                                              : arith::AddFOp::create(b, loc, value, init).getResult();
  op->getResult(0).replaceAllUsesWith(value);
  op->erase();
  return true;
}
