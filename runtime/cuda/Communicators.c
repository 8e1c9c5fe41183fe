/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * NCCL's communicators: who meets, who sums with whom, and what is done when
 * somebody fails. */
#include "common/Shard.h"
#include "cuda/Join.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All ranks get the id that the first position asked for. */
static int32_t meet(ringconv_context *context, ncclUniqueId *id) {
  ncclResult_t status = 0;
  memset(id, 0, sizeof *id);
  /* Ranks that only know an address meet there: NCCL makes the id of it. */
  bool by_address = context->transport->gather != NULL;
  if (context->position == 0 || by_address)
    status = ncclGetUniqueId(id);
  if (status)
    return rcrt_cuda_fail(context, status, "ncclGetUniqueId", "");
  if (by_address || context->size == 1)
    return RCRT_OK;
  ncclUniqueId *all = malloc((size_t)context->size * sizeof *all);
  if (!all)
    return rcrt_fail(context, RCRT_ERR_MEMORY, "out of memory");
  int32_t code = rcrt_gather_all(context, id, sizeof *id, all);
  *id = all[0];
  free(all);
  return code;
}

/* Members of a sum differ along its axes only; their order is that of their
 * positions. */
static int32_t split(ringconv_context *context, uint64_t axes, ncclComm_t *part) {
  const ringconv_mesh *mesh = &context->program->mesh;
  int64_t color = 0;
  for (int64_t a = 0; a < mesh->num_axes; ++a) {
    int64_t coord = axes >> a & 1 ? 0 : rcrt_mesh_coord(mesh, context->position, a);
    color = color * mesh->extents[a] + coord;
  }
  return rcrt_join_split(context, context->cuda->communicators[0], (int)color, part);
}

static bool needs_communicator(const ringconv_context *context) {
  return context->transport->gather || (context->size > 1 && context->program->num_exchanges > 0);
}

int32_t rcrt_cuda_connect(ringconv_context *context) {
  rcrt_cuda *cuda = context->cuda;
  if (cuda->connected || !needs_communicator(context))
    return RCRT_OK;
  char text[RCRT_TEXT];
  if (!rcrt_nccl_load(text))
    return rcrt_fail(context, RCRT_ERR_TRANSPORT, "%s", text);
  int32_t code = RCRT_OK;
  if (!cuda->communicators[0]) {
    ncclUniqueId id;
    code = meet(context, &id);
    if (!code)
      code = rcrt_join_all(context, id, &cuda->communicators[0]);
  }
  for (int32_t i = 0; i < context->program->cuda->num_sums && !code; ++i)
    code = split(context, context->program->cuda->sums[i], &cuda->communicators[1 + i]);
  cuda->connected = !code;
  return code;
}

void rcrt_cuda_abort(ringconv_context *context) {
  rcrt_cuda *cuda = context->cuda;
  ncclGroupEnd(); /* an error inside of a group leaves it open */
  for (int32_t i = context->program->cuda->num_sums; cuda->communicators && i >= 0; --i) {
    if (!cuda->communicators[i] || (i == 0 && cuda->borrowed))
      continue;
    ncclCommAbort(cuda->communicators[i]);
    cuda->communicators[i] = NULL;
  }
}

void rcrt_cuda_disconnect(ringconv_context *context) {
  rcrt_cuda *cuda = context->cuda;
  if (cuda->own && !context->given_up)
    cuStreamSynchronize(cuda->own);
  for (int32_t i = context->program->cuda->num_sums; cuda->communicators && i >= 0; --i) {
    if (cuda->communicators[i] && !(i == 0 && cuda->borrowed))
      context->given_up ? ncclCommAbort(cuda->communicators[i]) : ncclCommDestroy(cuda->communicators[i]);
    cuda->communicators[i] = NULL;
  }
  cuda->connected = false;
}

/* ---- Faults ---- */

/* " with ranks 0, 2", those that an exchange has messages with. */
static void list_peers(const rcrt_device_exchange *x, char *text, size_t size) {
  size_t used = 0;
  const char *before = x->num_messages > 1 ? " with ranks " : " with rank ";
  for (int64_t m = 0; m < x->num_messages && used < size; ++m) {
    bool again = false;
    for (int64_t n = 0; n < m; ++n)
      again |= x->messages[n].peer == x->messages[m].peer;
    if (!again)
      used += (size_t)snprintf(text + used, size - used, "%s%" PRId32, used ? ", " : before, x->messages[m].peer);
  }
}

/* What the communication stream is doing: the exchange whose data were ready to
 * travel, and have not arrived. Empty where there is none. */
static const char *describe_pending(ringconv_context *context, char *text, size_t size) {
  rcrt_cuda *cuda = context->cuda;
  *text = 0;
  for (int64_t i = 0; i < context->program->num_exchanges; ++i) {
    if (cuEventQuery(cuda->events[2 * i]) || cuEventQuery(cuda->events[2 * i + 1]) != RCRT_CUDA_NOT_READY)
      continue;
    const ringconv_op *op = rcrt_exchange_op(context->program, i);
    char peers[128] = "";
    list_peers(&cuda->exchanges[i], peers, sizeof peers);
    if (op)
      snprintf(text, size, ", in the exchange for %s at %s%s", op->label, op->location, peers);
    else
      snprintf(text, size, ", in exchange %" PRId64 "%s", i, peers);
    break;
  }
  return text;
}

/* A fault that NCCL found meanwhile, or that a peer told. */
static int32_t look_for_faults(ringconv_context *context) {
  rcrt_cuda *cuda = context->cuda;
  for (int32_t i = 0; i <= context->program->cuda->num_sums; ++i) {
    ncclResult_t error = 0;
    char pending[RCRT_TEXT / 2];
    if (!cuda->communicators[i])
      continue;
    ncclResult_t status = ncclCommGetAsyncError(cuda->communicators[i], &error);
    error = status ? status : error;
    if (error && error != RCRT_NCCL_IN_PROGRESS)
      return rcrt_fail(context, RCRT_ERR_PEER, "NCCL: %s: a peer failed or ended%s", rcrt_nccl_text(error),
                       describe_pending(context, pending, sizeof pending));
  }
  return context->transport->poll(context);
}

int32_t rcrt_cuda_synchronize(ringconv_context *context) {
  int64_t begin = rcrt_now(), deadline = rcrt_deadline(begin, context->timeout), pause = 1000;
  char pending[RCRT_TEXT / 2];
  for (;;) {
    CUresult status = cuStreamQuery(context->cuda->compute);
    if (!status)
      return look_for_faults(context);
    if (status != RCRT_CUDA_NOT_READY)
      return rcrt_cuda_fail(context, status, "cuStreamQuery", "");
    int32_t code = look_for_faults(context);
    if (code)
      return code;
    if (rcrt_now() > deadline)
      return rcrt_fail(context, RCRT_ERR_TIMEOUT, "the GPU has not finished within %g s%s", context->timeout,
                       describe_pending(context, pending, sizeof pending));
    nanosleep(&(struct timespec){0, pause}, NULL);
    pause = pause < 200000 ? 2 * pause : pause;
  }
}
