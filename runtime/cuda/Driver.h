/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The CUDA driver and NCCL, by their own names. Both libraries are opened when
 * the first program for GPUs begins; the functions here are stubs that go to
 * them. They are hidden, so that a library which calls these names itself, as
 * libnccl does, never meets them. Nothing of NVIDIA is needed to build. */
#ifndef RINGCONV_CUDA_DRIVER_H
#define RINGCONV_CUDA_DRIVER_H

#include "common/Base.h"

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef int CUdevice_attribute, CUfunction_attribute, CUstreamCaptureMode, CUstreamCaptureStatus;
typedef int ncclResult_t, ncclDataType_t, ncclRedOp_t;
typedef struct ncclComm *ncclComm_t;
typedef struct ncclConfig ncclConfig_t;
typedef struct ncclUniqueId {
  char internal[128];
} ncclUniqueId;

enum {
  RCRT_CUDA_OLDEST = 12000, /* that takes PTX 8.0: see the compiler's Kernels.cpp */
  RCRT_CUDA_NO_BINARY_FOR_GPU = 209,
  RCRT_CUDA_NOT_READY = 600,
  RCRT_CUDA_CAPABILITY_MAJOR = 75, /* attributes of devices */
  RCRT_CUDA_CAPABILITY_MINOR = 76,
  RCRT_CUDA_MAX_DYNAMIC_SHARED = 8, /* attribute of functions */
  RCRT_CUDA_STREAM_NON_BLOCKING = 1,
  RCRT_CUDA_EVENT_NO_TIMING = 2,
  RCRT_CUDA_CAPTURE_THREAD_LOCAL = 1,
  RCRT_NCCL_IN_PROGRESS = 7,
  RCRT_NCCL_INT8 = 0
};

#define CUDA(name, parameters, arguments) CUresult name parameters;
#define NCCL(name, parameters, arguments) ncclResult_t name parameters;
#include "cuda/EntryPoints.def"
#undef CUDA
#undef NCCL

/* Text of a status of NCCL. */
const char *rcrt_nccl_text(ncclResult_t status);

/* From now on gpusim's libraries are meant: from the folder that
 * GPUSIM_LIBRARY_DIR names, or lib/gpusim beside the program's folder, or of the
 * build. false: `text`. */
bool rcrt_cuda_simulate(char *text);
/* Opens a library (from gpusim's folder where that is meant, unless a path is
 * given) and finds functions in it. false: `text` says what is missing. */
typedef struct rcrt_entry {
  const char *name;
  void **target;
} rcrt_entry;
bool rcrt_bind(const char *library, const rcrt_entry *entries, size_t count, const char *what, char *text);
/* Opens the driver; and NCCL. false: `text` says what is missing. */
bool rcrt_cuda_load(char *text);
bool rcrt_nccl_load(char *text);

#endif
