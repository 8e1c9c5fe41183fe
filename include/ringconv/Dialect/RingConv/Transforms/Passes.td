// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_TRANSFORMS_PASSES_TD
#define RINGCONV_TRANSFORMS_PASSES_TD

include "mlir/Pass/PassBase.td"

// ===--- before partitioning --------------------------------------------=== //

def SetMeshPass : Pass<"ringconv-set-mesh", "::mlir::ModuleOp"> {
  let summary = "replaces the extents of the mesh";
  let description = [{
    `mesh=sp=8,dp=2` replaces extents by axis name; axes that are not named keep
    theirs. Device ids are dropped where the size changes. Explicit cuts that no
    longer fit are an error.
  }];
  let options = [Option<"mesh", "mesh", "std::string", "", "axis=extent, separated by commas">];
}

def FeaturesLastPass : Pass<"ringconv-features-last", "::mlir::func::FuncOp"> {
  let summary = "convolutions of 16-bit floats with features last";
  let description = [{
    Tensor cores read features that lie next to each other. Convolutions of f16
    and bf16 with another order of dimensions are written with features last,
    between transpositions, and these move over pools and elementwise operations
    until they cancel: what is left converts arguments and results, once. A
    remark counts them. Shapes, shardings and values of arguments and results
    stay as they are.

    Before: whole tensors. After: the same.
  }];
  let statistics = [Statistic<"numConversions", "conversions", "transpositions that are left">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def DifferentiatePass : Pass<"ringconv-differentiate", "::mlir::ModuleOp"> {
  let summary = "adds the function that computes gradients";
  let description = [{
    For the function @NAME adds `@NAME_grad`, its vector-Jacobian product:

      (arguments, gradients of the float results) -> gradients of arguments

    of those that are marked `ringconv.wants_grad`, of all float tensors if none
    is. Each gradient is cut as its argument, and each result's gradient arrives
    as the result is cut, or as one annotates it. Gradients that are not wanted
    cost nothing. With `train` it adds `@NAME_train` instead, which returns the
    results of @NAME before the gradients.

    Before: whole tensors, one block; other dialects' convolutions are raised
    (`ringconv-raise`) first. After: the same, and `ringconv.pool_grad`,
    `fold_border` and `reshard_like`. Calls are inlined. What has rules:
    `ringconv.conv`, `pool` and `reshard`; arith and math on scalars and tensors;
    structured linalg operations that are elementwise or sum products; pads,
    slices, concatenations and reshapes. Anything else is an error at the
    operation, where a gradient would have to pass it.

    Where an elementwise maximum or minimum ties, the operand that is
    differentiated gets nothing from a constant, and of two the first gets all.
  }];
  let options = [Option<"entry", "entry", "std::string", "", "function; default: main, else the only public one">,
                 Option<"train", "train", "bool", "false", "results and gradients together">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect", "::ringconv::RingConvDialect"];
}

// ===--- partitioning ---------------------------------------------------=== //

def PropagateShardingPass : Pass<"ringconv-propagate-sharding", "::mlir::ModuleOp"> {
  let summary = "shardings of arguments and results to all values";
  let description = [{
    Before: as for `ringconv-partition`. After: every result has a sharding, and
    a `ringconv.reshard` stands wherever a value changes its cuts: before an
    operation that needs an operand otherwise, behind one that computes a result
    otherwise, on the way into and out of regions. What stands between is cut
    alike. Cuts go forward from the arguments; what results and reshards ask for
    goes backward first, as a wish that is met where no operand speaks against
    it. `ringconv-partition` does the same by itself, and makes of what this pass
    leaves the program that it would have made without it. Private functions are
    inlined.
  }];
  let dependentDialects = ["::ringconv::RingConvDialect"];
}

def PartitionPass : Pass<"ringconv-partition", "::mlir::ModuleOp"> {
  let summary = "whole tensors to the program of one rank";
  let description = [{
    Before: public functions over static tensors, annotated arguments and
    results. After: the partitioned form, which `ringconv-verify-partitioned`
    checks: local types, `ringconv.local_conv`, `local_pool`, `halo_exchange`,
    `redistribute`, reductions over mesh axes; arguments and results carry
    `ringconv.shard_of`. Private functions are inlined. What cannot be cut as
    asked is an error at the operation. Remarks say what was chosen.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::affine::AffineDialect",
                           "::ringconv::RingConvDialect"];
}

def VerifyPartitionedPass : Pass<"ringconv-verify-partitioned", "::mlir::ModuleOp"> {
  let summary = "checks the partitioned form";
  let description = [{
    An error for each operation that may not stand in the partitioned program
    (`ringconv.conv`, `pool`, `reshard`, ...), for arguments and results without
    `ringconv.shard_of` or whose type is not that shard's, and for slabs in
    flight that are used by anything but their wait.
  }];
}

// ===--- scheduling -----------------------------------------------------=== //

def LowerHaloPass : Pass<"ringconv-lower-halo", "::mlir::func::FuncOp"> {
  let summary = "halo_exchange to start and wait";
  let description = [{
    Makes the slabs and splits each exchange into `ringconv.start` and
    `ringconv.wait`, which stand side by side; `ringconv-overlap` moves work
    between them.
  }];
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
}

def MergeHalosPass : Pass<"ringconv-merge-halos", "::mlir::func::FuncOp"> {
  let summary = "one exchange for several tensors, the same value once";
  let description = [{
    Before and after: exchanges as `start` and `wait`. An exchange of the same
    value with the same dimensions is made once. Starts whose inputs are there at
    an earlier start join it: each peer then gets one message for all of them.
  }];
  let statistics = [Statistic<"numShared", "shared", "exchanges that another one served">,
                    Statistic<"numMerged", "merged", "exchanges that joined another one">];
}

def OverlapPass : Pass<"ringconv-overlap", "::mlir::func::FuncOp"> {
  let summary = "computes the interior while halos travel";
  let description = [{
    Before and after: exchanges as `start` and `wait`. A local operation behind a
    wait is split into slices of one result: the interior, which reads no slab
    and goes before the wait, and edges, the same on every rank, after it. Edges
    along the last dimension are at least `min-edge` outputs wide, so that
    kernels keep whole tiles. Not split, with a remark, where the interior is
    under `min-interior` percent of the outputs of some rank.
  }];
  let options = [Option<"minEdge", "min-edge", "int64_t", "8",
                        "fewest outputs of an edge along the last dimension">,
                 Option<"minInterior", "min-interior", "int64_t", "50",
                        "smallest interior, in percent of a rank's outputs">];
  let statistics = [Statistic<"numSplit", "split", "operations split into interior and edges">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::tensor::TensorDialect"];
}

def StartReductionsPass : Pass<"ringconv-start-reductions", "::mlir::func::FuncOp"> {
  let summary = "all-reduces start early, together, and are waited for late";
  let description = [{
    Each `ringconv.all_reduce` on tensors becomes `ringconv.start_reduce` and a
    wait where the sum is needed; what only prepares it for that, such as a
    rounding, moves behind the wait. Sums over the same axes whose operands are
    there at about the same time, such as those of a filter and a bias of one
    layer, start as one: each peer then gets one message for all.
  }];
  let statistics = [Statistic<"numStarted", "started", "sums that others' work may hide">,
                    Statistic<"numMerged", "merged", "sums that joined another one">];
}

def LowerStartPass : Pass<"ringconv-lower-start", "::mlir::func::FuncOp"> {
  let summary = "start, redistribute on memrefs to groups of send and recv";
  let description = [{
    After bufferization. Each piece of an exchange becomes a `ringconv.recv` into
    a slab and a `ringconv.send` from the shard inside one `ringconv.group`;
    redistributions become a group with loops over the ranks, and its wait.
    Border modes add copies behind the wait, and where the
    exchange has several dimensions clear the slabs before the group.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

// ===--- bufferization ----------------------------------------------------=== //

def PrepareBuffersPass : Pass<"ringconv-prepare-buffers", "::mlir::func::FuncOp"> {
  let summary = "makes one-shot bufferization do no full copy";
  let description = [{
    Entry arguments become read-only, for they are the caller's; concatenations
    become insertions into one destination; an elementwise operation on a value
    that the program made, and that nothing else uses, writes into it; what a loop
    carries from round to round is written where it lay, unless it is still read.
  }];
  let dependentDialects = ["::mlir::bufferization::BufferizationDialect", "::mlir::tensor::TensorDialect"];
}

// ===--- from upstream dialects -------------------------------------------=== //

def ExportShardPass : Pass<"ringconv-export-shard", "::mlir::ModuleOp"> {
  let summary = "our mesh and shardings to upstream's shard dialect";
  let description = [{
    The way back from `ringconv-raise`, for passes that know upstream's
    annotations: `ringconv.mesh` becomes a `shard.grid` (names of axes are lost,
    their order stays), the shardings of arguments and results and
    `ringconv.reshard` become `shard.shard`. Cuts that are not even become
    `sharded_dims_offsets`. `device_ids` have no counterpart: an error. Other
    operations and attributes stay. Before: a program as a user writes it.
  }];
  let dependentDialects = ["::mlir::shard::ShardDialect"];
}

def RaisePass : Pass<"ringconv-raise", "::mlir::ModuleOp"> {
  let summary = "upstream convolutions, pools, pads, slices and shardings to ours";
  let description = [{
    On tensors with static shapes:
    - `linalg.conv_*`, `linalg.depthwise_conv_*` and `linalg.pooling_*` (max and
      sum, not unsigned) become `ringconv.conv` and `ringconv.pool`. A
      `tensor.pad` of the neutral value on window dimensions becomes padding, so
      that what it adds is skipped, not read. An init of zeros is dropped, one
      that broadcasts along features becomes the bias, any other is combined
      afterwards. A maximum may also start from, or be padded with, the lowest
      finite number, where every window has an element: where a whole window is
      -inf the result is then -inf too.
    - `tosa.conv2d`, `conv3d`, `depthwise_conv2d`, `transpose_conv2d`,
      `max_pool2d`, `avg_pool2d` likewise, if zero points are 0.
    - `tensor.pad` of a constant and `tensor.extract_slice` become pools with
      windows of 1 and signed padding; a constant other than 0 and -inf is
      selected where ones padded likewise are none, and dimensions that a slice
      drops are collapsed behind it.
    - `scf.index_switch` becomes `scf.if` in `scf.if`.
    - `shard.grid` becomes `ringconv.mesh` with axes `axis0`, `axis1`, ...;
      `shard.shard` becomes the sharding of an argument or a result, or
      `ringconv.reshard`. What has no counterpart is an error.

    What cannot be raised stays. The rest of tosa is for upstream's
    `tosa-to-linalg-named`, `tosa-to-linalg`, `tosa-to-arith`, `tosa-to-tensor`;
    this pass once more after them raises the pads and slices they leave.
  }];
  let options = [Option<"raiseSlices", "raise-slices", "bool", "true", "raise tensor.extract_slice too">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect", "::ringconv::RingConvDialect"];
}

#endif
