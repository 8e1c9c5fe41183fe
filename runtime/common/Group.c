/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Groups of messages as generated code builds them, up to the transport. */
#include "common/Context.h"
#include "common/Log.h"

#include "ringconv/Runtime/Calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool rcrt_grow(void **data, int64_t *capacity, int64_t needed, size_t element) {
  if (needed <= *capacity)
    return true;
  int64_t wanted = *capacity * 2 > needed ? *capacity * 2 : needed < 8 ? 8 : needed;
  size_t bytes;
  if (__builtin_mul_overflow((size_t)wanted, element, &bytes))
    return false;
  void *grown = realloc(*data, bytes);
  if (!grown)
    return false;
  *data = grown;
  *capacity = wanted;
  return true;
}

static int32_t out_of_memory(ringconv_context *context) {
  return rcrt_fail(context, RCRT_ERR_MEMORY, "out of memory for the bookkeeping of messages");
}

/* Fibonacci hashing; the capacity is a power of two. */
static rcrt_group **slot_of(rcrt_group **groups, int64_t capacity, int64_t exchange) {
  uint64_t at = (uint64_t)exchange * UINT64_C(0x9e3779b97f4a7c15) >> 32;
  for (;; ++at) {
    rcrt_group **slot = &groups[at & (uint64_t)(capacity - 1)];
    if (!*slot || (*slot)->exchange == exchange)
      return slot;
  }
}

rcrt_group *rcrt_find_group(const ringconv_context *context, int64_t exchange) {
  return context->group_capacity ? *slot_of(context->groups, context->group_capacity, exchange) : NULL;
}

/* At most half of the slots are used, so that a search always ends. */
static bool grow_groups(ringconv_context *context) {
  if (2 * (context->num_groups + 1) <= context->group_capacity)
    return true;
  int64_t capacity = context->group_capacity ? 2 * context->group_capacity : 16;
  rcrt_group **groups = calloc((size_t)capacity, sizeof *groups);
  if (!groups)
    return false;
  for (int64_t i = 0; i < context->group_capacity; ++i)
    if (context->groups[i])
      *slot_of(groups, capacity, context->groups[i]->exchange) = context->groups[i];
  free(context->groups);
  context->groups = groups;
  context->group_capacity = capacity;
  return true;
}

int32_t rcrt_open_group(ringconv_context *context, int64_t exchange, rcrt_group **group) {
  rcrt_group *g = rcrt_find_group(context, exchange);
  if (!g) {
    if (!grow_groups(context) || !(g = calloc(1, sizeof *g)))
      return out_of_memory(context);
    g->exchange = exchange;
    *slot_of(context->groups, context->group_capacity, exchange) = g;
    ++context->num_groups;
  }
  if (g->state != RCRT_IDLE)
    return rcrt_fail(context, RCRT_ERR_PROGRAM, "exchange %" PRId64 ": begun again before its wait", exchange);
  g->state = RCRT_OPEN;
  g->ordered = false;
  g->send.num_pieces = g->send.num_messages = 0;
  g->receive.num_pieces = g->receive.num_messages = 0;
  g->arena_size = 0;
  *group = g;
  return RCRT_OK;
}

static void free_side(rcrt_side *side) {
  free(side->pieces);
  free(side->messages);
}

void rcrt_free_groups(ringconv_context *context) {
  for (int64_t i = 0; i < context->group_capacity; ++i) {
    rcrt_group *g = context->groups[i];
    if (!g)
      continue;
    if (context->transport)
      context->transport->forget(context, g);
    free_side(&g->send);
    free_side(&g->receive);
    rcrt_free_sum(g);
    free(g->arena);
    free(g);
  }
  free(context->groups);
  context->groups = NULL;
  context->num_groups = context->group_capacity = 0;
}

/* The message to or from `peer`; the last one first, since the pieces for one
 * peer often follow each other. NULL: out of memory. */
static rcrt_message *message_of(rcrt_side *side, int64_t peer) {
  for (int64_t m = side->num_messages - 1; m >= 0; --m)
    if (side->messages[m].peer == peer)
      return &side->messages[m];
  if (!rcrt_grow((void **)&side->messages, &side->message_capacity, side->num_messages + 1, sizeof *side->messages))
    return NULL;
  rcrt_message *message = &side->messages[side->num_messages++];
  *message = (rcrt_message){.peer = peer, .first = -1, .last = -1};
  return message;
}

