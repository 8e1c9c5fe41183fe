/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cuda/Transport.h"

#include "common/Shard.h"
#include "cuda/Device.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int32_t no_groups(ringconv_context *context, rcrt_group *group) {
  return rcrt_fail(context, RCRT_ERR_PROGRAM, "exchange %" PRId64 ": a message of the host", group->exchange);
}
static int32_t poll(ringconv_context *context) {
  (void)context; /* rcrt_cuda_synchronize asks NCCL */
  return RCRT_OK;
}
static void nothing(ringconv_context *context) { (void)context; }
static void nothing_of_group(ringconv_context *context, rcrt_group *group) {
  (void)context;
  (void)group;
}

/* Up and down in one piece of device memory: mine first, then all. */
static int32_t gather_on_device(ringconv_context *context, CUdeviceptr memory, const void *mine, int64_t bytes,
                                char *all) {
  rcrt_cuda *cuda = context->cuda;
  CUstream stream = cuda->own;
  CUresult status = cuMemcpyHtoDAsync_v2(memory, mine, (size_t)bytes, stream);
  if (status)
    return rcrt_cuda_fail(context, status, "cuMemcpyHtoDAsync", "agreement");
  void *data = (void *)(uintptr_t)memory, *received = (void *)(uintptr_t)(memory + (CUdeviceptr)bytes);
  ncclResult_t result = ncclAllGather(data, received, (size_t)bytes, RCRT_NCCL_INT8, cuda->communicators[0], stream);
  if (result)
    return rcrt_cuda_fail(context, result, "ncclAllGather", "agreement");
  status = cuMemcpyDtoHAsync_v2(all, memory + (CUdeviceptr)bytes, (size_t)(bytes * context->size), stream);
  if (status)
    return rcrt_cuda_fail(context, status, "cuMemcpyDtoHAsync", "agreement");
  cuda->compute = stream;
  return rcrt_cuda_synchronize(context);
}

/* NCCL has the order of ranks, an agreement that of positions. */
static int32_t gather(ringconv_context *context, const void *mine, int64_t bytes, void *all) {
  char *by_rank = malloc((size_t)(bytes * context->size));
  if (!by_rank)
    return rcrt_fail(context, RCRT_ERR_MEMORY, "out of memory");
  int32_t code = rcrt_cuda_enter(context);
  if (!code) {
    CUdeviceptr memory = rcrt_cuda_allocate(context, bytes * (context->size + 1), "an agreement");
    code = memory ? gather_on_device(context, memory, mine, bytes, by_rank) : context->code;
    rcrt_cuda_release(context, memory);
    rcrt_cuda_leave(context);
  }
  for (int64_t p = 0; p < context->size && !code; ++p)
    memcpy((char *)all + p * bytes, by_rank + rcrt_mesh_rank(&context->program->mesh, p) * bytes, (size_t)bytes);
  free(by_rank);
  return code;
}

static const rcrt_transport nccl = {
    .post = no_groups,
    .wait = no_groups,
    .poll = poll,
    .fail = nothing,
    .abandon = nothing_of_group,
    .forget = nothing_of_group,
    .close = nothing,
    .gather = gather,
};

static int32_t check_communicator(ringconv_context *context, const ringconv_world *world) {
  int count = 0, rank = 0;
  ncclResult_t status = ncclCommCount(world->nccl_comm, &count);
  if (!status)
    status = ncclCommUserRank(world->nccl_comm, &rank);
  if (status)
    return rcrt_cuda_fail(context, status, "ncclCommCount", "");
  if (count != world->size || rank != world->rank)
    return rcrt_fail(context, RCRT_ERR_ARGUMENT,
                     "the communicator has rank %d of %d, the world says %" PRId64 " of %" PRId64, rank, count,
                     world->rank, world->size);
  return RCRT_OK;
}

static int32_t compare_hashes(ringconv_context *context) {
  uint64_t *all = calloc((size_t)context->size, sizeof *all);
  if (!all)
    return rcrt_fail(context, RCRT_ERR_MEMORY, "out of memory");
  int32_t code = rcrt_gather_all(context, &context->program->hash, sizeof *all, all);
  for (int64_t p = 0; p < context->size && !code; ++p)
    if (all[p] != context->program->hash)
      code = rcrt_fail(context, RCRT_ERR_MISMATCH,
                       "runs another program (hash %016" PRIx64 ") than rank %" PRId64 " (%016" PRIx64 ")",
                       context->program->hash, p, all[p]);
  free(all);
  return code;
}

int32_t rcrt_nccl_open(ringconv_context *context, const ringconv_world *world) {
  rcrt_cuda *cuda = context->cuda;
  char text[RCRT_TEXT];
  context->transport = &nccl;
  if (!rcrt_nccl_load(text))
    return rcrt_fail(context, RCRT_ERR_TRANSPORT, "%s", text);
  int32_t code = RCRT_OK;
  if (world->nccl_comm) {
    code = check_communicator(context, world);
    cuda->communicators[0] = world->nccl_comm;
    cuda->borrowed = true;
  }
  if (!code && (code = rcrt_cuda_enter(context)) == RCRT_OK) {
    code = rcrt_cuda_connect(context);
    rcrt_cuda_leave(context);
  }
  return code ? code : compare_hashes(context);
}
