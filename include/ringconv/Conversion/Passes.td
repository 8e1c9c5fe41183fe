// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_CONVERSION_PASSES_TD
#define RINGCONV_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertRingConvToLoopsPass : Pass<"convert-ringconv-to-loops", "::mlir::func::FuncOp"> {
  let summary = "local convolutions, pools, strided copies and elementwise operations on memrefs to loops";
  let description = [{
    The vectorised main form where it fits (f32, static shapes, stride and
    padding of any kind), plain loops elsewhere. Both accumulate in the same
    order, with fused multiply-adds, so that results agree bit for bit.
    Elementwise `linalg.generic` goes by vectors where its operands lie densely;
    what does not fit stays for upstream's loops.
  }];
  let options = [
    Option<"vectorize", "vectorize", "bool", "true", "use the vectorised form where it fits">,
    Option<"vectorWidth", "vector-width", "int64_t", "8", "f32 lanes: 8 for AVX2, 16 for AVX-512">,
    Option<"count", "count-multiply-adds", "bool", "false", "add a counter beside each multiply-add">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::ub::UBDialect"];
}

def ConvertRingConvToRuntimePass : Pass<"convert-ringconv-to-runtime", "::mlir::ModuleOp"> {
  let summary = "groups, waits, reductions and coordinates to calls of the host runtime";
  let description = [{
    Before: memrefs, control flow lowered to blocks except inside groups. Each
    function gets the rank's context as first argument and returns an error
    code; a call that fails returns at once with its code.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::cf::ControlFlowDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect"];
}

def LowerReferencePass : Pass<"ringconv-lower-reference", "::mlir::ModuleOp"> {
  let summary = "the uncut program straight from the definition, sums in f64";
  let description = [{
    `ringconv.conv` and `ringconv.pool` on whole, static tensors become
    `linalg.generic`s that follow the definition tap by tap and keep sums in f64
    (integers: i64), bias added and rounded once at the end; taps that read
    padding are skipped. Nothing is shared with the kernels or with lib/Halo's
    plans, because `--check` compares those with this. `ringconv.reshard`
    becomes its operand; meshes and the `ringconv.` attributes of arguments and
    results go. Other operations stay, so that what is left is a program of
    upstream dialects. Before: a program as a user writes it.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif
