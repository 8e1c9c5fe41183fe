/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cuda/Staging.h"

#include "cuda/Device.h"

void *rcrt_stage_allocate(ringconv_context *context, int64_t bytes) {
  if (rcrt_cuda_enter(context))
    return NULL;
  CUdeviceptr data = rcrt_cuda_allocate(context, bytes > 0 ? bytes : 1, "a shard");
  rcrt_cuda_leave(context);
  return (void *)(uintptr_t)data;
}

void rcrt_stage_release(ringconv_context *context, void *data) {
  if (!data || rcrt_cuda_enter(context))
    return;
  rcrt_cuda_release(context, (CUdeviceptr)(uintptr_t)data);
  rcrt_cuda_leave(context);
}

int32_t rcrt_stage_upload(ringconv_context *context, void *device, const void *host, int64_t bytes) {
  int32_t code = bytes > 0 ? rcrt_cuda_enter(context) : RCRT_OK;
  if (code || bytes == 0)
    return code;
  CUresult status = cuMemcpyHtoDAsync_v2((CUdeviceptr)(uintptr_t)device, host, (size_t)bytes, context->cuda->own);
  rcrt_cuda_leave(context);
  return status ? rcrt_cuda_fail(context, status, "cuMemcpyHtoDAsync", "") : RCRT_OK;
}

int32_t rcrt_stage_download(ringconv_context *context, void *host, const void *device, int64_t bytes) {
  int32_t code = bytes > 0 ? rcrt_cuda_enter(context) : RCRT_OK;
  if (code || bytes == 0)
    return code;
  CUresult status = cuMemcpyDtoHAsync_v2(host, (CUdeviceptr)(uintptr_t)device, (size_t)bytes, context->cuda->own);
  rcrt_cuda_leave(context);
  return status ? rcrt_cuda_fail(context, status, "cuMemcpyDtoHAsync", "") : RCRT_OK;
}
