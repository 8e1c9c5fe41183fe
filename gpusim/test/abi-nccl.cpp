// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares gpusim's declarations of NCCL with nccl.h. It tests by compiling.
#include "abi.h"

#include <nccl.h>

namespace own {
typedef struct CUstream_st *CUstream;
typedef int ncclResult_t, ncclDataType_t, ncclRedOp_t;
typedef struct ncclComm *ncclComm_t;
typedef struct {
  char internal[128];
} ncclUniqueId;
typedef struct ncclConfig ncclConfig_t;
#define GPUSIM_NCCL(name, params) ncclResult_t name params;
#include "gpusim/NCCLEntryPoints.def"
#undef GPUSIM_NCCL
} // namespace own

#define GPUSIM_NCCL(name, params) static_assert(Same<decltype(own::name), decltype(::name)>::value, #name);
#include "gpusim/NCCLEntryPoints.def"

static_assert(ncclInvalidArgument == 4 && ncclInvalidUsage == 5 && ncclRemoteError == 6, "");
static_assert(ncclSum == 0 && ncclProd == 1 && ncclMax == 2 && ncclMin == 3 && ncclAvg == 4, "");
static_assert(ncclInt8 == 0 && ncclUint8 == 1 && ncclInt32 == 2 && ncclUint32 == 3, "");
static_assert(ncclInt64 == 4 && ncclUint64 == 5 && ncclFloat16 == 6 && ncclFloat32 == 7, "");
static_assert(ncclFloat64 == 8 && ncclBfloat16 == 9 && ncclFloat8e4m3 == 10 && ncclFloat8e5m2 == 11, "");
static_assert(ncclScalarHostImmediate == 1 && NCCL_UNIQUE_ID_BYTES == 128, "");

int main() {}
