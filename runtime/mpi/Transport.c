/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Groups as MPI messages. MPI receives straight into the destination and sends
 * from the source, whatever their strides; only what is to be added is received
 * into dense memory first. */
#include "mpi/Transport.h"

#include "common/Node.h"
#include "mpi/Loader.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

/* Of one rank; or of all that are threads of this process, one at a time. */
typedef struct link {
  const ringconv_mpi_functions *mpi;
  ringconv_mpi_link *link;
  bool failed, shared;
  int32_t told; /* shared: who has failed, or -1 */
  int64_t users;
  pthread_mutex_t lock;
} link;

/* Kept with a group from one use to the next. */
typedef struct exchange {
  ringconv_mpi_batch batch;
  bool complete;
  int64_t message_capacity, piece_capacity, shape_capacity, staging_capacity;
  ringconv_mpi_piece *pieces;
  int64_t *shapes; /* sizes and strides of pieces whose box is not the group's own */
  char *staging;
} exchange;

static link *link_of(const ringconv_context *context) { return context->far; }

static void enter(link *l) {
  if (l->shared)
    pthread_mutex_lock(&l->lock);
}

static void leave(link *l) {
  if (l->shared)
    pthread_mutex_unlock(&l->lock);
}

static int64_t position_of(const ringconv_context *context, int64_t rank) {
  return context->program ? rcrt_mesh_position(&context->program->mesh, rank) : rank;
}

static int32_t out_of_memory(ringconv_context *context, const rcrt_group *group) {
  return rcrt_fail(context, RCRT_ERR_MEMORY, "exchange %" PRId64 ": out of memory", group->exchange);
}

static int32_t told(ringconv_context *context) {
  link *l = link_of(context);
  enter(l);
  if (l->told < 0 && !l->mpi->told(l->link, &l->told))
    l->told = -1;
  int32_t who = l->told;
  leave(l);
  return who < 0 ? RCRT_OK : rcrt_fail(context, RCRT_ERR_PEER, "rank %d failed", who);
}

/* ---- Waiting ---- */

/* A rank that waits for long gives its core away: first to ranks that are
 * ready to run, later by sleeping for a moment. */
void rcrt_mpi_rest(int64_t polls) {
  if (polls < 50)
    return;
  if (polls < 2000)
    sched_yield();
  else
    nanosleep(&(struct timespec){0, 50000}, NULL);
}

/* ---- Building a batch ---- */

static bool is_staged(const rcrt_piece *piece) { return piece->combine == RCRT_ADD; }

/* What goes through MPI. */
static bool is_far(const ringconv_context *context, int64_t peer) {
  return peer != context->position && !(context->per_process && rcrt_is_near(context, peer));
}

/* Sender and receiver among the threads of their processes. */
static int64_t lane_of(const ringconv_context *context, int64_t peer, bool receives) {
  int64_t mine = rcrt_seat(context, context->position), other = rcrt_seat(context, peer);
  return !context->per_process ? 0 : receives ? other * context->per_process + mine : mine * context->per_process + other;
}

typedef struct sizes {
  int64_t messages, pieces, shapes, staging;
} sizes;

static void add_sizes(const ringconv_context *context, const rcrt_side *side, sizes *s) {
  for (int64_t m = 0; m < side->num_messages; ++m) {
    const rcrt_message *message = &side->messages[m];
    if (!is_far(context, message->peer))
      continue;
    ++s->messages;
    for (int32_t p = message->first; p >= 0; p = side->pieces[p].next) {
      ++s->pieces;
      s->shapes += 2 * side->pieces[p].rank;
      if (is_staged(&side->pieces[p]))
        s->staging += side->pieces[p].elements * side->pieces[p].element_size;
    }
  }
}

/* Where the builder stands. */
typedef struct builder {
  const ringconv_context *context;
  exchange *x;
  int64_t message, piece, shape, staging;
} builder;

/* A receive takes the first element of repeated dimensions only, and what is
 * to be added goes to staging, dense. */
static void add_piece(builder *b, const rcrt_group *group, const rcrt_piece *piece) {
  int64_t *sizes = b->x->shapes + b->shape, *strides = sizes + piece->rank;
  b->shape += 2 * piece->rank;
  for (int64_t d = 0; d < piece->rank; ++d) {
    sizes[d] = piece->repeat >> d & 1 ? 1 : rcrt_sizes(group, piece)[d];
    strides[d] = rcrt_strides(group, piece)[d];
  }
  void *data = piece->data;
  if (is_staged(piece)) {
    data = b->x->staging + b->staging;
    b->staging += piece->elements * piece->element_size;
    rcrt_dense_strides(piece->rank, sizes, strides);
  }
  b->x->pieces[b->piece++] = (ringconv_mpi_piece){data, piece->element_size, piece->rank, sizes, strides};
}

