/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Our own declarations of the NCCL interface that gpusim offers, binary
 * compatible with nccl.h (test/abi-nccl.cpp compares them).
 */
#ifndef GPUSIM_NCCL_H
#define GPUSIM_NCCL_H

#include "gpusim/CUDA.h"

#ifdef __cplusplus
extern "C" {
#endif

#ifndef GPUSIM_ABI_TEST
typedef int ncclResult_t;
typedef int ncclDataType_t;
typedef int ncclRedOp_t;
typedef struct ncclComm *ncclComm_t;
typedef struct {
  char internal[128];
} ncclUniqueId;
typedef struct ncclConfig ncclConfig_t;

enum {
  ncclSuccess,
  ncclUnhandledCudaError,
  ncclSystemError,
  ncclInternalError,
  ncclInvalidArgument,
  ncclInvalidUsage,
  ncclRemoteError,
  ncclInProgress
};
enum { ncclSum, ncclProd, ncclMax, ncclMin, ncclAvg, ncclNumOps };
enum {
  ncclInt8,
  ncclUint8,
  ncclInt32,
  ncclUint32,
  ncclInt64,
  ncclUint64,
  ncclFloat16,
  ncclFloat32,
  ncclFloat64,
  ncclBfloat16,
  ncclFloat8e4m3,
  ncclFloat8e5m2,
  ncclNumTypes
};

#define GPUSIM_NCCL(name, params) ncclResult_t name params;
#include "gpusim/NCCLEntryPoints.def"
#undef GPUSIM_NCCL
const char *ncclGetErrorString(ncclResult_t);
const char *ncclGetLastError(ncclComm_t);
#endif

#ifdef __cplusplus
}
#endif
#endif
