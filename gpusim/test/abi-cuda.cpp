// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compares gpusim's declarations of the driver with cuda.h. It tests by
// compiling.
#include "abi.h"

#include <cuda.h>

namespace own {
#define GPUSIM_ABI_TEST
#include "gpusim/CUDA.h"
#undef GPUSIM_ABI_TEST
// The names that cuda.h maps to newer forms by macros.
#undef cuEventElapsedTime
#undef cuGetProcAddress
#undef cuGraphInstantiate
#define GPUSIM_ENTRY(name, params) CUresult name params;
extern "C++" {
#include "gpusim/CUDAEntryPoints.def"
}
#undef GPUSIM_ENTRY

#define CHECK(name, value, text) static_assert((int)gpusim_##name == (int)::name, #name);
GPUSIM_RESULTS(CHECK)
#undef CHECK

static_assert(sizeof(CUDA_MEMCPY2D) == sizeof(::CUDA_MEMCPY2D), "");
static_assert(offsetof(CUDA_MEMCPY2D, srcPitch) == offsetof(::CUDA_MEMCPY2D, srcPitch), "");
static_assert(offsetof(CUDA_MEMCPY2D, dstDevice) == offsetof(::CUDA_MEMCPY2D, dstDevice), "");
static_assert(offsetof(CUDA_MEMCPY2D, Height) == offsetof(::CUDA_MEMCPY2D, Height), "");
static_assert(sizeof(CUlaunchConfig) == sizeof(::CUlaunchConfig), "");
static_assert(offsetof(CUlaunchConfig, hStream) == offsetof(::CUlaunchConfig, hStream), "");
static_assert(offsetof(CUlaunchConfig, numAttrs) == offsetof(::CUlaunchConfig, numAttrs), "");
static_assert(sizeof(CUmemPoolProps) == sizeof(::CUmemPoolProps), "");
static_assert(offsetof(CUmemPoolProps, location) == offsetof(::CUmemPoolProps, location), "");
static_assert(offsetof(CUmemPoolProps, maxSize) == offsetof(::CUmemPoolProps, maxSize), "");
static_assert(sizeof(CUtensorMap) == sizeof(::CUtensorMap), "");
} // namespace own

// Types of all entry points in all their versions.
#include <cudaTypedefs.h>

#define ENTRY_TYPE(name, version)                                                                                      \
  static_assert(Same<decltype(own::name), std::remove_pointer_t<PFN_##version>>::value, #name);
#undef cuGetProcAddress
#undef cuEventElapsedTime
#include "abi-list.inc"

// Attribute numbers that the library and the tests use.
static_assert(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT == 16, "");
static_assert(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR == 39, "");
static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR == 75, "");
static_assert(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR == 76, "");
static_assert(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR == 81, "");
static_assert(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN == 97, "");
static_assert(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR == 106, "");
static_assert(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK == 111, "");
static_assert(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED == 115, "");
static_assert(CU_FUNC_ATTRIBUTE_NUM_REGS == 4 && CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES == 8, "");
static_assert(CU_POINTER_ATTRIBUTE_MEMORY_TYPE == 2 && CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL == 9 &&
                  CU_POINTER_ATTRIBUTE_RANGE_SIZE == 12,
              "");
static_assert(CU_MEMPOOL_ATTR_RELEASE_THRESHOLD == 4 && CU_MEMPOOL_ATTR_USED_MEM_CURRENT == 7, "");
static_assert(CU_MEMORYTYPE_HOST == 1 && CU_MEMORYTYPE_DEVICE == 2 && CU_MEMORYTYPE_UNIFIED == 4, "");
static_assert(CU_STREAM_NON_BLOCKING == 1 && CU_EVENT_DISABLE_TIMING == 2, "");
static_assert(CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT == 1 && CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT == 2, "");
