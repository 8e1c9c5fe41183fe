// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_INTERFACES_TD
#define RINGCONV_INTERFACES_TD

include "mlir/IR/OpBase.td"

def ShardableOpInterface : OpInterface<"ShardableOpInterface"> {
  let cppNamespace = "::ringconv";
  let description = [{
    An operation whose iteration space can be cut. Partitioner and propagation
    ask only this interface (and WindowedOpInterface). Foreign operations take
    part by an external model.
  }];
  let methods = [
    InterfaceMethod<[{
      The dimensions of the iteration space, one `Factor` each. A tensor
      dimension that no factor names is never cut.
    }], "::llvm::SmallVector<::ringconv::Factor>", "getFactors", (ins)>,
    InterfaceMethod<[{
      Makes the operation on local values, also where nothing is cut: `operands` replace the operands one by
      one (tensors are shards), `resultTypes` are the local types, `sizes` makes
      the dynamic extents of result `i`. `partial`: a reduction factor is cut,
      the result will be summed over ranks and is wanted in the accumulation
      type without what may be added only once.
    }], "::mlir::FailureOr<::llvm::SmallVector<::mlir::Value>>", "createLocal",
    (ins "::ringconv::LocalBuilder &":$local)>,
  ];
}

def WindowedOpInterface : OpInterface<"WindowedOpInterface", [ShardableOpInterface]> {
  let cppNamespace = "::ringconv";
  let description = [{
    An operation with window dimensions: input position = o * stride +
    t * dilation - padLow, element = position / baseDilation. The first operands
    are read through the windows: mostly one; several have the same dimensions.
  }];
  let methods = [
    InterfaceMethod<"The window of each spatial dimension, by its number.",
      "::llvm::SmallVector<::ringconv::halo::Window>", "getWindows", (ins)>,
    InterfaceMethod<"Dimension of operand 0 for each spatial number.",
      "::llvm::SmallVector<int64_t>", "getInputWindowDims", (ins)>,
    InterfaceMethod<"Dimension of result 0 for each spatial number.",
      "::llvm::SmallVector<int64_t>", "getResultWindowDims", (ins)>,
    InterfaceMethod<"Dimension of operand 1 that holds the taps of each spatial number; empty if there is none.",
      "::llvm::SmallVector<int64_t>", "getFilterWindowDims", (ins)>,
    InterfaceMethod<"How many operands, from the first on, are read through the windows.",
      "int64_t", "getNumWindowedOperands", (ins)>,
    InterfaceMethod<"Whether the taps of a spatial dimension are stored in reverse order.",
      "bool", "isReversed", (ins "int64_t":$spatial)>,
  ];
}

#endif
