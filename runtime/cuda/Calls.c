/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cuda/Device.h"
#include "cuda/Nvtx.h"

#include "ringconv/Runtime/CudaCalls.h"

#include <string.h>

RCRT_API void *ringconv_cuda_stream(ringconv_context *context, int64_t number) {
  return number ? context->cuda->communication : context->cuda->compute;
}
RCRT_API void *ringconv_cuda_event(ringconv_context *context, int64_t number) { return context->cuda->events[number]; }
RCRT_API void *ringconv_cuda_communicator(ringconv_context *context, int64_t number) {
  return context->cuda->communicators[number];
}
RCRT_API void *ringconv_cuda_kernel(ringconv_context *context, int64_t number) {
  return context->cuda->kernels[number];
}
RCRT_API void *ringconv_cuda_constant(ringconv_context *context, int64_t number) {
  return (void *)(uintptr_t)context->cuda->constants[number];
}
RCRT_API void *ringconv_cuda_arena(ringconv_context *context) { return (void *)(uintptr_t)context->cuda->arena; }

RCRT_API int32_t ringconv_cuda_check(ringconv_context *context, int32_t status, const char *call, const char *place) {
  return status ? rcrt_give_up(context, rcrt_cuda_fail(context, status, call, place)) : RCRT_OK;
}

RCRT_API void ringconv_cuda_count_reduction(ringconv_context *context, int64_t exchange) {
  context->cuda->exchanges[exchange].timed = context->cuda->timed;
  ++context->counters.reductions;
}

RCRT_API int32_t ringconv_cuda_read(ringconv_context *context, void *to, const void *from, int64_t bytes) {
  rcrt_cuda *cuda = context->cuda;
  CUstreamCaptureStatus capturing = 0;
  CUresult status = cuStreamIsCapturing(cuda->compute, &capturing);
  if (!status && capturing)
    return rcrt_fail(context, RCRT_ERR_ARGUMENT,
                     "the program looks at a value while it runs, which cannot be captured in a graph");
  if (!status)
    status = cuMemcpyDtoHAsync_v2(cuda->pinned, (CUdeviceptr)(uintptr_t)from, (size_t)bytes, cuda->compute);
  if (status)
    return rcrt_give_up(context, rcrt_cuda_fail(context, status, "cuMemcpyDtoHAsync", ""));
  int32_t code = rcrt_cuda_synchronize(context);
  if (!code)
    memcpy(to, cuda->pinned, (size_t)bytes);
  return rcrt_give_up(context, code);
}

/* ---- Times ---- */

RCRT_API int32_t ringconv_cuda_mark(ringconv_context *context, int64_t op, int32_t end) {
  rcrt_cuda *cuda = context->cuda;
  if (end)
    rcrt_range_end();
  else
    rcrt_range_begin("", context->program->ops[op].label, context->program->ops[op].location);
  if (!cuda->timed)
    return RCRT_OK;
  CUresult status = 0;
  if (!end) {
    if (!rcrt_grow((void **)&cuda->spans, &cuda->span_capacity, cuda->num_spans + 1, sizeof *cuda->spans))
      return rcrt_fail(context, RCRT_ERR_MEMORY, "out of memory");
    rcrt_span *span = &cuda->spans[cuda->num_spans];
    *span = (rcrt_span){.id = op};
    status = cuEventCreate(&span->begin, 0);
    if (!status)
      status = cuEventCreate(&span->end, 0);
    if (!status)
      status = cuEventRecord(span->begin, cuda->compute);
    if (!status)
      ++cuda->num_spans;
  } else if (cuda->num_spans && cuda->spans[cuda->num_spans - 1].id == op) {
    status = cuEventRecord(cuda->spans[cuda->num_spans - 1].end, cuda->compute);
  }
  return status ? rcrt_give_up(context, rcrt_cuda_fail(context, status, "cuEventRecord", "")) : RCRT_OK;
}

/* Events that only order streams have no times. */
int32_t rcrt_cuda_time(ringconv_context *context) {
  rcrt_cuda *cuda = context->cuda;
  int32_t code = rcrt_cuda_enter(context);
  if (code)
    return code;
  CUresult status = 0;
  for (int64_t i = 0; i < cuda->num_events && !status; ++i) {
    cuEventDestroy_v2(cuda->events[i]);
    cuda->events[i] = NULL;
    status = cuEventCreate(&cuda->events[i], 0);
  }
  cuda->timed = true;
  rcrt_cuda_leave(context);
  return status ? rcrt_cuda_fail(context, status, "cuEventCreate", "") : RCRT_OK;
}

/* Nanoseconds of the host's clock at an event. */
static int64_t time_of(rcrt_cuda *cuda, CUevent event, CUresult *status) {
  float milliseconds = 0;
  if (!*status)
    *status = cuEventElapsedTime(&milliseconds, cuda->epoch, event);
  return cuda->epoch_ns + (int64_t)((double)milliseconds * 1e6);
}

int32_t rcrt_cuda_collect_times(ringconv_context *context) {
  rcrt_cuda *cuda = context->cuda;
  CUresult status = 0;
  for (int64_t i = 0; i < cuda->num_spans; ++i) {
    rcrt_span *span = &cuda->spans[i];
    int64_t begin = time_of(cuda, span->begin, &status), end = time_of(cuda, span->end, &status);
    rcrt_op_time *t = &context->op_times[span->id];
    t->total_ns += end - begin;
    ++t->uses;
    rcrt_record(context, RCRT_EVENT_OP, span->id, begin, end);
    cuEventDestroy_v2(span->begin);
    cuEventDestroy_v2(span->end);
  }
  cuda->num_spans = 0;
  for (int64_t i = 0; i < context->program->num_exchanges; ++i) {
    if (!cuda->exchanges[i].timed)
      continue;
    cuda->exchanges[i].timed = false;
    int64_t begin = time_of(cuda, cuda->events[2 * i], &status), end = time_of(cuda, cuda->events[2 * i + 1], &status);
    rcrt_record(context, RCRT_EVENT_TRANSFER, i, begin, end);
  }
  return status ? rcrt_cuda_fail(context, status, "cuEventElapsedTime", "") : RCRT_OK;
}
