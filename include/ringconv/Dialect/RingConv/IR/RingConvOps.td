// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_OPS_TD
#define RINGCONV_OPS_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/DestinationStyleOpInterface.td"
include "ringconv/Dialect/RingConv/IR/RingConvAttrs.td"
include "ringconv/Dialect/RingConv/IR/RingConvInterfaces.td"

class RingConv_Op<string mnemonic, list<Trait> traits = []> : Op<RingConv_Dialect, mnemonic, traits>;

def RingConv_Buffer : AnyTypeOf<[AnyRankedTensor, AnyStridedMemRef]>;
def RingConv_TokenType : TypeDef<RingConv_Dialect, "Token"> {
  let mnemonic = "token";
  let summary = "An exchange in flight.";
}

// ===--------------------------------------------------------------------=== //
// What a user writes
// ===--------------------------------------------------------------------=== //

def RingConv_MeshOp : RingConv_Op<"mesh", [Symbol]> {
  let summary = "the devices, as named axes";
  let description = [{
    One per module; a module without a mesh has one rank.

    Example:
    ```mlir
    ringconv.mesh @grid = <["dp" = 2, "sp" = 4]>
    ringconv.mesh @pair = <["x" = 2], device_ids = [1, 0]>
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, RingConv_MeshAttr:$mesh);
  let assemblyFormat = "$sym_name `=` $mesh attr-dict";
}

def RingConv_ConvOp : RingConv_Op<"conv", [Pure, DeclareOpInterfaceMethods<ShardableOpInterface>,
                                           DeclareOpInterfaceMethods<WindowedOpInterface>]> {
  let summary = "convolution of any form";
  let description = [{
    StableHLO's `convolution`. Dimension numbers: `b`, `f` (input and result),
    `o`, `i` (filter) and spatial numbers. `window` words are indexed by spatial
    number; words left out are neutral. Padding taps are skipped. A border mode
    other than zero maps them into the tensor. Bias is added before the one
    rounding at the end.

    **Constraints**
    - (conv_c1) the dimension numbers of each tensor name every dimension once,
      and the same spatial numbers 0 .. n-1;
    - (conv_c2) window words have one entry per spatial dimension; strides and
      dilations are at least 1;
    - (conv_c3) input and filter share an element type: f64, f32, f16, bf16 or
      i8; the result has it, or the accumulation type (f32 for f16 and bf16, i32
      for i8);
    - (conv_c4) group counts are at least 1 and not both above 1;
    - (conv_c5) input features == filter inputs * feature_group_count;
    - (conv_c6) filter outputs are divisible by each group count;
    - (conv_c7) the input's batch is divisible by batch_group_count;
    - (conv_c8) the result has the inferred shape;
    - (conv_c9) bias has one dimension of filter outputs, and the result's
      element type;
    - (conv_c10) no dimension of the input is 0;
    - (conv_c11) a border mode needs lhs_dilate 1, and reflect padding below the
      (cropped) size.

    Made by users and `ringconv-raise`, removed by `ringconv-partition`.

    Example:
    ```mlir
    %y = ringconv.conv %x, %w bias %b dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1]
           window {stride = [2, 2], pad = [[3, 3], [3, 3]]}
         : (tensor<8x3x224x224xf32>, tensor<64x3x7x7xf32>, tensor<64xf32>) -> tensor<8x64x112x112xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, AnyRankedTensor:$filter, Optional<AnyRankedTensor>:$bias,
                   DenseI64ArrayAttr:$input_dims, DenseI64ArrayAttr:$filter_dims, DenseI64ArrayAttr:$output_dims,
                   DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$pad_low, DenseI64ArrayAttr:$pad_high,
                   DenseI64ArrayAttr:$lhs_dilate, DenseI64ArrayAttr:$rhs_dilate, DenseBoolArrayAttr:$reverse,
                   DenseI64ArrayAttr:$border,
                   DefaultValuedAttr<I64Attr, "1">:$feature_group_count,
                   DefaultValuedAttr<I64Attr, "1">:$batch_group_count);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $input `,` $filter (`bias` $bias^)? `dims` custom<ConvDims>($input_dims, $filter_dims, $output_dims)
    custom<ConvWindow>($stride, $pad_low, $pad_high, $lhs_dilate, $rhs_dilate, $reverse, $border, ref($input_dims))
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Windows of the spatial dimensions, taps from the filter's shape.
    int64_t getNumSpatial() { return getStride().size(); }
    /// The result shape for the operand shapes and attributes.
    ::mlir::FailureOr<::llvm::SmallVector<int64_t>> inferShape();
  }];
}

