/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Shards of a rank on a GPU: the driver's arrays are pinned memory of the host,
 * and each has a copy on the device that the program works on. */
#include "driver/Driver.h"

#include "common/DType.h"
#include "common/Shard.h"
#include "cuda/Device.h"

#include <stdlib.h>

struct rcrt_device_shards {
  CUdeviceptr *data; /* inputs first, then outputs */
  void **out;        /* the outputs among them, as a run wants them */
  CUgraphExec graph; /* of one run, with --graph */
};

static ringconv_context *context_of(rcrt_rank *r) { return &r->session->context; }

/* The session's error becomes the rank's. */
static bool failed(rcrt_rank *r, int32_t status, const char *call) {
  if (status)
    rcrt_cuda_fail(context_of(r), status, call, "");
  r->code = context_of(r)->code;
  snprintf(r->text, sizeof r->text, "%s", context_of(r)->text);
  return false;
}

static int64_t shard_bytes(const rcrt_rank *r, int32_t operand) {
  const ringconv_program *program = r->driver->program;
  const ringconv_operand *o = rcrt_operand(program, operand);
  int64_t offsets[RCRT_MAX_RANK], sizes[RCRT_MAX_RANK], elements = 0;
  rcrt_box(&program->mesh, o, r->position, offsets, sizes);
  rcrt_product(sizes, o->rank, &elements);
  return elements * rcrt_dtype_size(o->dtype);
}

bool rcrt_device_allocate_host(rcrt_rank *r, int32_t operand, void **data) {
  int64_t bytes = shard_bytes(r, operand);
  if (rcrt_cuda_enter(context_of(r)))
    return failed(r, 0, "");
  CUresult status = cuMemAllocHost_v2(data, (size_t)(bytes > 0 ? bytes : 1));
  rcrt_cuda_leave(context_of(r));
  return status ? failed(r, status, "cuMemAllocHost") : true;
}

/* No waiting: the run is issued to the same stream. */
static bool upload(rcrt_rank *r, int32_t operand) {
  rcrt_device_shards *shards = r->shards;
  int64_t bytes = shard_bytes(r, operand);
  shards->data[operand] = rcrt_cuda_allocate(context_of(r), bytes > 0 ? bytes : 1, "a shard");
  if (!shards->data[operand])
    return failed(r, 0, "");
  if (operand >= r->driver->program->num_inputs || bytes == 0)
    return true;
  CUresult status =
      cuMemcpyHtoDAsync_v2(shards->data[operand], r->in[operand], (size_t)bytes, context_of(r)->cuda->own);
  return status ? failed(r, status, "cuMemcpyHtoDAsync") : true;
}

static bool prepare(rcrt_rank *r) {
  const ringconv_program *program = r->driver->program;
  int32_t count = program->num_inputs + program->num_outputs, data = 0, parameters = 0;
  for (int32_t i = 0; i < count; ++i)
    if (!upload(r, i))
      return false;
  for (int32_t i = 0; i < program->num_inputs; ++i) {
    void *shard = (void *)(uintptr_t)r->shards->data[i];
    if (program->inputs[i].flags & RINGCONV_PARAMETER)
      r->parameters[parameters++] = shard;
    else
      r->in_data[data++] = shard;
  }
  for (int32_t o = 0; o < program->num_outputs; ++o)
    r->shards->out[o] = (void *)(uintptr_t)r->shards->data[program->num_inputs + o];
  return true;
}

bool rcrt_device_prepare(rcrt_rank *r) {
  const ringconv_program *program = r->driver->program;
  size_t count = (size_t)(program->num_inputs + program->num_outputs);
  rcrt_device_shards *shards = r->shards = calloc(1, sizeof *shards);
  if (!shards || !(shards->data = calloc(count + 1, sizeof *shards->data)) ||
      !(shards->out = calloc((size_t)program->num_outputs + 1, sizeof *shards->out)))
    return rcrt_rank_error(r, "out of memory");
  if (rcrt_cuda_enter(context_of(r)))
    return failed(r, 0, "");
  bool ok = prepare(r);
  rcrt_cuda_leave(context_of(r));
  return ok;
}

bool rcrt_device_connect(rcrt_rank *r) {
  ringconv_context *context = context_of(r);
  int32_t code = rcrt_cuda_enter(context);
  if (!code) {
    code = rcrt_cuda_connect(context);
    rcrt_cuda_leave(context);
  }
  if (!code)
    return true;
  rcrt_session_fail(r->session);
  return failed(r, 0, "");
}

void rcrt_device_disconnect(rcrt_rank *r) {
  if (rcrt_cuda_enter(context_of(r)))
    return;
  rcrt_cuda_disconnect(context_of(r));
  rcrt_cuda_leave(context_of(r));
}

/* ---- Runs ---- */

bool rcrt_device_time(rcrt_rank *r) {
  const rcrt_flags *flags = &r->driver->flags;
  bool wanted = (flags->trace || flags->report || flags->json) && !flags->graph;
  return !wanted || !rcrt_cuda_time(context_of(r)) || failed(r, 0, "");
}

static int32_t capture(rcrt_rank *r) {
  ringconv_context *context = context_of(r);
  CUstream stream = context->cuda->own;
  CUgraph graph = NULL;
  int32_t code = rcrt_cuda_enter(context);
  if (code)
    return code;
  CUresult status = cuStreamBeginCapture_v2(stream, RCRT_CUDA_CAPTURE_THREAD_LOCAL);
  if (!status) {
    code = ringconv_session_run(r->session, stream, r->in_data, r->shards->out);
    status = cuStreamEndCapture(stream, &graph);
  }
  if (!code && !status)
    status = cuGraphInstantiateWithFlags(&r->shards->graph, graph, 0);
  if (graph)
    cuGraphDestroy(graph);
  if (!code && status)
    code = rcrt_cuda_fail(context, status, "cuStreamEndCapture", "--graph");
  rcrt_cuda_leave(context);
  return code;
}

static int32_t launch(rcrt_rank *r) {
  ringconv_context *context = context_of(r);
  int32_t code = r->shards->graph ? RCRT_OK : capture(r);
  if (code || (code = rcrt_cuda_enter(context)))
    return code;
  CUresult status = cuGraphLaunch(r->shards->graph, context->cuda->own);
  rcrt_cuda_leave(context);
  return status ? rcrt_cuda_fail(context, status, "cuGraphLaunch", "--graph") : RCRT_OK;
}

int32_t rcrt_device_run(rcrt_rank *r) {
  int32_t code = r->driver->flags.graph ? launch(r)
                                        : ringconv_session_run(r->session, NULL, r->in_data, r->shards->out);
  return code ? code : ringconv_session_synchronize(r->session);
}

int32_t rcrt_device_download(rcrt_rank *r, void *const *out) {
  const ringconv_program *program = r->driver->program;
  ringconv_context *context = context_of(r);
  int32_t code = rcrt_cuda_enter(context);
  if (code)
    return code;
  CUresult status = 0;
  for (int32_t o = 0; o < program->num_outputs && !status; ++o) {
    int64_t bytes = shard_bytes(r, program->num_inputs + o);
    if (bytes)
      status = cuMemcpyDtoHAsync_v2(out[o], r->shards->data[program->num_inputs + o], (size_t)bytes,
                                    context->cuda->own);
  }
  rcrt_cuda_leave(context);
  if (status)
    return rcrt_cuda_fail(context, status, "cuMemcpyDtoHAsync", "");
  return ringconv_session_synchronize(r->session);
}

/* With or without a context: pinned memory belongs to the process. */
void rcrt_device_free_host(rcrt_rank *r, void **data, int32_t count) {
  (void)r;
  for (int32_t i = 0; data && i < count; ++i)
    if (data[i])
      cuMemFreeHost(data[i]);
  free(data);
}

void rcrt_device_free(rcrt_rank *r) {
  rcrt_device_shards *shards = r->shards;
  const ringconv_program *program = r->driver->program;
  if (!shards || rcrt_cuda_enter(context_of(r)))
    return;
  if (shards->graph)
    cuGraphExecDestroy(shards->graph);
  for (int32_t i = 0; shards->data && i < program->num_inputs + program->num_outputs; ++i)
    rcrt_cuda_release(context_of(r), shards->data[i]);
  rcrt_cuda_leave(context_of(r));
  free(shards->data);
  free(shards->out);
  free(shards);
  r->shards = NULL;
}
