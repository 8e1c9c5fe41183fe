// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_CONVERSION_PASSES_TD
#define RINGCONV_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def ConvertRingConvToGPUPass : Pass<"convert-ringconv-to-gpu", "::mlir::ModuleOp"> {
  let summary = "local operations on memrefs to GPU kernels and their launches";
  let description = [{
    Local convolutions and pools, structured operations of linalg, strided
    copies and stores become kernels of one `gpu.module` and `gpu.launch_func`s;
    kernels of equal text stand once. A remark names the kernel of each
    convolution. Memory is passed by bare pointers (`!llvm.ptr`), so that what
    stays of functions is host code that never touches it.

    Before: memrefs, all of them in memory of the device; exchanges as groups or
    as start and wait. After: of our operations only exchanges, reductions and
    coordinates are left.
  }];
  let options = [
    Option<"arch", "arch", "int64_t", "80", "oldest architecture: 80, 90 or 100">,
    Option<"fast", "fast", "bool", "true", "use the families of fast kernels where they fit">,
    ListOption<"tile", "tile", "int64_t",
               "pixels and output features of a block, of a warp, slots of the ring: for tests and tuning">
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::nvgpu::NVGPUDialect", "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def ConvertRingConvToLoopsPass : Pass<"convert-ringconv-to-loops", "::mlir::func::FuncOp"> {
  let summary = "local convolutions, pools and strided copies on memrefs to loops";
  let description = [{
    The vectorised main form where it fits (f32, static shapes, stride and
    padding of any kind), plain loops elsewhere. Both accumulate in the same
    order, with fused multiply-adds, so that results agree bit for bit.
  }];
  let options = [
    Option<"vectorize", "vectorize", "bool", "true", "use the vectorised form where it fits">,
    Option<"vectorWidth", "vector-width", "int64_t", "8", "f32 lanes: 8 for AVX2, 16 for AVX-512">,
    Option<"count", "count-multiply-adds", "bool", "false", "add a counter beside each multiply-add">
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect", "::mlir::func::FuncDialect",
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

def LowerBufferCastsPass : Pass<"ringconv-lower-buffer-casts"> {
  let summary = "memrefs at bare pointers to descriptors";
  let description = [{
    `builtin.unrealized_conversion_cast` of an `!llvm.ptr`, and of an index for
    each dynamic size and then each dynamic stride, to a memref says that the
    memref's first element lies at the pointer. The cast becomes the memref's
    descriptor in the LLVM dialect.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
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