static void add_side(builder *b, const rcrt_group *group, const rcrt_side *side, bool receives) {
  for (int64_t m = 0; m < side->num_messages; ++m) {
    const rcrt_message *message = &side->messages[m];
    if (!is_far(b->context, message->peer))
      continue;
    b->x->batch.messages[b->message++] = (ringconv_mpi_message){.peer = (int32_t)rcrt_process(b->context, message->peer),
                                                                .position = message->peer,
                                                                .lane = lane_of(b->context, message->peer, receives),
                                                                .num_pieces = message->num_pieces,
                                                                .pieces = b->x->pieces + b->piece,
                                                                .bytes = message->bytes,
                                                                .got = -1};
    for (int32_t p = message->first; p >= 0; p = side->pieces[p].next)
      add_piece(b, group, &side->pieces[p]);
  }
}

static bool build(const ringconv_context *context, rcrt_group *group) {
  exchange *x = group->far ? group->far : (group->far = calloc(1, sizeof *x));
  if (!x)
    return false;
  sizes s = {0};
  add_sizes(context, &group->receive, &s);
  int64_t receives = s.messages;
  add_sizes(context, &group->send, &s);
  if (!rcrt_grow((void **)&x->batch.messages, &x->message_capacity, s.messages, sizeof *x->batch.messages) ||
      !rcrt_grow((void **)&x->pieces, &x->piece_capacity, s.pieces, sizeof *x->pieces) ||
      !rcrt_grow((void **)&x->shapes, &x->shape_capacity, s.shapes, sizeof *x->shapes) ||
      !rcrt_grow((void **)&x->staging, &x->staging_capacity, s.staging, 1))
    return false;
  x->complete = false;
  x->batch.tag = group->exchange;
  x->batch.lanes = context->per_process ? context->per_process * context->per_process : 1;
  x->batch.num_receives = receives;
  x->batch.num_messages = s.messages;
  builder b = {.context = context, .x = x};
  add_side(&b, group, &group->receive, true);
  add_side(&b, group, &group->send, false);
  return true;
}

static int32_t mpi_post(ringconv_context *context, rcrt_group *group) {
  if (!build(context, group))
    return out_of_memory(context, group);
  exchange *x = group->far;
  char text[RINGCONV_MPI_TEXT];
  link *l = link_of(context);
  enter(l);
  int failed = l->mpi->post(l->link, &x->batch, text);
  leave(l);
  if (failed)
    return rcrt_fail(context, RCRT_ERR_TRANSPORT, "exchange %" PRId64 ": %s", group->exchange, text);
  return RCRT_OK;
}

/* ---- Completing a batch ---- */

static int32_t check_sizes(ringconv_context *context, const rcrt_group *group, const exchange *x) {
  for (int64_t i = 0; i < x->batch.num_receives; ++i) {
    const ringconv_mpi_message *m = &x->batch.messages[i];
    if (m->got == m->bytes || m->got < 0) /* < 0: incomplete, because another message failed */
      continue;
    int64_t peer = m->position;
    if (m->got == INT64_MAX)
      return rcrt_fail(context, RCRT_ERR_MISMATCH,
                       "exchange %" PRId64 ": rank %" PRId64 " sent more than the expected %" PRId64 " bytes",
                       group->exchange, peer, m->bytes);
    return rcrt_fail(context, RCRT_ERR_MISMATCH,
                     "exchange %" PRId64 ": rank %" PRId64 " sent %" PRId64 " bytes, expected %" PRId64,
                     group->exchange, peer, m->got, m->bytes);
  }
  return RCRT_OK;
}

/* Adds a staged piece to its destination. */
static void add_staged(const rcrt_group *group, const rcrt_piece *piece, const ringconv_mpi_piece *staged) {
  rcrt_view to = {piece->data, rcrt_strides(group, piece)}, from = {staged->data, staged->strides};
  rcrt_add(to, from, piece->dtype, piece->rank, staged->sizes);
}

/* What is left to do with the pieces of a message that has come; the first
 * received piece of the next. */