def RingConv_PoolOp : RingConv_Op<"pool", [Pure, DeclareOpInterfaceMethods<ShardableOpInterface>,
                                           DeclareOpInterfaceMethods<WindowedOpInterface>]> {
  let summary = "pooling: max, sum or average over windows";
  let description = [{
    The window words of `ringconv.conv` and `size`. `avg` divides by the number
    of taps that read an element (`count_padding`: by the window size), 0 where
    there is none. max of nothing is -inf. `argmax` gives the row-major number
    in the window of the tap that a max takes: the first of equals, the first
    NaN before all others, and -1 for nothing.

    **Constraints** (pool_c1) dimension numbers as conv_c1, `b` and `f` may be
    absent in both; (pool_c2) window words as conv_c2, sizes at least 1;
    (pool_c3) input and result have the same element type, f64, f32, f16, bf16,
    i8 or i32; avg needs floats; argmax goes from floats to i32; (pool_c4) the result has the inferred shape;
    (pool_c5) count_padding goes with avg only; (pool_c6) no dimension of the
    input is 0; (pool_c7) borders as conv_c11; (pool_c8) an integer max has an
    element in every window.

    Example:
    ```mlir
    %y = ringconv.pool max %x dims [b, f, 0, 1] -> [b, f, 0, 1]
           window {size = [3, 3], stride = [2, 2], pad = [[1, 1], [1, 1]]}
         : tensor<1x8x56x56xf32> -> tensor<1x8x28x28xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, I64Attr:$kind, UnitAttr:$count_padding,
                   DenseI64ArrayAttr:$input_dims, DenseI64ArrayAttr:$output_dims,
                   DenseI64ArrayAttr:$size, DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$pad_low,
                   DenseI64ArrayAttr:$pad_high, DenseI64ArrayAttr:$lhs_dilate, DenseI64ArrayAttr:$rhs_dilate,
                   DenseBoolArrayAttr:$reverse, DenseI64ArrayAttr:$border);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    custom<PoolKind>($kind) (`count_padding` $count_padding^)? $input
    `dims` custom<PoolDims>($input_dims, $output_dims)
    custom<PoolWindow>($size, $stride, $pad_low, $pad_high, $lhs_dilate, $rhs_dilate, $reverse, $border,
                       ref($input_dims))
    attr-dict `:` type($input) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    int64_t getNumSpatial() { return getStride().size(); }
    ::mlir::FailureOr<::llvm::SmallVector<int64_t>> inferShape();
  }];
}

def RingConv_ReshardOp : RingConv_Op<"reshard", [Pure, SameOperandsAndResultType]> {
  let summary = "the same value, cut as said";
  let description = [{
    The only annotation of inner values. Folds where the operand already has
    that sharding.

    **Constraints** (reshard_c1) the sharding fits the tensor (sharding_c1 to
    sharding_c5).

    Example:
    ```mlir
    %r = ringconv.reshard %v <@grid, [{}, {"x"}, {}, {} ]> : tensor<1x6x6x13xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$input, RingConv_ShardingAttr:$sharding);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$input $sharding attr-dict `:` type($input)";
  let hasVerifier = 1;
}

include "ringconv/Dialect/RingConv/IR/RingConvGradientOps.td"

// ===--------------------------------------------------------------------=== //
// The program of one rank
// ===--------------------------------------------------------------------=== //

def RingConv_CoordOp : RingConv_Op<"coord", [Pure]> {
  let summary = "part number of this rank for a list of mesh axes";
  let description = [{
    The combined coordinate, first axis major; the same during the whole run.
    Example: `%c = ringconv.coord @grid ["dp", "sp"]`
  }];
  let arguments = (ins FlatSymbolRefAttr:$mesh, ArrayAttr:$axes);
  let results = (outs Index:$result);
  let assemblyFormat = "$mesh $axes attr-dict";
  let hasVerifier = 1;
}

def RingConv_LookupOp : RingConv_Op<"lookup", [Pure]> {
  let summary = "value of a table for a part number";
  let description = [{
    All numbers that differ by rank come from these tables, which lib/Halo
    makes. Example: `%v = ringconv.lookup %c <0: 0, 1: 3>`
  }];
  let arguments = (ins Index:$part, RingConv_TableAttr:$table);
  let results = (outs Index:$result);
  let assemblyFormat = "$part $table attr-dict";
  let hasFolder = 1;
}

// Operations that write into their destinations (`inits`), on tensors or memrefs.
class RingConv_DestinationOp<string mnemonic, list<Trait> traits = []>
    : RingConv_Op<mnemonic, !listconcat(traits, [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
                                                 DestinationStyleOpInterface])>;

def RingConv_LocalConvOp : RingConv_DestinationOp<"local_conv", [AttrSizedOperandSegments]> {
  let summary = "convolution of one rank's shard, halos read in place";
  let description = [{
    Reads the extended input: for each dimension of `halo_dims` (ascending) a
    low and a high slab beside the shard; a slab is extended in earlier halo
    dimensions and has the shard's range in later ones. For output o and tap t
    of spatial dimension n it reads position `offset[n] + o * stride[n] +
    t * rhs_dilate[n]`, element = position / lhs_dilate[n], and skips holes and
    elements outside [valid_begin[n], valid_end[n]). Offsets and bounds are
    mixed: static values, or operands where kDynamic stands.

    Feature groups: output feature o reads input features from
    (o / feature_group_outputs) * (filter inputs) on; batch groups: batch n of
    output feature o is (o / batch_group_outputs) * (result batch) + n. 0 means
    no groups. Accumulates from the bias, in the order input feature, then taps
    row-major; one rounding at the end.

    Made by `ringconv-partition`, removed by `convert-ringconv-to-loops`.
  }];
  let arguments = (ins RingConv_Buffer:$input, Variadic<RingConv_Buffer>:$halos, RingConv_Buffer:$filter,
                   Optional<RingConv_Buffer>:$bias, Variadic<Index>:$scalars, RingConv_Buffer:$init,
                   DenseI64ArrayAttr:$input_dims, DenseI64ArrayAttr:$filter_dims, DenseI64ArrayAttr:$output_dims,
                   DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$lhs_dilate, DenseI64ArrayAttr:$rhs_dilate,
                   DenseBoolArrayAttr:$reverse, DenseI64ArrayAttr:$halo_dims,
                   DenseI64ArrayAttr:$offset, DenseI64ArrayAttr:$valid_begin, DenseI64ArrayAttr:$valid_end,
                   DefaultValuedAttr<I64Attr, "0">:$feature_group_outputs,
                   DefaultValuedAttr<I64Attr, "0">:$batch_group_outputs,
                   OptionalAttr<I64Attr>:$report);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `ins` `(` $input `,` $filter (`bias` $bias^)? `:` type($input) `,` type($filter) (`,` type($bias)^)? `)`
    (`halos` `(` $halos^ `:` type($halos) `)`)? `outs` `(` $init `:` type($init) `)`
    `dims` custom<ConvDims>($input_dims, $filter_dims, $output_dims)
    custom<Mixed>($offset, $valid_begin, $valid_end, $scalars) attr-dict (`->` type($result)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
    int64_t getNumSpatial() { return getStride().size(); }
  }];
}

