/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Declares every entry point that the runtime calls once more, beside a header
 * that has it already: a difference does not compile. CUDA_H, NCCL_H,
 * CUDNN_H: beside NVIDIA's. */
#if defined(CUDNN_H)
#include <cudnn.h>
#define CUDNN(name, parameters) cudnnStatus_t name parameters;
#include "cuda/CudnnEntryPoints.def"
#define CUDA(name, parameters, arguments)
#define NCCL(name, parameters, arguments)
#elif defined(CUDA_H)
#include <cuda.h>
#define CUDA(name, parameters, arguments) CUresult name parameters;
#define NCCL(name, parameters, arguments)
#elif defined(NCCL_H)
#include <nccl.h>
typedef cudaStream_t CUstream;
#define CUDA(name, parameters, arguments)
#define NCCL(name, parameters, arguments) ncclResult_t name parameters;
#else
#include "gpusim/NCCL.h"
typedef int CUdevice_attribute, CUfunction_attribute, CUstreamCaptureMode, CUstreamCaptureStatus;
#define CUDA(name, parameters, arguments) CUresult name parameters;
#define NCCL(name, parameters, arguments) ncclResult_t name parameters;
#endif
#include "cuda/EntryPoints.def"