/* Elements that travel; -1 where a size is wrong. */
static int64_t travelling(const rcrt_piece_args *args) {
  int64_t elements = 1;
  for (int64_t d = 0; d < args->rank; ++d) {
    int64_t size = args->repeat >> d & 1 ? 1 : args->sizes[d];
    if (args->sizes[d] <= 0 || __builtin_mul_overflow(elements, size, &elements))
      return -1;
  }
  int64_t bytes;
  return __builtin_mul_overflow(elements, args->element_size, &bytes) ? -1 : elements;
}

int32_t rcrt_add_piece(ringconv_context *context, rcrt_group *group, rcrt_side *side, const rcrt_piece_args *args) {
  const char *way = side == &group->send ? "send to" : "receive from";
  if (args->peer < 0 || args->peer >= context->size)
    return rcrt_fail(context, RCRT_ERR_PROGRAM, "exchange %" PRId64 ": %s rank %" PRId64 " of %" PRId64,
                     group->exchange, way, args->peer, context->size);
  if (args->rank < 0 || args->rank > RCRT_MAX_RANK)
    return rcrt_fail(context, RCRT_ERR_PROGRAM, "exchange %" PRId64 ": a piece with %" PRId64 " dimensions, at most %d",
                     group->exchange, args->rank, RCRT_MAX_RANK);
  int64_t elements = travelling(args);
  if (elements < 0 || args->element_size <= 0)
    return rcrt_fail(context, RCRT_ERR_PROGRAM, "exchange %" PRId64 ": %s rank %" PRId64 ": a piece without elements",
                     group->exchange, way, args->peer);
  bool grown = rcrt_grow((void **)&side->pieces, &side->piece_capacity, side->num_pieces + 1, sizeof *side->pieces) &&
               rcrt_grow((void **)&group->arena, &group->arena_capacity, group->arena_size + 2 * args->rank,
                         sizeof *group->arena);
  rcrt_message *message = grown ? message_of(side, args->peer) : NULL;
  if (!message)
    return out_of_memory(context);

  int32_t index = (int32_t)side->num_pieces++;
  side->pieces[index] = (rcrt_piece){.data = args->data,
                                     .element_size = args->element_size,
                                     .rank = args->rank,
                                     .shape = group->arena_size,
                                     .elements = elements,
                                     .repeat = args->repeat,
                                     .next = -1,
                                     .combine = args->combine,
                                     .dtype = args->dtype};
  if (args->rank) {
    size_t bytes = (size_t)args->rank * sizeof(int64_t);
    memcpy(group->arena + group->arena_size, args->sizes, bytes);
    memcpy(group->arena + group->arena_size + args->rank, args->strides, bytes);
    group->arena_size += 2 * args->rank;
  }
  if (message->first < 0)
    message->first = index;
  else
    side->pieces[message->last].next = index;
  message->last = index;
  ++message->num_pieces;
  message->bytes += elements * args->element_size;
  return RCRT_OK;
}

void rcrt_count_messages(ringconv_context *context, rcrt_group *group) {
  for (int64_t m = 0; m < group->send.num_messages; ++m) {
    if (group->send.messages[m].peer == context->position)
      continue;
    ++group->messages_sent;
    ++context->counters.messages_sent;
    group->bytes_sent += group->send.messages[m].bytes;
    context->counters.bytes_sent += group->send.messages[m].bytes;
  }
  for (int64_t m = 0; m < group->receive.num_messages; ++m) {
    if (group->receive.messages[m].peer == context->position)
      continue;
    ++group->messages_received;
    ++context->counters.messages_received;
    group->bytes_received += group->receive.messages[m].bytes;
    context->counters.bytes_received += group->receive.messages[m].bytes;
  }
  ++group->uses;
}

static rcrt_message *own_message(const ringconv_context *context, rcrt_side *side) {
  for (int64_t m = 0; m < side->num_messages; ++m)
    if (side->messages[m].peer == context->position)
      return &side->messages[m];
  return NULL;
}

int32_t rcrt_deliver_own(ringconv_context *context, rcrt_group *group) {
  rcrt_message *from = own_message(context, &group->send), *to = own_message(context, &group->receive);
  if (!from && !to)
    return RCRT_OK;
  if (!from || !to)
    return rcrt_fail(context, RCRT_ERR_MISMATCH, "exchange %" PRId64 ": pieces for the rank itself at one end only",
                     group->exchange);
  to->done = true;
  return rcrt_deliver(context, group, to, group, from, context->position);
}