def RingConv_LocalPoolOp : RingConv_DestinationOp<"local_pool", [AttrSizedOperandSegments]> {
  let summary = "pooling of one rank's shard, halos read in place";
  let description = [{
    As `ringconv.local_conv`, with the window and kind of `ringconv.pool`.

    With `where`, a sum takes tap number t (row-major) of T only from places
    where the selector holds T - 1 - t, as `ringconv.pool_grad` says. `selector`
    is that tensor, then its slabs, all with the extents of `input` and `halos`.
  }];
  let arguments = (ins RingConv_Buffer:$input, Variadic<RingConv_Buffer>:$halos,
                   Variadic<RingConv_Buffer>:$selector, Variadic<Index>:$scalars, RingConv_Buffer:$init, I64Attr:$kind, UnitAttr:$count_padding,
                   DenseI64ArrayAttr:$input_dims, DenseI64ArrayAttr:$output_dims, DenseI64ArrayAttr:$size,
                   DenseI64ArrayAttr:$stride, DenseI64ArrayAttr:$lhs_dilate, DenseI64ArrayAttr:$rhs_dilate,
                   DenseI64ArrayAttr:$halo_dims,
                   DenseI64ArrayAttr:$offset, DenseI64ArrayAttr:$valid_begin, DenseI64ArrayAttr:$valid_end,
                   OptionalAttr<I64Attr>:$report);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    custom<PoolKind>($kind) (`count_padding` $count_padding^)? `ins` `(` $input `:` type($input) `)`
    (`halos` `(` $halos^ `:` type($halos) `)`)? (`where` `(` $selector^ `:` type($selector) `)`)?
    `outs` `(` $init `:` type($init) `)`
    `dims` custom<PoolDims>($input_dims, $output_dims)
    custom<Mixed>($offset, $valid_begin, $valid_end, $scalars) attr-dict (`->` type($result)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); }
    int64_t getNumSpatial() { return getStride().size(); }
  }];
}

