// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_ATTRS_TD
#define RINGCONV_ATTRS_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "ringconv/Dialect/RingConv/IR/RingConvDialect.td"

class RingConv_Attr<string name, string attrMnemonic> : AttrDef<RingConv_Dialect, name> {
  let mnemonic = attrMnemonic;
}

// Also the words of `window {border = [...]}`.
def RingConv_Border : I64EnumAttr<"Border", "what a tap beyond the tensor reads", [
    I64EnumAttrCase<"Zero", 0, "zero">, I64EnumAttrCase<"Circular", 1, "circular">,
    I64EnumAttrCase<"Reflect", 2, "reflect">, I64EnumAttrCase<"Replicate", 3, "replicate">]> {
  let cppNamespace = "::ringconv";
}

def RingConv_PoolKind : I64EnumAttr<"PoolKind", "how a pool combines its window", [
    I64EnumAttrCase<"Max", 0, "max">, I64EnumAttrCase<"Sum", 1, "sum">, I64EnumAttrCase<"Avg", 2, "avg">,
    I64EnumAttrCase<"ArgMax", 3, "argmax">]> {
  let cppNamespace = "::ringconv";
}

def RingConv_MeshAttr : RingConv_Attr<"Mesh", "mesh_attr"> {
  let summary = "Named axes with extents, and the device of each position.";
  let description = [{
    `<["dp" = 2, "sp" = 4], device_ids = [...]>`. Ranks are row-major positions,
    the last axis fastest; device_ids gives the process, thread or GPU number of
    each position (left out: the position itself).

    **Constraints** (mesh_c1) extents are at least 1; (mesh_c2) axis names differ
    and are not empty; (mesh_c3) device_ids is a permutation of 0 .. size - 1;
    (mesh_c4) the size is at most 2^20.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$axes, ArrayRefParameter<"int64_t">:$extents,
                    OptionalArrayRefParameter<"int64_t">:$deviceIds);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Number of ranks.
    int64_t size() const;
    /// Position of an axis, or -1.
    int64_t axisIndex(::llvm::StringRef name) const;
    /// Number of parts of a dimension cut by these axes.
    int64_t parts(::llvm::ArrayRef<::mlir::StringAttr> names) const;
  }];
}

def RingConv_DimShardingAttr : RingConv_Attr<"DimSharding", "dim_sharding"> {
  let summary = "The mesh axes that cut one dimension, major first, and where.";
  let description = [{ `{"dp", "sp"}` or `{"sp", cuts = [0, 40, 48, 56, 64]}`. Without cuts: balanced. }];
  let parameters = (ins OptionalArrayRefParameter<"::mlir::StringAttr">:$axes,
                    OptionalArrayRefParameter<"int64_t">:$cuts);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{ bool isCut() const { return !getAxes().empty(); } }];
}

def RingConv_ShardingAttr : RingConv_Attr<"Sharding", "sharding"> {
  let summary = "How a tensor is cut over a mesh, dimension by dimension.";
  let description = [{
    `#ringconv.sharding<@grid, [{"dp"}, {}, {}, {"sp"} ]>`. Axes that no
    dimension names replicate.

    **Constraints**, checked where the attribute meets a tensor: (sharding_c1)
    the mesh exists; (sharding_c2) one entry per dimension; (sharding_c3) its
    axes are axes of the mesh; (sharding_c4) no axis is used twice;
    (sharding_c5) cuts go from 0 to the size, do not decrease, and are one more
    than the parts.
  }];
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$mesh,
                    OptionalArrayRefParameter<"::ringconv::DimShardingAttr">:$dims);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    int64_t rank() const { return getDims().size(); }
    DimShardingAttr dim(int64_t d) const { return getDims()[d]; }
    bool isReplicated() const;
    /// Nothing cut, for a tensor of `rank` dimensions.
    static ShardingAttr replicated(::mlir::FlatSymbolRefAttr mesh, int64_t rank);
  }];
}

