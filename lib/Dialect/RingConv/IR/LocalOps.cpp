// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations of the partitioned program: effects, verifiers, folds.
#include "ringconv/Dialect/RingConv/IR/RingConv.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace ringconv;

using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

/// On memrefs inputs are read and inits written; what other ranks see
/// (`communicates`) must neither be dropped nor change its place.
static void destinationEffects(Operation *op, Effects &effects, bool readsInits, bool communicates) {
  auto dst = cast<DestinationStyleOpInterface>(op);
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isa<MemRefType>(operand.get().getType()))
      continue;
    bool init = dst.isDpsInit(&operand);
    if (!init || readsInits)
      effects.emplace_back(MemoryEffects::Read::get(), &operand, SideEffects::DefaultResource::get());
    if (init)
      effects.emplace_back(MemoryEffects::Write::get(), &operand, SideEffects::DefaultResource::get());
  }
  if (!communicates)
    return;
  effects.emplace_back(MemoryEffects::Read::get(), SideEffects::DefaultResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), SideEffects::DefaultResource::get());
}

static void communicationEffects(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get(), SideEffects::DefaultResource::get());
  effects.emplace_back(MemoryEffects::Write::get(), SideEffects::DefaultResource::get());
}

void LocalConvOp::getEffects(Effects &e) { destinationEffects(*this, e, false, false); }
void LocalPoolOp::getEffects(Effects &e) { destinationEffects(*this, e, false, false); }
void StartOp::getEffects(Effects &e) { destinationEffects(*this, e, false, true); }
void WaitOp::getEffects(Effects &e) { destinationEffects(*this, e, true, true); }
void RedistributeOp::getEffects(Effects &e) { destinationEffects(*this, e, false, true); }
void AllReduceOp::getEffects(Effects &e) { destinationEffects(*this, e, true, true); }
void StartReduceOp::getEffects(Effects &e) { destinationEffects(*this, e, true, true); }
void ReduceScatterOp::getEffects(Effects &e) { destinationEffects(*this, e, false, true); }
void HaloExchangeOp::getEffects(Effects &e) { communicationEffects(e); }
void GroupOp::getEffects(Effects &e) { communicationEffects(e); }
void SendOp::getEffects(Effects &e) { communicationEffects(e); }
void RecvOp::getEffects(Effects &e) { communicationEffects(e); }
void KeptOp::getEffects(Effects &e) { communicationEffects(e); }
void MarkOp::getEffects(Effects &e) { communicationEffects(e); }
void KeepOp::getEffects(Effects &e) { communicationEffects(e); }
void CountOp::getEffects(Effects &e) { communicationEffects(e); }

OpFoldResult LookupOp::fold(FoldAdaptor adaptor) {
  Builder b(getContext());
  if (auto value = getTable().constant())
    return b.getIndexAttr(*value);
  if (auto part = dyn_cast_or_null<IntegerAttr>(adaptor.getPart()))
    return b.getIndexAttr(getTable().at(part.getInt()));
  return {};
}

// ===--------------------------------------------------------------------=== //
// Verifiers
// ===--------------------------------------------------------------------=== //

static int64_t countDynamic(ArrayRef<int64_t> values) {
  return llvm::count(values, ShapedType::kDynamic);
}

/// What local_conv and local_pool share: list sizes, scalars, halos.
template <typename OpTy> static LogicalResult verifyLocal(OpTy op) {
  size_t spatial = op.getStride().size();
  for (ArrayRef<int64_t> list : {op.getLhsDilate(), op.getRhsDilate(), op.getOffset(), op.getValidBegin(),
                                 op.getValidEnd()})
    if (list.size() != spatial)
      return op.emitOpError() << "expected " << spatial << " entries per window list, got " << list.size();
  int64_t scalars = countDynamic(op.getOffset()) + countDynamic(op.getValidBegin()) + countDynamic(op.getValidEnd());
  if (scalars != int64_t(op.getScalars().size()))
    return op.emitOpError() << "expected " << scalars << " scalars, got " << op.getScalars().size();
  for (int64_t v : op.getStride())
    if (v < 1)
      return op.emitOpError() << "strides must be at least 1, got " << v;
  for (ArrayRef<int64_t> dilations : {op.getLhsDilate(), op.getRhsDilate()})
    for (int64_t v : dilations)
      if (v < 1)
        return op.emitOpError() << "dilations must be at least 1, got " << v;
  auto input = cast<ShapedType>(op.getInput().getType());
  if (op.getHalos().size() != 2 * op.getHaloDims().size())
    return op.emitOpError() << "expected a low and a high slab per halo dimension, got " << op.getHalos().size();
  int64_t last = -1;
  for (int64_t d : op.getHaloDims()) {
    if (d <= last || d >= input.getRank())
      return op.emitOpError() << "halo_dims must ascend within the input's dimensions, got " << d;
    last = d;
  }
  for (Value halo : op.getHalos()) {
    auto type = cast<ShapedType>(halo.getType());
    if (type.getRank() != input.getRank() || type.getElementType() != input.getElementType())
      return op.emitOpError() << "slabs must have the input's rank and element type, got " << type;
  }
  auto out = cast<ShapedType>(op.getInit().getType());
  if (int64_t(op.getInputDims().size()) != input.getRank() || int64_t(op.getOutputDims().size()) != out.getRank())
    return op.emitOpError() << "dims must name each dimension of input and result";
  if (spatialDims(op.getInputDims()).size() != spatial || spatialDims(op.getOutputDims()).size() != spatial)
    return op.emitOpError() << "dims must name the spatial numbers 0 .. " << int64_t(spatial) - 1;
  return success();
}

