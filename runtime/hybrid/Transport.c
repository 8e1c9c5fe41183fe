/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "hybrid/Transport.h"

#include "common/Node.h"
#include "host/Channel.h"
#include "host/Threads.h"
#include "mpi/Loader.h"
#include "mpi/Transport.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int32_t hybrid_post(ringconv_context *context, rcrt_group *group) {
  int32_t code = rcrt_threads.post(context, group);
  return code ? code : rcrt_mpi.post(context, group);
}

/* Far messages first: sums then take them in their turn. */
static int32_t hybrid_test(ringconv_context *context, rcrt_group *group, bool *done) {
  bool far = false, near = false;
  int32_t code = rcrt_mpi_progress(context, group, &far);
  if (!code)
    code = rcrt_threads.test(context, group, &near);
  *done = far && near;
  return code;
}

static int32_t hybrid_poll(ringconv_context *context) {
  int32_t code = rcrt_threads.poll(context);
  return code ? code : rcrt_mpi.poll(context);
}

/* Far messages are taken when all have come, so that MPI alone knows which lack. */
static int32_t timed_out(ringconv_context *context, const rcrt_group *group) {
  bool receives = false;
  int64_t peer = rcrt_mpi_pending(context, group, &receives);
  for (int64_t m = 0; m < group->receive.num_messages && !receives; ++m)
    if (!group->receive.messages[m].done && rcrt_is_near(context, group->receive.messages[m].peer)) {
      peer = group->receive.messages[m].peer;
      receives = true;
    }
  return rcrt_fail_late(context, group->exchange, peer, receives);
}

static int32_t hybrid_wait(ringconv_context *context, rcrt_group *group) {
  int64_t deadline = rcrt_deadline(rcrt_now(), context->timeout);
  for (int64_t polls = 0;; ++polls) {
    bool done = false;
    int32_t code = hybrid_test(context, group, &done);
    if (code || done)
      return code;
    code = polls % 16 == 15 ? hybrid_poll(context) : RCRT_OK;
    if (code)
      return code;
    if (rcrt_now() > deadline)
      return timed_out(context, group);
    rcrt_mpi_rest(polls);
  }
}

static void hybrid_fail(ringconv_context *context) {
  rcrt_threads.fail(context);
  rcrt_mpi.fail(context);
}

static void hybrid_abandon(ringconv_context *context, rcrt_group *group) {
  rcrt_threads.abandon(context, group);
  rcrt_mpi.abandon(context, group);
}

static void hybrid_forget(ringconv_context *context, rcrt_group *group) {
  rcrt_threads.forget(context, group);
  rcrt_mpi.forget(context, group);
}

/* A session that could not be opened may lack the far part. */
static void hybrid_close(ringconv_context *context) {
  if (context->far)
    rcrt_mpi.close(context);
  rcrt_threads.close(context);
}

static const rcrt_transport hybrid = {
    .post = hybrid_post,
    .wait = hybrid_wait,
    .test = hybrid_test,
    .poll = hybrid_poll,
    .fail = hybrid_fail,
    .abandon = hybrid_abandon,
    .forget = hybrid_forget,
    .close = hybrid_close,
    .take = rcrt_mpi_take,
};

/* ---- Opening ---- */

static int32_t compare_hashes(ringconv_context *process, uint64_t hash) {
  uint64_t *all = calloc((size_t)process->size, sizeof *all);
  if (!all)
    return rcrt_fail(process, RCRT_ERR_MEMORY, "out of memory");
  int32_t code = rcrt_gather_all(process, &hash, sizeof *all, all);
  for (int64_t p = 1; p < process->size && !code; ++p)
    if (all[p] != all[0])
      code = rcrt_fail(process, RCRT_ERR_MISMATCH,
                       "process %" PRId64 " runs another program (hash %016" PRIx64 ") than process 0 (%016" PRIx64 ")",
                       p, all[p], all[0]);
  free(all);
  return code;
}

/* The connection of this process, through a context whose ranks are processes. */
static int32_t connect(ringconv_context *context, int32_t comm, void **far) {
  char text[RCRT_TEXT];
  const ringconv_mpi_functions *mpi = rcrt_mpi_load(NULL, text);
  if (!mpi)
    return rcrt_fail(context, RCRT_ERR_TRANSPORT, "%s", text);
  if (!mpi->serialized())
    return rcrt_fail(context, RCRT_ERR_TRANSPORT, "MPI was begun for one thread only, MPI_THREAD_SERIALIZED is needed");
  ringconv_context process = {.position = rcrt_process(context, context->position),
                              .size = context->size / context->per_process,
                              .timeout = context->timeout};
  int32_t code = rcrt_mpi_connect(&process, mpi, comm);
  if (!code)
    code = compare_hashes(&process, context->program->hash);
  rcrt_free_groups(&process);
  if (!code) {
    *far = rcrt_mpi_share(&process);
    return RCRT_OK;
  }
  if (process.transport) {
    process.transport->fail(&process);
    process.transport->close(&process);
  }
  return rcrt_fail(context, code, "%s", process.text);
}

int32_t rcrt_hybrid_open(ringconv_context *context, const ringconv_world *world) {
  int64_t threads = world->team->size;
  if (world->size % threads)
    return rcrt_fail(context, RCRT_ERR_ARGUMENT, "%" PRId64 " ranks are no multiple of %" PRId64 " in each process",
                     world->size, threads);
  context->per_process = threads;
  int32_t code = rcrt_threads_open(context, world->team, world->rank % threads);
  if (code)
    return code;
  context->transport = &hybrid;
  /* The first rank connects the process; the others wait for it. */
  rcrt_channel *channel = rcrt_threads_channel(context);
  pthread_mutex_lock(&world->team->lock);
  if (!channel->far)
    code = connect(context, world->mpi_comm, &channel->far);
  if (!code)
    rcrt_mpi_join(context, channel->far);
  pthread_mutex_unlock(&world->team->lock);
  return code;
}
