// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ringconv dialect: attributes, operations, interfaces.
#ifndef RINGCONV_DIALECT_RINGCONV_IR_RINGCONV_H
#define RINGCONV_DIALECT_RINGCONV_IR_RINGCONV_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "ringconv/Dialect/RingConv/IR/Interfaces.h"
#include "ringconv/Halo/Halo.h"

#include "ringconv/Dialect/RingConv/IR/RingConvDialect.h.inc"
#include "ringconv/Dialect/RingConv/IR/RingConvEnums.h.inc"

#define GET_ATTRDEF_CLASSES
#include "ringconv/Dialect/RingConv/IR/RingConvAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "ringconv/Dialect/RingConv/IR/RingConvTypes.h.inc"
#include "ringconv/Dialect/RingConv/IR/RingConvInterfaces.h.inc"
#define GET_OP_CLASSES
#include "ringconv/Dialect/RingConv/IR/RingConvOps.h.inc"

namespace ringconv {

/// Names of the attributes of function arguments and results.
inline constexpr llvm::StringLiteral kSharding = "ringconv.sharding";
inline constexpr llvm::StringLiteral kShardOf = "ringconv.shard_of";
inline constexpr llvm::StringLiteral kName = "ringconv.name";
inline constexpr llvm::StringLiteral kParameter = "ringconv.parameter";
inline constexpr llvm::StringLiteral kWantsGrad = "ringconv.wants_grad";

/// Dimension numbers: spatial numbers are 0 and up; the others are these.
/// In filters kBatch stands for `o` and kFeature for `i`.
enum DimNumber : int64_t { kBatch = -1, kFeature = -2, kOutput = -1, kInput = -2 };
/// Position of a dimension number in `dims`, or -1.
int64_t dimOf(llvm::ArrayRef<int64_t> dims, int64_t number);
/// Positions of the spatial numbers 0 .. n-1.
llvm::SmallVector<int64_t> spatialDims(llvm::ArrayRef<int64_t> dims);

/// Why `sharding` does not fit a tensor of `shape` on `mesh` (sharding_c2 to
/// sharding_c5), or nothing.
std::optional<std::string> checkSharding(ShardingAttr sharding, llvm::ArrayRef<int64_t> shape, MeshAttr mesh);
/// The cuts of dimension `d` of `size` elements; Cuts::whole where it is not cut.
halo::Cuts cutsOf(DimShardingAttr dim, int64_t size, MeshAttr mesh);
/// The canonical entry: cuts are left out where they are balanced.
DimShardingAttr makeDimSharding(mlir::MLIRContext *ctx, llvm::ArrayRef<mlir::StringAttr> axes, const halo::Cuts &cuts);
/// With each entry canonical, so that equal cuts are equal attributes.
ShardingAttr canonical(ShardingAttr sharding, llvm::ArrayRef<int64_t> shape, MeshAttr mesh);
/// The local type of a tensor: a cut dimension is static where its parts are equal.
mlir::RankedTensorType shardType(mlir::RankedTensorType type, ShardingAttr sharding, MeshAttr mesh);

TableAttr makeTable(mlir::MLIRContext *ctx, const halo::Table &table);
/// Slabs of an exchange of these HaloDimAttr: two for each that has slabs.
size_t countSlabs(mlir::ArrayAttr dims);

/// The mesh operation that `mesh` names in the module around `op`, or null.
MeshOp lookupMesh(mlir::Operation *op, mlir::FlatSymbolRefAttr mesh);

/// The type in which sums of products of `type` are kept.
mlir::Type accumulationType(mlir::Type type);

/// Adds the bufferization models of our operations.
void registerBufferizationModels(mlir::DialectRegistry &registry);

} // namespace ringconv

#endif