LogicalResult LocalConvOp::verify() {
  if (failed(verifyLocal(*this)))
    return failure();
  auto filter = cast<ShapedType>(getFilter().getType());
  if (int64_t(getFilterDims().size()) != filter.getRank() ||
      spatialDims(getFilterDims()).size() != getStride().size() || getReverse().size() != getStride().size())
    return emitOpError() << "the filter's dims and reverse must have one entry per spatial dimension";
  for (ArrayRef<int64_t> dims : {getInputDims(), getFilterDims(), getOutputDims()})
    if (dimOf(dims, kBatch) < 0 || dimOf(dims, kFeature) < 0)
      return emitOpError() << "dims must name both letters of each tensor";
  return success();
}

LogicalResult LocalPoolOp::verify() {
  if (failed(verifyLocal(*this)))
    return failure();
  if (getSize().size() != getStride().size() || !symbolizePoolKind(getKind()))
    return emitOpError() << "expected a window size per spatial dimension and a kind 0 to 3";
  if (!getSelector().empty()) {
    if (PoolKind(getKind()) != PoolKind::Sum || getSelector().size() != 1 + getHalos().size())
      return emitOpError() << "a selector goes with a sum and has one slab per halo, got " << getSelector().size();
    for (auto [value, like] : llvm::zip(getSelector(), llvm::concat<Value>(SmallVector<Value>{getInput()},
                                                                          SmallVector<Value>(getHalos()))))
      if (!cast<ShapedType>(value.getType()).getElementType().isSignlessInteger(32) ||
          cast<ShapedType>(value.getType()).getRank() != cast<ShapedType>(like.getType()).getRank())
        return emitOpError() << "a selector is i32 and has the input's rank, got " << value.getType();
  }
  for (int64_t letter : {kBatch, kFeature})
    if ((dimOf(getInputDims(), letter) < 0) != (dimOf(getOutputDims(), letter) < 0))
      return emitOpError() << "input and result must name the same letters";
  return success();
}

/// Checks entries against their tensor: ascending dimensions, axes of the mesh.
static LogicalResult verifyHaloDims(Operation *op, FlatSymbolRefAttr meshName, ArrayAttr dims, ShapedType input) {
  MeshOp mesh = lookupMesh(op, meshName);
  if (!mesh)
    return op->emitOpError() << "no mesh named " << meshName;
  int64_t last = -1;
  for (Attribute attr : dims) {
    auto dim = dyn_cast<HaloDimAttr>(attr);
    if (!dim)
      return op->emitOpError() << "expected #ringconv.halo_dim entries, got " << attr;
    if (dim.getDim() <= last || dim.getDim() >= input.getRank())
      return op->emitOpError() << "exchanged dimensions must ascend within the input's, got " << dim.getDim();
    if (dim.getLow() < 0 || dim.getHigh() < 0)
      return op->emitOpError() << "slab sizes must not be negative";
    for (StringAttr axis : dim.getAxes())
      if (mesh.getMesh().axisIndex(axis.getValue()) < 0)
        return op->emitOpError() << "the mesh has no axis " << axis;
    for (PieceAttr piece : dim.getPieces())
      if (piece.getStep() < 1)
        return op->emitOpError() << "the step of a piece must be positive, got " << piece.getStep();
    last = dim.getDim();
  }
  return success();
}

size_t ringconv::countSlabs(ArrayAttr dims) {
  return 2 * llvm::count_if(dims.getAsRange<HaloDimAttr>(), [](HaloDimAttr dim) { return dim.hasSlabs(); });
}

LogicalResult HaloExchangeOp::verify() {
  if (failed(verifyHaloDims(*this, getMeshAttr(), getDims(), getInput().getType())))
    return failure();
  if (getSlabs().size() != countSlabs(getDims()))
    return emitOpError() << "expected " << countSlabs(getDims()) << " slabs, got " << getSlabs().size();
  return success();
}

LogicalResult StartOp::verify() {
  if (getDims().size() != getInputs().size())
    return emitOpError() << "expected one array of exchanged dimensions per input";
  size_t slabs = 0;
  for (auto [dims, input] : llvm::zip(getDims(), getInputs())) {
    auto array = dyn_cast<ArrayAttr>(dims);
    if (!array)
      return emitOpError() << "expected arrays of exchanged dimensions";
    if (failed(verifyHaloDims(*this, getMeshAttr(), array, cast<ShapedType>(input.getType()))))
      return failure();
    slabs += countSlabs(array);
  }
  if (getInits().size() != slabs)
    return emitOpError() << "expected " << slabs << " slabs, got " << getInits().size();
  return success();
}

Value LocalBuilder::empty(unsigned i) {
  return tensor::EmptyOp::create(builder, loc, sizes[i], results[i].getElementType());
}