int32_t rcrt_post_group(ringconv_context *context, rcrt_group *group) {
  int64_t begin = context->events.enabled ? rcrt_now() : 0;
  rcrt_count_messages(context, group);
  rcrt_log_group(context, group);
  group->state = RCRT_POSTED;
  int32_t code = context->transport->post(context, group);
  if (!code && !group->ordered)
    code = rcrt_deliver_own(context, group);
  if (context->events.enabled)
    rcrt_record(context, RCRT_EVENT_POST, group->exchange, begin, rcrt_now());
  return code;
}

int32_t rcrt_wait_group(ringconv_context *context, rcrt_group *group) {
  int64_t begin = rcrt_now();
  int32_t code = context->transport->wait(context, group);
  if (code)
    return code; /* still posted: session_run abandons it */
  group->state = RCRT_IDLE;
  int64_t end = rcrt_now();
  group->wait_ns += end - begin;
  RCRT_LOG(context, RCRT_LOG_DEBUG, "exchange %" PRId64 ": complete after a wait of %.1f us", group->exchange,
           (double)(end - begin) * 1e-3);
  if (context->events.enabled)
    rcrt_record(context, RCRT_EVENT_WAIT, group->exchange, begin, end);
  return RCRT_OK;
}

int32_t rcrt_test_group(ringconv_context *context, rcrt_group *group, bool *done) {
  int32_t code = context->transport->test(context, group, done);
  if (!code && *done)
    group->state = RCRT_IDLE;
  return code;
}

int32_t rcrt_give_up(ringconv_context *context, int32_t code) {
  if (!code || context->given_up || !context->transport)
    return code;
  context->given_up = true;
  /* First the failure: a peer that finds a message withdrawn waits for it. */
  context->transport->fail(context);
  for (int64_t i = 0; i < context->group_capacity; ++i)
    if (context->groups[i] && context->groups[i]->state == RCRT_POSTED)
      context->transport->abandon(context, context->groups[i]);
  return code;
}

static int32_t find(ringconv_context *context, int64_t exchange, rcrt_group_state state, rcrt_group **group) {
  *group = rcrt_find_group(context, exchange);
  if (*group && (*group)->state == state)
    return RCRT_OK;
  return rcrt_fail(context, RCRT_ERR_PROGRAM, "exchange %" PRId64 ": %s", exchange,
                   state == RCRT_OPEN ? "used outside of its group" : "waited for, but not posted");
}

RCRT_API int32_t ringconv_rt_group(ringconv_context *context, int64_t exchange) {
  rcrt_group *group;
  return rcrt_give_up(context, rcrt_open_group(context, exchange, &group));
}

RCRT_API int32_t ringconv_rt_send(ringconv_context *context, int64_t exchange, int64_t peer, const void *data,
                                  int64_t element_size, int64_t rank, const int64_t *shape) {
  rcrt_group *group;
  int32_t code = find(context, exchange, RCRT_OPEN, &group);
  if (code)
    return rcrt_give_up(context, code);
  rcrt_piece_args args = {.peer = peer,
                          .data = (void *)(uintptr_t)data,
                          .element_size = element_size,
                          .rank = rank,
                          .sizes = shape,
                          .strides = shape + rank};
  return rcrt_give_up(context, rcrt_add_piece(context, group, &group->send, &args));
}

RCRT_API int32_t ringconv_rt_recv(ringconv_context *context, int64_t exchange, int64_t peer, void *data,
                                  int64_t element_size, int64_t rank, const int64_t *shape, uint64_t repeat) {
  rcrt_group *group;
  int32_t code = find(context, exchange, RCRT_OPEN, &group);
  if (code)
    return rcrt_give_up(context, code);
  rcrt_piece_args args = {.peer = peer,
                          .data = data,
                          .element_size = element_size,
                          .rank = rank,
                          .sizes = shape,
                          .strides = shape + rank,
                          .repeat = repeat};
  return rcrt_give_up(context, rcrt_add_piece(context, group, &group->receive, &args));
}

RCRT_API int32_t ringconv_rt_post(ringconv_context *context, int64_t exchange) {
  rcrt_group *group;
  int32_t code = find(context, exchange, RCRT_OPEN, &group);
  if (!code)
    code = rcrt_post_group(context, group);
  return rcrt_give_up(context, code ? code : rcrt_advance_sums(context));
}

RCRT_API int32_t ringconv_rt_wait(ringconv_context *context, int64_t exchange) {
  rcrt_group *group;
  int32_t code = find(context, exchange, RCRT_POSTED, &group);
  if (!code)
    code = rcrt_advance_sums(context);
  return rcrt_give_up(context, code ? code : rcrt_wait_group(context, group));
}
