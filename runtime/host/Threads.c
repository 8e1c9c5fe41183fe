/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "host/Threads.h"

#include "common/Node.h"
#include "host/Channel.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>

/* This rank's end of a channel. */
typedef struct link {
  ringconv_team *team, *own_team; /* own_team: made here for a single rank */
  rcrt_channel *channel;
  rcrt_endpoint *end;
  rcrt_envelope *first, **last; /* taken from the inbox, in the order of posting */
} link;

static link *link_of(const ringconv_context *context) { return context->link; }

/* The stack has the newest on top; each sender's envelopes keep their order. */
static void take_inbox(link *l) {
  if (!atomic_load_explicit(&l->end->inbox, memory_order_relaxed))
    return;
  rcrt_envelope *e = atomic_exchange_explicit(&l->end->inbox, NULL, memory_order_acquire), *reversed = NULL;
  while (e) {
    rcrt_envelope *next = e->next;
    e->next = reversed;
    reversed = e;
    e = next;
  }
  *l->last = reversed;
  while (*l->last)
    l->last = &(*l->last)->next;
}

static rcrt_envelope *find_envelope(link *l, int64_t sender, int64_t exchange) {
  for (rcrt_envelope **at = &l->first; *at; at = &(*at)->next) {
    rcrt_envelope *e = *at;
    if (e->sender != sender || e->exchange != exchange)
      continue;
    *at = e->next;
    if (l->last == &e->next)
      l->last = at;
    return e;
  }
  return NULL;
}

static void push(rcrt_endpoint *end, rcrt_envelope *e) {
  rcrt_envelope *head = atomic_load_explicit(&end->inbox, memory_order_relaxed);
  do
    e->next = head;
  while (!atomic_compare_exchange_weak_explicit(&end->inbox, &head, e, memory_order_release, memory_order_relaxed));
  rcrt_ring(end);
}

/* All earlier envelopes of the group are done, nobody knows them any more. */
static rcrt_block *block_for(rcrt_group *group, int64_t count) {
  rcrt_block *block = group->transport;
  if (block && block->capacity >= count) {
    block->used = 0;
    return block;
  }
  free(block);
  block = malloc(sizeof *block + (size_t)count * sizeof *block->envelopes);
  if (block) {
    block->capacity = count;
    block->used = 0;
  }
  group->transport = block;
  return block;
}

static int32_t threads_poll(ringconv_context *context) {
  int64_t failed = atomic_load_explicit(&link_of(context)->channel->failed, memory_order_acquire);
  if (!failed)
    return RCRT_OK;
  return rcrt_fail(context, RCRT_ERR_PEER, "rank %" PRId64 " failed", failed - 1);
}

static int32_t threads_post(ringconv_context *context, rcrt_group *group) {
  link *l = link_of(context);
  rcrt_block *block = block_for(group, group->send.num_messages);
  if (!block)
    return rcrt_fail(context, RCRT_ERR_MEMORY, "exchange %" PRId64 ": out of memory", group->exchange);
  for (int64_t m = 0; m < group->send.num_messages; ++m) {
    rcrt_message *message = &group->send.messages[m];
    if (message->peer == context->position || !rcrt_is_near(context, message->peer))
      continue;
    rcrt_envelope *e = &block->envelopes[block->used++];
    e->group = group;
    e->message = message;
    e->sender = context->position;
    e->exchange = group->exchange;
    atomic_store_explicit(&e->state, RCRT_ENVELOPE_POSTED, memory_order_relaxed);
    push(&l->channel->ends[rcrt_seat(context, message->peer)], e);
  }
  return RCRT_OK;
}

static int32_t accept_envelope(ringconv_context *context, rcrt_group *group, rcrt_message *message, rcrt_envelope *e) {
  int32_t posted = RCRT_ENVELOPE_POSTED;
  if (!atomic_compare_exchange_strong_explicit(&e->state, &posted, RCRT_ENVELOPE_CLAIMED, memory_order_acquire,
                                               memory_order_relaxed))
    return RCRT_OK; /* withdrawn: its sender is about to report its failure */
  int64_t sender = e->sender;
  int32_t code = rcrt_deliver(context, group, message, e->group, e->message, sender);
  message->done = true;
  atomic_store_explicit(&e->state, RCRT_ENVELOPE_DONE, memory_order_release);
  rcrt_ring(&link_of(context)->channel->ends[rcrt_seat(context, sender)]);
  return code;
}

static int32_t take_message(ringconv_context *context, rcrt_group *group, rcrt_message *message) {
  if (message->peer == context->position) /* only groups of sums come here */
    return rcrt_deliver_own(context, group);
  if (!rcrt_is_near(context, message->peer))
    return context->transport->take(context, group, message);
  rcrt_envelope *e = find_envelope(link_of(context), message->peer, group->exchange);
  return e ? accept_envelope(context, group, message, e) : RCRT_OK;
}

/* Takes what is there; *missing is a message that is not, or NULL. */
static int32_t take_messages(ringconv_context *context, rcrt_group *group, const rcrt_message **missing) {
  *missing = NULL;
  take_inbox(link_of(context));
  for (int64_t m = 0; m < group->receive.num_messages; ++m) {
    rcrt_message *message = &group->receive.messages[m];
    if (message->done)
      continue;
    int32_t code = take_message(context, group, message);
    if (code)
      return code;
    if (message->done)
      continue;
    if (!*missing)
      *missing = message;
    if (group->ordered)
      return RCRT_OK;
  }
  return RCRT_OK;
}

