/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cuda/Join.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* The call runs in a thread of its own, which stays in NCCL when nobody waits any
 * longer: there is no other way out of it than the end of the process. */
typedef struct join {
  CUcontext gpu;
  ncclComm_t parent; /* NULL: of all ranks */
  ncclUniqueId id;
  int size, rank, color;
  ncclComm_t made;
  ncclResult_t status;
  atomic_int leavers; /* the second of caller and thread frees it */
  atomic_bool done;
} join;

static void leave(join *j) {
  if (atomic_fetch_add(&j->leavers, 1) == 1)
    free(j);
}

static void *run(void *data) {
  join *j = data;
  CUcontext before;
  cuCtxPushCurrent_v2(j->gpu);
  j->status = j->parent ? ncclCommSplit(j->parent, j->color, j->rank, &j->made, NULL)
                        : ncclCommInitRank(&j->made, j->size, j->id, j->rank);
  cuCtxPopCurrent_v2(&before);
  atomic_store(&j->done, true);
  leave(j);
  return NULL;
}

static int32_t wait_for(ringconv_context *context, join *j, const char *call) {
  int64_t deadline = rcrt_deadline(rcrt_now(), context->timeout), pause = 50000;
  while (!atomic_load(&j->done)) {
    int32_t code = context->transport->poll(context);
    if (code)
      return code;
    if (rcrt_now() > deadline)
      return rcrt_fail(context, RCRT_ERR_TIMEOUT, "%s: not all ranks have come within %g s", call, context->timeout);
    nanosleep(&(struct timespec){0, pause}, NULL);
    pause = pause < 2000000 ? 2 * pause : pause;
  }
  return j->status ? rcrt_cuda_fail(context, j->status, call, "") : RCRT_OK;
}

static int32_t start(ringconv_context *context, const join *what, const char *call, ncclComm_t *made) {
  join *j = malloc(sizeof *j);
  if (!j)
    return rcrt_fail(context, RCRT_ERR_MEMORY, "out of memory");
  memcpy(j, what, sizeof *j);
  j->gpu = context->cuda->primary;
  pthread_t thread;
  int error = pthread_create(&thread, NULL, run, j);
  if (error) {
    free(j);
    return rcrt_fail(context, RCRT_ERR_MEMORY, "no thread for %s: %s", call, strerror(error));
  }
  pthread_detach(thread);
  int32_t code = wait_for(context, j, call);
  if (!code)
    *made = j->made;
  leave(j);
  return code;
}

int32_t rcrt_join_all(ringconv_context *context, ncclUniqueId id, ncclComm_t *all) {
  join j = {.id = id, .size = (int)context->size, .rank = (int)context->cuda->rank};
  return start(context, &j, "ncclCommInitRank", all);
}

int32_t rcrt_join_split(ringconv_context *context, ncclComm_t all, int color, ncclComm_t *part) {
  join j = {.parent = all, .color = color, .rank = (int)context->position};
  return start(context, &j, "ncclCommSplit", part);
}
