// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialect itself: registration, and the checks of the attributes that stand
// on function arguments and results.
#include "OpText.h"

#include "ringconv/Dialect/RingConv/IR/Bytecode.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace ringconv;

#include "ringconv/Dialect/RingConv/IR/RingConvDialect.cpp.inc"
#include "ringconv/Dialect/RingConv/IR/RingConvEnums.cpp.inc"
#include "ringconv/Dialect/RingConv/IR/RingConvInterfaces.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "ringconv/Dialect/RingConv/IR/RingConvTypes.cpp.inc"
#define GET_OP_CLASSES
#include "ringconv/Dialect/RingConv/IR/RingConvOps.cpp.inc"

void RingConvDialect::initialize() {
  addBytecodeInterface(*this);
  registerAttributes();
  registerTypes();
  addOperations<
#define GET_OP_LIST
#include "ringconv/Dialect/RingConv/IR/RingConvOps.cpp.inc"
      >();
}

void RingConvDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "ringconv/Dialect/RingConv/IR/RingConvTypes.cpp.inc"
      >();
}

MeshOp ringconv::lookupMesh(Operation *op, FlatSymbolRefAttr mesh) {
  Operation *table = op;
  while (table && !table->hasTrait<OpTrait::SymbolTable>())
    table = table->getParentOp();
  return table ? dyn_cast_or_null<MeshOp>(SymbolTable::lookupSymbolIn(table, mesh)) : MeshOp();
}

/// Checks a sharding against the tensor type it stands on (sharding_c1 to c5).
static LogicalResult verifySharding(Operation *op, Attribute attr, Type type, const Twine &what) {
  auto sharding = dyn_cast<ShardingAttr>(attr);
  if (!sharding)
    return op->emitError() << what << ": expected a #ringconv.sharding, got " << attr;
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return op->emitError() << what << ": a sharding needs a ranked tensor, got " << type;
  MeshOp mesh = lookupMesh(op, sharding.getMesh());
  if (!mesh)
    return op->emitError() << what << ": no mesh named @" << sharding.getMesh().getValue();
  if (auto why = checkSharding(sharding, tensor.getShape(), mesh.getMesh()))
    return op->emitError() << what << ": " << *why;
  return success();
}

static LogicalResult verifyValueAttr(Operation *op, NamedAttribute attr, Type type, const Twine &what, bool argument) {
  StringRef name = attr.getName();
  if (name == kSharding)
    return verifySharding(op, attr.getValue(), type, what);
  if (name == kShardOf) {
    auto shardOf = dyn_cast<ShardOfAttr>(attr.getValue());
    if (!shardOf)
      return op->emitError() << what << ": expected a #ringconv.shard_of, got " << attr.getValue();
    return verifySharding(op, shardOf.getSharding(), shardOf.getType(), what);
  }
  if (name == kName)
    return isa<StringAttr>(attr.getValue()) ? success() : op->emitError() << what << ": ringconv.name must be a string";
  if ((name == kParameter || name == kWantsGrad) && argument)
    return isa<UnitAttr>(attr.getValue()) ? success()
                                          : op->emitError() << what << ": " << name << " must be a unit attribute";
  return op->emitError() << what << ": unknown attribute " << name;
}

LogicalResult RingConvDialect::verifyRegionArgAttribute(Operation *op, unsigned, unsigned arg, NamedAttribute attr) {
  auto func = dyn_cast<FunctionOpInterface>(op);
  if (!func)
    return op->emitError() << "ringconv attributes stand on function arguments only";
  return verifyValueAttr(op, attr, func.getArgumentTypes()[arg], "argument " + Twine(arg), true);
}

LogicalResult RingConvDialect::verifyRegionResultAttribute(Operation *op, unsigned, unsigned result,
                                                           NamedAttribute attr) {
  auto func = dyn_cast<FunctionOpInterface>(op);
  if (!func)
    return op->emitError() << "ringconv attributes stand on function results only";
  return verifyValueAttr(op, attr, func.getResultTypes()[result], "result " + Twine(result), false);
}

LogicalResult RingConvDialect::verifyOperationAttribute(Operation *op, NamedAttribute attr) {
  // What conversions leave for the emission of programs.
  static constexpr StringLiteral ofModules[] = {"ringconv.exchanges", "ringconv.sums",      "ringconv.arena",
                                                "ringconv.kernels",   "ringconv.constants", "ringconv.shared",
                                                "ringconv.cudnn"};
  if (isa<ModuleOp>(op) && llvm::is_contained(ofModules, attr.getName().strref()))
    return success();
  return op->emitError() << "unknown discardable attribute " << attr.getName();
}

LogicalResult ReshardOp::verify() {
  return verifySharding(*this, getSharding(), getType(), "reshard_c1");
}

/// Axes of reductions and part numbers: those of a mesh that exists.
static LogicalResult verifyAxes(Operation *op, FlatSymbolRefAttr meshName, ArrayAttr axes) {
  MeshOp mesh = lookupMesh(op, meshName);
  if (!mesh)
    return op->emitOpError() << "no mesh named " << meshName;
  for (Attribute axis : axes) {
    auto name = dyn_cast<StringAttr>(axis);
    if (!name || mesh.getMesh().axisIndex(name.getValue()) < 0)
      return op->emitOpError() << "the mesh has no axis " << axis;
  }
  return success();
}

/// A tensor that moves from one sharding to another.
static LogicalResult verifyMove(Operation *op, Type type, ShardingAttr from, ShardingAttr to) {
  return failure(failed(verifySharding(op, from, type, "from")) || failed(verifySharding(op, to, type, "to")));
}

LogicalResult CoordOp::verify() { return verifyAxes(*this, getMeshAttr(), getAxes()); }
LogicalResult AllReduceOp::verify() { return verifyAxes(*this, getMeshAttr(), getAxes()); }
LogicalResult StartReduceOp::verify() {
  for (Value init : getInits())
    if (getElementTypeOrSelf(init.getType()) != getElementTypeOrSelf(getInits()[0].getType()))
      return emitOpError() << "the tensors must share an element type, got " << getInits()[0].getType() << " and "
                           << init.getType();
  return verifyAxes(*this, getMeshAttr(), getAxes());
}
LogicalResult RedistributeOp::verify() { return verifyMove(*this, getType(), getFrom(), getTo()); }
LogicalResult ReduceScatterOp::verify() {
  return failure(failed(verifyMove(*this, getType(), getFrom(), getTo())) ||
                 failed(verifyAxes(*this, getFrom().getMesh(), getAxes())));
}
