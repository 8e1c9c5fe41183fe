// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef RINGCONV_CONVERSION_PASSES_TD
#define RINGCONV_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def CarryBuffersPass : Pass<"ringconv-carry-buffers", "::mlir::func::FuncOp"> {
  let summary = "buffers that loops carry get one place for all rounds";
  let description = [{
    `scf.for` and `scf.while` that hand a memref from round to round: the memref
    is made in front of the loop, and each round copies its result into it.
    Before: memrefs, no deallocations of what loops carry. After: what a loop
    carries is the same buffer in every round.
  }];
  let dependentDialects = ["::mlir::memref::MemRefDialect"];
}

def CheckAllocationsPass : Pass<"ringconv-check-allocations", "::mlir::func::FuncOp"> {
  let summary = "generated host code that gets no memory returns an error code";
  let description = [{
    Behind each `memref.alloc` of a function that is not private: a branch to a
    return of `RINGCONV_RT_NO_MEMORY` where the address is null. A function
    without results gets an error code as its result, 0 at its other returns.

    Before: memrefs on the host, results through arguments. After: control flow
    as blocks.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::memref::MemRefDialect"];
}

def ConvertRingConvToCUDAPass : Pass<"convert-ringconv-to-cuda", "::mlir::ModuleOp"> {
  let summary = "launches, copies and reads of device memory to calls of the CUDA driver";
  let description = [{
    What the other conversions left of a function becomes host code that calls
    the driver by name (`cuLaunchKernel`, `cuMemcpyDtoDAsync_v2`), each status
    checked. Constants are read from the device, where the runtime puts them;
    single elements that control flow needs are copied to the host. The function
    gets blocks, and returns the first error's code. Attributes of the module
    tell the descriptor what the runtime must provide: `ringconv.kernels`,
    `ringconv.constants`, `ringconv.arena`, `ringconv.sums`.

    Before: `convert-ringconv-to-nccl`, `convert-ringconv-to-gpu` and
    `ringconv-plan-arena` have run. After: nothing of ours is left; the
    `gpu.module` stays for the compiler of kernels.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::cf::ControlFlowDialect", "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect"];
}

def ConvertRingConvToCuDNNPass : Pass<"convert-ringconv-to-cudnn", "::mlir::ModuleOp"> {
  let summary = "local convolutions of floats to calls of cuDNN";
  let description = [{
    A local convolution on device memory becomes a call of
    `ringconv_cuda_convolve`, which asks cuDNN. Where it has halos, or padding
    that cuDNN cannot say, all that is read is first copied together; a filter
    in another order than cuDNN's is copied too. The convolution may use
    `workspace` bytes of the arena. Convolutions that cuDNN does not do (integers,
    results wider than the operands, dilated inputs, batch groups, more than three
    spatial dimensions) stay for `convert-ringconv-to-gpu`; a remark says which
    way each of them went. The attribute `ringconv.cudnn` of the module says that
    there are such calls.

    Before: `convert-ringconv-to-nccl`. Copies and fills are left for
    `convert-ringconv-to-gpu`.
  }];
  let options = [Option<"workspace", "workspace", "int64_t", "67108864",
                        "bytes of workspace that a convolution may use">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect"];
}

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
               "pixels and output features of a block, of a warp, slots of the ring; for kernels that "
               "have such a tile: for tests and tuning">
  ];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::nvgpu::NVGPUDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

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

def ConvertRingConvToMPIPass : Pass<"convert-ringconv-to-mpi", "::mlir::ModuleOp"> {
  let summary = "groups, waits, sums and coordinates to upstream's mpi dialect";
  let description = [{
    For pipelines that end in upstream's dialects. Sends and receives become
    `mpi.isend` and `mpi.irecv` of dense buffers, at the `ringconv.wait` come
    `mpi.wait`s and the copies out of them; a rank that takes no part in a piece
    sends itself an empty message, because the dialect has no null request.
    Loops of pieces complete in each step. Sums become `mpi.allreduce` on
    `mpi.comm_split` communicators, `ringconv.reduce_scatter` too, of which a
    rank keeps its box. The function begins with a check of the number of
    processes; the caller calls MPI_Init. Unlike the runtime's, these sums are
    MPI's: their bits may differ from run to run.

    Before: groups on memrefs (`ringconv-lower-start`). After: no communication
    of ours. Local operations stay; where they were made loops before
    (`convert-ringconv-to-loops=vectorize=false`), nothing of ours is left. Upstream
    22 lowers send, recv and allreduce to LLVM, but not isend, irecv and wait:
    what this pass makes can be printed, verified and handed on, not run.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::mpi::MPIDialect", "::mlir::scf::SCFDialect"];
}

def ConvertRingConvToNCCLPass : Pass<"convert-ringconv-to-nccl", "::mlir::ModuleOp"> {
  let summary = "groups, waits and sums to calls of NCCL";
  let description = [{
    A group becomes one `ncclSend` or `ncclRecv` for each peer inside of
    `ncclGroupStart` and `ncclGroupEnd`, on a stream of its own: it waits for an
    event of the compute stream, and the compute stream's `ringconv.wait` for one
    of it. Boxes that are not dense are packed and unpacked by one kernel each.
    Sums become `ncclAllReduce` and `ncclReduceScatter`. Where a rank has no
    message, it calls nothing.

    Before: memrefs of device memory, groups. After: functions have the rank's
    context as first argument; `ringconv.coord`, `lookup` and `mark` stay, and
    `ringconv.keep` says how long messages need their memory.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect",
                           "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect"];
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

def ExpandMathPass : Pass<"ringconv-expand-math"> {
  let summary = "elementary functions as arithmetic";
  let description = [{
    Functions of `math` that no instruction computes become polynomials and
    arithmetic, so that kernels call nothing.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect"];
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

def LowerKernelsPass : Pass<"ringconv-lower-kernels", "::mlir::gpu::GPUModuleOp"> {
  let summary = "kernels to NVVM, without a library of functions";
  let description = [{
    Before: control flow as blocks, memrefs with static layouts or descriptors,
    functions of `math` that are instructions only. What has no instruction is an
    error at the operation.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
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

def PlanArenaPass : Pass<"ringconv-plan-arena", "::mlir::ModuleOp"> {
  let summary = "one piece of device memory for all buffers of a rank";
  let description = [{
    Each `memref.alloc` becomes a view of the arena that the runtime gives
    (`ringconv_cuda_arena`), at an offset that it shares only with buffers that
    are never in use at the same time. Sizes that differ by rank count as the
    largest. Frees go. The module's attribute `ringconv.arena` is the size in
    bytes.

    Before: functions have the rank's context as first argument.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::func::FuncDialect", "::mlir::LLVM::LLVMDialect", "::ringconv::RingConvDialect"];
}

#endif
