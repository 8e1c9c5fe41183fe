/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One run on a GPU: issues the work and returns. */
#include "cuda/Device.h"

/* The clock to which times of the device are told. */
static int32_t begin_timing(ringconv_context *context) {
  rcrt_cuda *cuda = context->cuda;
  if (!cuda->timed)
    return RCRT_OK;
  CUresult status = cuda->epoch ? 0 : cuEventCreate(&cuda->epoch, 0);
  if (!status)
    status = cuEventRecord(cuda->epoch, cuda->compute);
  cuda->epoch_ns = rcrt_now();
  return status ? rcrt_cuda_fail(context, status, "cuEventRecord", "") : RCRT_OK;
}

int32_t rcrt_cuda_run(ringconv_context *context, void *stream, void *const *in, void *const *out) {
  rcrt_cuda *cuda = context->cuda;
  int32_t code = rcrt_cuda_enter(context);
  if (code)
    return code;
  cuda->compute = stream ? stream : cuda->own;
  code = rcrt_cuda_connect(context);
  if (!code)
    code = begin_timing(context);
  if (!code)
    code = context->program->run(context, in, out);
  rcrt_cuda_leave(context);
  return code;
}
