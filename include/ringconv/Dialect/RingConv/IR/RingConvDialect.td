// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_DIALECT_TD
#define RINGCONV_DIALECT_TD

include "mlir/IR/OpBase.td"

def RingConv_Dialect : Dialect {
  let name = "ringconv";
  let cppNamespace = "::ringconv";
  let summary = "Convolutions cut over the devices of a mesh.";
  let description = [{
    A program over whole tensors says by `#ringconv.sharding` how its arguments
    and results are cut over a `ringconv.mesh`; `ringconv.conv` and
    `ringconv.pool` are the operations with windows. `ringconv-partition`
    rewrites it into the program of one rank, which holds `ringconv.local_conv`,
    `ringconv.local_pool`, `ringconv.halo_exchange`, `ringconv.redistribute`
    and reductions over mesh axes. Later passes turn exchanges into
    `start`/`wait`, then into groups of `send` and `recv`.

    Attributes of function arguments and results: `ringconv.sharding` (before
    partitioning), `ringconv.shard_of` (after it), `ringconv.name` (a string),
    `ringconv.parameter` (the value stays the same over many calls),
    `ringconv.wants_grad`.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let hasRegionArgAttrVerify = 1;
  let hasRegionResultAttrVerify = 1;
  let extraClassDeclaration = [{
    void registerAttributes();
    void registerTypes();
  }];
  let dependentDialects = [];
}

#endif