static const ringconv_mpi_piece *take_pieces(const rcrt_group *group, const rcrt_message *message,
                                             const ringconv_mpi_piece *received) {
  for (int32_t p = message->first; p >= 0; p = group->receive.pieces[p].next, ++received) {
    const rcrt_piece *piece = &group->receive.pieces[p];
    if (is_staged(piece))
      add_staged(group, piece, received);
    rcrt_repeat(group, piece);
  }
  return received;
}

/* In the order of the group, own pieces of sums among them: position by
 * position, as the sum is defined. */
static int32_t finish(ringconv_context *context, rcrt_group *group, const exchange *x) {
  const ringconv_mpi_piece *received = x->pieces;
  for (int64_t m = 0; m < group->receive.num_messages; ++m) {
    rcrt_message *message = &group->receive.messages[m];
    if (message->peer == context->position) {
      int32_t code = group->ordered ? rcrt_deliver_own(context, group) : RCRT_OK;
      if (code)
        return code;
      continue;
    }
    received = take_pieces(group, message, received);
  }
  return RCRT_OK;
}

int64_t rcrt_mpi_pending(ringconv_context *context, const rcrt_group *group, bool *receives) {
  link *l = link_of(context);
  exchange *x = group->far;
  enter(l);
  int64_t i = l->mpi->pending(l->link, &x->batch);
  leave(l);
  *receives = i >= 0 && i < x->batch.num_receives;
  return i < 0 ? -1 : x->batch.messages[i].position;
}

static int32_t timed_out(ringconv_context *context, const rcrt_group *group) {
  bool receives;
  int64_t peer = rcrt_mpi_pending(context, group, &receives);
  return rcrt_fail_late(context, group->exchange, peer, receives);
}

int32_t rcrt_mpi_progress(ringconv_context *context, rcrt_group *group, bool *complete) {
  link *l = link_of(context);
  exchange *x = group->far;
  *complete = x->complete;
  if (x->complete)
    return RCRT_OK;
  char text[RINGCONV_MPI_TEXT];
  int done = 0;
  enter(l);
  int failed = l->mpi->test(l->link, &x->batch, &done, text);
  leave(l);
  if (failed)
    return rcrt_fail(context, RCRT_ERR_TRANSPORT, "exchange %" PRId64 ": %s", group->exchange, text);
  *complete = x->complete = done;
  return done ? check_sizes(context, group, x) : RCRT_OK;
}

int32_t rcrt_mpi_take(ringconv_context *context, rcrt_group *group, rcrt_message *message) {
  exchange *x = group->far;
  if (!x->complete)
    return RCRT_OK;
  const ringconv_mpi_piece *received = x->pieces;
  for (const rcrt_message *m = group->receive.messages; m != message; ++m)
    received += is_far(context, m->peer) ? m->num_pieces : 0;
  take_pieces(group, message, received);
  message->done = true;
  return RCRT_OK;
}

static int32_t mpi_test(ringconv_context *context, rcrt_group *group, bool *done) {
  int32_t code = rcrt_mpi_progress(context, group, done);
  return code || !*done ? code : finish(context, group, group->far);
}

static int32_t mpi_wait(ringconv_context *context, rcrt_group *group) {
  int64_t deadline = 0;
  for (int64_t polls = 0;; ++polls) {
    bool done = false;
    int32_t code = mpi_test(context, group, &done);
    if (code || done)
      return code;
    if (!deadline) /* most waits never look at the clock */
      deadline = rcrt_deadline(rcrt_now(), context->timeout);
    code = polls % 16 == 15 ? told(context) : RCRT_OK;
    if (code)
      return code;
    if (rcrt_now() > deadline)
      return timed_out(context, group);
    rcrt_mpi_rest(polls);
  }
}

static void mpi_fail(ringconv_context *context) {
  link *l = link_of(context);
  enter(l);
  if (!l->failed && context->code != RCRT_ERR_PEER) /* a victim has nothing new to tell */
    l->mpi->tell(l->link, (int32_t)context->position);
  l->failed = true;
  leave(l);
}

static void mpi_abandon(ringconv_context *context, rcrt_group *group) {
  exchange *x = group->far;
  link *l = link_of(context);
  if (!x)
    return;
  enter(l);
  l->mpi->abandon(l->link, &x->batch);
  leave(l);
}