/* An own envelope that its receiver has not finished, or NULL. */
static const rcrt_envelope *untaken(const rcrt_group *group) {
  rcrt_block *block = group->transport;
  for (int64_t i = 0; i < block->used; ++i)
    if (atomic_load_explicit(&block->envelopes[i].state, memory_order_acquire) != RCRT_ENVELOPE_DONE)
      return &block->envelopes[i];
  return NULL;
}

static int32_t timed_out(ringconv_context *context, const rcrt_group *group, const rcrt_message *missing,
                         const rcrt_envelope *sent) {
  return rcrt_fail_late(context, group->exchange, missing ? missing->peer : sent->message->peer, missing != NULL);
}

static int32_t threads_test(ringconv_context *context, rcrt_group *group, bool *done) {
  const rcrt_message *missing;
  int32_t code = take_messages(context, group, &missing);
  *done = !code && !missing && !untaken(group);
  return code;
}

static int32_t threads_wait(ringconv_context *context, rcrt_group *group) {
  link *l = link_of(context);
  int64_t deadline = rcrt_deadline(rcrt_now(), context->timeout);
  for (bool in_time = true;;) {
    /* Read before looking: whatever comes later changes the bell. */
    uint32_t seen = atomic_load_explicit(&l->end->bell, memory_order_acquire);
    const rcrt_message *missing;
    int32_t code = take_messages(context, group, &missing);
    if (code)
      return code;
    const rcrt_envelope *sent = missing ? NULL : untaken(group);
    if (!missing && !sent)
      return RCRT_OK;
    if ((code = threads_poll(context)))
      return code;
    if (!in_time)
      return timed_out(context, group, missing, sent);
    in_time = rcrt_listen(l->end, seen, l->team->spins, deadline) && rcrt_now() < deadline;
  }
}

static void threads_fail(ringconv_context *context) {
  rcrt_channel *channel = link_of(context)->channel;
  int64_t none = 0;
  atomic_compare_exchange_strong_explicit(&channel->failed, &none, context->position + 1, memory_order_acq_rel,
                                          memory_order_acquire);
  for (int64_t p = 0; p < channel->size; ++p)
    rcrt_ring(&channel->ends[p]);
}

static void threads_abandon(ringconv_context *context, rcrt_group *group) {
  (void)context;
  rcrt_block *block = group->transport;
  for (int64_t i = 0; block && i < block->used; ++i) {
    rcrt_envelope *e = &block->envelopes[i];
    int32_t state = RCRT_ENVELOPE_POSTED;
    atomic_compare_exchange_strong_explicit(&e->state, &state, RCRT_ENVELOPE_WITHDRAWN, memory_order_acq_rel,
                                            memory_order_acquire);
    /* A claimed one is being copied, which takes no longer than the copy. */
    while (state == RCRT_ENVELOPE_CLAIMED) {
      sched_yield();
      state = atomic_load_explicit(&e->state, memory_order_acquire);
    }
  }
}

static void threads_forget(ringconv_context *context, rcrt_group *group) {
  rcrt_channel *channel = link_of(context)->channel;
  rcrt_block *block = group->transport;
  group->transport = NULL;
  if (!block)
    return;
  if (atomic_load_explicit(&channel->failed, memory_order_acquire) || group->state == RCRT_POSTED)
    rcrt_channel_keep(channel, block); /* withdrawn envelopes still lie in inboxes */
  else
    free(block);
}

static void threads_close(ringconv_context *context) {
  link *l = link_of(context);
  if (l->channel)
    rcrt_channel_leave(l->team, l->channel);
  ringconv_team_destroy(l->own_team);
  free(l);
  context->link = NULL;
}

const rcrt_transport rcrt_threads = {
    .post = threads_post,
    .wait = threads_wait,
    .test = threads_test,
    .poll = threads_poll,
    .fail = threads_fail,
    .abandon = threads_abandon,
    .forget = threads_forget,
    .close = threads_close,
};

rcrt_channel *rcrt_threads_channel(const ringconv_context *context) { return link_of(context)->channel; }

int64_t rcrt_threads_first_failed(const ringconv_context *context) {
  return atomic_load_explicit(&link_of(context)->channel->failed, memory_order_acquire) - 1;
}

/* The first rank to come writes its program's hash, the others compare. A rank
 * with another program marks the failure before anybody takes its messages. */
static int32_t compare_hash(ringconv_context *context, link *l) {
  rcrt_channel *channel = l->channel;
  pthread_mutex_lock(&l->team->lock);
  if (!channel->has_hash) {
    channel->has_hash = true;
    channel->hash = context->program->hash;
    channel->hash_position = context->position;
  }
  bool same = channel->hash == context->program->hash;
  pthread_mutex_unlock(&l->team->lock);
  if (same)
    return RCRT_OK;
  int32_t code = rcrt_fail(context, RCRT_ERR_MISMATCH,
                           "runs another program (hash %016" PRIx64 ") than rank %" PRId64 " (%016" PRIx64 ")",
                           context->program->hash, channel->hash_position, channel->hash);
  threads_fail(context);
  return code;
}

int32_t rcrt_threads_open(ringconv_context *context, ringconv_team *team, int64_t rank) {
  link *l = calloc(1, sizeof *l);
  if (!l)
    return rcrt_fail(context, RCRT_ERR_MEMORY, "out of memory");
  l->team = team ? team : (l->own_team = ringconv_team_create(1));
  l->channel = l->team ? rcrt_channel_join(l->team, rank) : NULL;
  if (!l->channel) {
    ringconv_team_destroy(l->own_team);
    free(l);
    return rcrt_fail(context, RCRT_ERR_MEMORY, "out of memory");
  }
  l->end = &l->channel->ends[rcrt_seat(context, context->position)];
  l->last = &l->first;
  context->link = l;
  context->transport = &rcrt_threads;
  return compare_hash(context, l);
}