def RingConv_HaloExchangeOp : RingConv_Op<"halo_exchange", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "the slabs around a shard";
  let description = [{
    Results: for each entry of `dims` (ascending) with elements a low and a high
    slab, laid out as `ringconv.local_conv` says. What no window reads is left
    undefined.

    Made by `ringconv-partition`, removed by `ringconv-lower-halo`.
  }];
  let arguments = (ins AnyRankedTensor:$input, FlatSymbolRefAttr:$mesh,
                   TypedArrayAttrBase<RingConv_HaloDimAttr, "exchanged dimensions">:$dims,
                   OptionalAttr<I64Attr>:$report);
  let results = (outs Variadic<AnyRankedTensor>:$slabs);
  let assemblyFormat = "$input $mesh $dims attr-dict `:` type($input) `->` type($slabs)";
  let hasVerifier = 1;
}

def RingConv_StartOp : RingConv_DestinationOp<"start", [AttrSizedOperandSegments]> {
  let summary = "posts an exchange of halos";
  let description = [{
    Posts all receives and sends of the halos of `inputs` and does not block;
    `inits` are the slabs of the inputs, one after the other. `dims` has one
    array of `halo_dim` per input. The results are the slabs in flight: their
    one use is the `ringconv.wait` of the token.
  }];
  let arguments = (ins Variadic<RingConv_Buffer>:$inputs, Variadic<RingConv_Buffer>:$inits,
                   FlatSymbolRefAttr:$mesh, ArrayAttr:$dims, OptionalAttr<DenseI64ArrayAttr>:$report);
  let results = (outs Variadic<AnyRankedTensor>:$slabs, RingConv_TokenType:$token);
  let assemblyFormat = [{
    $mesh $dims `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $inits `:` type($inits) `)` attr-dict
    (`->` type($slabs)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{ ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitsMutable(); } }];
}

def RingConv_WaitOp : RingConv_DestinationOp<"wait", [AttrSizedOperandSegments]> {
  let summary = "completes an exchange, or sums";
  let description = [{
    Repeats the inputs of the start, so that nothing overwrites what is still
    being sent; `inits` are the slabs, or the sums, in flight.
  }];
  let arguments = (ins RingConv_TokenType:$token, Variadic<RingConv_Buffer>:$inputs,
                   Variadic<RingConv_Buffer>:$inits);
  let results = (outs Variadic<AnyRankedTensor>:$slabs);
  let assemblyFormat = [{
    $token (`ins` `(` $inputs^ `:` type($inputs) `)`)? (`outs` `(` $inits^ `:` type($inits) `)`)? attr-dict
    (`->` type($slabs)^)?
  }];
  let extraClassDeclaration = [{ ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitsMutable(); } }];
}

def RingConv_GroupOp : RingConv_Op<"group", [SingleBlock, NoTerminator,
                                             DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "sends and receives that are posted together";
  let description = [{
    The region holds `ringconv.send`, `ringconv.recv`, and the arithmetic,
    branches and loops that say which of them this rank takes part in. Nothing
    blocks before the `ringconv.wait` of the token. Pieces between two ranks
    stand in the same order at both ends.
  }];
  let arguments = (ins OptionalAttr<DenseI64ArrayAttr>:$report);
  let results = (outs RingConv_TokenType:$token);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$body attr-dict";
}

def RingConv_SendOp : RingConv_Op<"send", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "one piece of the message to a peer";
  let arguments = (ins AnyStridedMemRef:$data, Index:$peer);
  let assemblyFormat = "$data `to` $peer attr-dict `:` type($data)";
}

def RingConv_RecvOp : RingConv_Op<"recv", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "one piece of the message from a peer";
  let description = [{
    `reverse` dimensions are laid out in reverse order.
  }];
  let arguments = (ins AnyStridedMemRef:$data, Index:$peer, DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$reverse);
  let assemblyFormat = "$data `from` $peer attr-dict `:` type($data)";
}

def RingConv_RedistributeOp : RingConv_DestinationOp<"redistribute"> {
  let summary = "a shard of the same tensor, cut otherwise";
  let description = [{
    Every rank gets, box by box, what its new shard lacks; a box is sent only
    to ranks that need it. `type` is the whole tensor's.
  }];
  let arguments = (ins RingConv_Buffer:$input, RingConv_Buffer:$init, TypeAttr:$type, RingConv_ShardingAttr:$from,
                   RingConv_ShardingAttr:$to);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $init `:` type($init) `)` `of` $type `from` $from `to` $to
    attr-dict (`->` type($result)^)?
  }];
  let extraClassDeclaration = [{ ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); } }];
  let hasVerifier = 1;
}

def RingConv_AllReduceOp : RingConv_DestinationOp<"all_reduce"> {
  let summary = "sum over mesh axes, in place";
  let description = [{ Added in the order of positions: the same bits on every rank and in every run. }];
  let arguments = (ins RingConv_Buffer:$init, FlatSymbolRefAttr:$mesh, ArrayAttr:$axes);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = "`outs` `(` $init `:` type($init) `)` `over` $mesh $axes attr-dict (`->` type($result)^)?";
  let extraClassDeclaration = [{ ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); } }];
  let hasVerifier = 1;
}

def RingConv_StartReduceOp : RingConv_DestinationOp<"start_reduce"> {
  let summary = "starts the sums of several tensors over mesh axes";
  let description = [{
    As `ringconv.all_reduce` of each of `inits`, which share an element type:
    each peer gets one message with all of them. Does not block. The results are
    the tensors in flight: their one use is the `ringconv.wait` of the token, and
    until then nothing reads or writes them.

    Made by `ringconv-start-reductions`, removed by a back end.
  }];
  let arguments = (ins Variadic<RingConv_Buffer>:$inits, FlatSymbolRefAttr:$mesh, ArrayAttr:$axes);
  let results = (outs Variadic<AnyRankedTensor>:$sums, RingConv_TokenType:$token);
  let assemblyFormat = "`outs` `(` $inits `:` type($inits) `)` `over` $mesh $axes attr-dict (`->` type($sums)^)?";
  let extraClassDeclaration = [{ ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitsMutable(); } }];
  let hasVerifier = 1;
}

def RingConv_ReduceScatterOp : RingConv_DestinationOp<"reduce_scatter"> {
  let summary = "sum over mesh axes, of which a rank keeps its box";
  let description = [{
    `input` is a partial sum of the tensor cut as `from`; the result is cut as
    `to`, which adds cuts by the axes of the sum only.
  }];
  let arguments = (ins RingConv_Buffer:$input, RingConv_Buffer:$init, TypeAttr:$type, ArrayAttr:$axes,
                   RingConv_ShardingAttr:$from, RingConv_ShardingAttr:$to);
  let results = (outs Optional<AnyRankedTensor>:$result);
  let assemblyFormat = [{
    `ins` `(` $input `:` type($input) `)` `outs` `(` $init `:` type($init) `)` `of` $type `over` $axes
    `from` $from `to` $to attr-dict (`->` type($result)^)?
  }];
  let extraClassDeclaration = [{ ::mlir::MutableOperandRange getDpsInitsMutable() { return getInitMutable(); } }];
  let hasVerifier = 1;
}

def RingConv_KeptOp : RingConv_Op<"kept", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "a buffer that lives from one run of the program to the next";
  let description = [{
    Each of these operations has a buffer of its own in the rank's session, dense
    and aligned to 64 bytes. `fresh` is true where what was written into it does
    not hold: the first time the operation runs, and the first time after the
    caller gave new parameters. It holds what is made from parameters and
    constants alone, such as filters in the order of a kernel. Kernels make it
    (`convert-ringconv-to-loops`), `convert-ringconv-to-runtime` removes it.
  }];
  let results = (outs AnyStaticShapeMemRef:$buffer, I1:$fresh);
  let assemblyFormat = "attr-dict `:` type($buffer)";
}

def RingConv_KeepOp : RingConv_Op<"keep", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "memory that is in use up to here";
  let description = [{
    Messages in flight read and write memory that no operation names any more.
    Made by `convert-ringconv-to-nccl`, removed by `ringconv-plan-arena`.
  }];
  let arguments = (ins Variadic<AnyStridedMemRef>:$memory);
  let assemblyFormat = "$memory attr-dict `:` type($memory)";
}

def RingConv_MarkOp : RingConv_Op<"mark", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "begin or end of work on a reported operation";
  let arguments = (ins I64Attr:$report, UnitAttr:$end);
  let assemblyFormat = "$report (`end` $end^)? attr-dict";
}

def RingConv_CountOp : RingConv_Op<"count", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "adds to the rank's count of multiply-adds";
  let arguments = (ins Index:$multiply_adds);
  let assemblyFormat = "$multiply_adds attr-dict";
}

#endif