def RingConv_ShardOfAttr : RingConv_Attr<"ShardOf", "shard_of"> {
  let summary = "The whole tensor that a local value is a shard of.";
  let parameters = (ins "::mlir::RankedTensorType":$type, "::ringconv::ShardingAttr":$sharding);
  let hasCustomAssemblyFormat = 1;
}

def RingConv_TableAttr : RingConv_Attr<"Table", "table"> {
  let summary = "An integer function of the part number, as linear runs.";
  let description = [{
    `<3>` is constant; `<0: 0, 1: 3>` is 0 for part 0 and 3 from part 1 on;
    `<0: 0 + 56>` is 56 c. Runs as in lib/Halo: the size does not depend on the
    mesh where cuts are even.
  }];
  // Triples begin, base, slope.
  let parameters = (ins ArrayRefParameter<"int64_t">:$runs);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t at(int64_t part) const;
    std::optional<int64_t> constant() const;
  }];
}

def RingConv_PieceAttr : RingConv_Attr<"Piece", "piece"> {
  let summary = "One kind of piece of the messages in one dimension; see halo::Piece.";
  let parameters = (ins "int64_t":$side, "bool":$reverse, "int64_t":$step, "::ringconv::TableAttr":$recvPeer,
                    "::ringconv::TableAttr":$recvAt, "::ringconv::TableAttr":$recvExtended,
                    "::ringconv::TableAttr":$recvSize, "::ringconv::TableAttr":$sendPeer,
                    "::ringconv::TableAttr":$sendAt, "::ringconv::TableAttr":$sendSize);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Pieces that are alike but for their tables may share a loop.
    bool isLike(PieceAttr other) const {
      return getSide() == other.getSide() && getReverse() == other.getReverse() && getStep() == other.getStep();
    }
  }];
}

def RingConv_FillAttr : RingConv_Attr<"Fill", "fill"> {
  let summary = "One kind of copy within a rank after the messages of one dimension; see halo::Fill.";
  let parameters = (ins "int64_t":$side, "int64_t":$from, "int64_t":$step, "int64_t":$fromStep, "bool":$ordered,
                    "::ringconv::TableAttr":$at, "::ringconv::TableAttr":$extended, "::ringconv::TableAttr":$fromAt,
                    "::ringconv::TableAttr":$fromExtended, "::ringconv::TableAttr":$size);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// One copy of a box does it; else one copy after the other.
    bool isBox() const { return getStep() == getFromStep() && !getOrdered(); }
    bool isLike(FillAttr other) const {
      return getSide() == other.getSide() && getFrom() == other.getFrom() && getStep() == other.getStep() &&
             getFromStep() == other.getFromStep() && getOrdered() == other.getOrdered();
    }
  }];
}

def RingConv_HaloDimAttr : RingConv_Attr<"HaloDim", "halo_dim"> {
  let summary = "The exchange in one dimension: slab sizes and kinds of pieces.";
  let description = [{
    `low` and `high` are slab sizes in elements, the same on every rank. Where
    both are 0 the dimension has no slabs: the entry says which part of the
    shard is read along it, by which ranks. `axes` are the mesh axes that the
    tables count parts of (none: a dimension that is not cut). `edges` are the
    outputs at either end that need the halo on some rank, and the fewest
    outputs of a rank; absent where a rank has too few. `fills` are copies
    within the rank, made in this order after the messages.
  }];
  let parameters = (ins "int64_t":$dim, OptionalArrayRefParameter<"::mlir::StringAttr">:$axes, "int64_t":$low,
                    "int64_t":$high, OptionalArrayRefParameter<"int64_t">:$edges,
                    OptionalArrayRefParameter<"::ringconv::PieceAttr">:$pieces,
                    OptionalArrayRefParameter<"::ringconv::FillAttr">:$fills);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{ bool hasSlabs() const { return getLow() > 0 || getHigh() > 0; } }];
}

#endif