static void mpi_forget(ringconv_context *context, rcrt_group *group) {
  exchange *x = group->far;
  group->far = NULL;
  if (!x)
    return;
  link *l = link_of(context);
  enter(l);
  l->mpi->release(&x->batch);
  leave(l);
  free(x->batch.messages);
  free(x->pieces);
  free(x->shapes);
  free(x->staging);
  free(x);
}

static void mpi_close(ringconv_context *context) {
  link *l = link_of(context);
  context->far = NULL;
  enter(l);
  bool last = --l->users == 0;
  if (last)
    l->mpi->close(l->link, l->failed);
  leave(l);
  if (!last)
    return;
  pthread_mutex_destroy(&l->lock);
  free(l);
}

const rcrt_transport rcrt_mpi = {
    .post = mpi_post,
    .wait = mpi_wait,
    .test = mpi_test,
    .poll = told,
    .fail = mpi_fail,
    .abandon = mpi_abandon,
    .forget = mpi_forget,
    .close = mpi_close,
};

/* ---- Opening ---- */

static int32_t wait_open(ringconv_context *context, link *l) {
  int64_t deadline = rcrt_deadline(rcrt_now(), context->timeout);
  char text[RINGCONV_MPI_TEXT];
  for (int64_t polls = 0;; ++polls) {
    int done = 0;
    if (l->mpi->open_test(l->link, &done, text))
      return rcrt_fail(context, RCRT_ERR_TRANSPORT, "%s", text);
    if (done)
      return RCRT_OK;
    if (rcrt_now() > deadline)
      return rcrt_fail(context, RCRT_ERR_TIMEOUT, "not all ranks have created their session within %g s",
                       context->timeout);
    rcrt_mpi_rest(polls);
  }
}

int32_t rcrt_mpi_connect(ringconv_context *context, const ringconv_mpi_functions *mpi, int32_t comm) {
  link *l = calloc(1, sizeof *l);
  char text[RINGCONV_MPI_TEXT];
  int64_t rank = 0, size = 0;
  if (!l)
    return rcrt_fail(context, RCRT_ERR_MEMORY, "out of memory");
  l->mpi = mpi;
  l->told = -1;
  l->users = 1;
  pthread_mutex_init(&l->lock, NULL);
  if (mpi->open(comm, &l->link, &rank, &size, text)) {
    free(l);
    return rcrt_fail(context, RCRT_ERR_TRANSPORT, "%s", text);
  }
  context->far = l;
  context->transport = &rcrt_mpi;
  if (size != context->size || position_of(context, rank) != context->position) {
    l->failed = true;
    return rcrt_fail(context, RCRT_ERR_ARGUMENT,
                     "the communicator has rank %" PRId64 " of %" PRId64 ", the world says %" PRId64 " of %" PRId64,
                     rank, size, rcrt_rank_of(context, context->position), context->size);
  }
  int32_t code = wait_open(context, l);
  l->failed |= code != RCRT_OK;
  return code;
}

static int32_t compare_hashes(ringconv_context *context) {
  uint64_t *all = calloc((size_t)context->size, sizeof *all);
  if (!all)
    return rcrt_fail(context, RCRT_ERR_MEMORY, "out of memory");
  int32_t code = rcrt_gather_all(context, &context->program->hash, sizeof *all, all);
  for (int64_t p = 1; p < context->size && !code; ++p)
    if (all[p] != all[0])
      code = rcrt_fail(context, RCRT_ERR_MISMATCH,
                       "rank %" PRId64 " runs another program (hash %016" PRIx64 ") than rank 0 (%016" PRIx64 ")", p,
                       all[p], all[0]);
  free(all);
  return code;
}

void *rcrt_mpi_share(ringconv_context *process) {
  link *l = link_of(process);
  process->far = NULL;
  l->shared = true;
  l->users = 0;
  return l;
}

void rcrt_mpi_join(ringconv_context *context, void *far) {
  link *l = far;
  enter(l);
  ++l->users;
  leave(l);
  context->far = far;
}

int32_t rcrt_mpi_open(ringconv_context *context, int32_t comm) {
  char text[RCRT_TEXT];
  const ringconv_mpi_functions *mpi = rcrt_mpi_load(NULL, text);
  if (!mpi)
    return rcrt_fail(context, RCRT_ERR_TRANSPORT, "%s", text);
  int32_t code = rcrt_mpi_connect(context, mpi, comm);
  return code ? code : compare_hashes(context);
}
