/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The state of one rank: its groups of messages, counters, error and the
 * transport beneath. One thread uses a context, except for what a transport
 * says otherwise.
 */
#ifndef RINGCONV_COMMON_CONTEXT_H
#define RINGCONV_COMMON_CONTEXT_H

#include "common/Base.h"
#include "common/Copy.h"

#include "ringconv/Runtime/Session.h"

enum { RCRT_COPY = 0, RCRT_ADD = 1 };

/* One box of a message. Sizes, then strides, lie in the group's arena. */
typedef struct rcrt_piece {
  char *data;
  int64_t element_size, rank, shape; /* shape: index into the arena */
  int64_t elements;                  /* that travel: dimensions in `repeat` count once */
  uint64_t repeat;
  int32_t next; /* piece of the same message, or -1 */
  int8_t combine, dtype;
} rcrt_piece;

/* All pieces between this rank and one peer, in the order they were added. */
typedef struct rcrt_message {
  int64_t peer, bytes;
  int32_t first, last, num_pieces;
  bool done;
} rcrt_message;

typedef struct rcrt_side {
  int64_t num_pieces, piece_capacity, num_messages, message_capacity;
  rcrt_piece *pieces;
  rcrt_message *messages;
} rcrt_side;

typedef enum rcrt_group_state { RCRT_IDLE, RCRT_OPEN, RCRT_POSTED } rcrt_group_state;

/* Kept from one use to the next, so that a steady state allocates nothing.
 * After post the pieces do not move: peers may read them. */
typedef struct rcrt_group {
  int64_t exchange;
  rcrt_group_state state;
  bool ordered; /* messages are taken in the order of `receive`: sums */
  rcrt_side send, receive;
  int64_t *arena, arena_size, arena_capacity;
  void *transport, *far; /* what the transport keeps for the group; far: between processes */
  struct rcrt_sum *sum; /* of a group of sums: what is kept for them */
  /* Totals since create, for reports. */
  int64_t messages_sent, bytes_sent, messages_received, bytes_received, uses, wait_ns;
} rcrt_group;

typedef struct rcrt_op_time {
  int64_t begin, total_ns, uses;
} rcrt_op_time;

/* A transfer is what GPUs do between posting and arrival, on a stream of its own. */
typedef enum rcrt_event_kind { RCRT_EVENT_OP, RCRT_EVENT_POST, RCRT_EVENT_WAIT, RCRT_EVENT_TRANSFER } rcrt_event_kind;
typedef struct rcrt_event {
  int64_t begin, end, id;
  rcrt_event_kind kind;
} rcrt_event;

typedef struct rcrt_events {
  bool enabled;
  int64_t count, capacity;
  rcrt_event *events;
} rcrt_events;

/* A buffer that lives from run to run. */
typedef struct rcrt_kept {
  void *data;
  bool filled;
} rcrt_kept;

/* What a transport does. Functions that return a code have set the text. */
typedef struct rcrt_transport {
  /* Starts all messages of a group, receives first, without blocking. */
  int32_t (*post)(ringconv_context *context, rcrt_group *group);
  int32_t (*wait)(ringconv_context *context, rcrt_group *group);
  /* Takes what is there; *done: the group is complete, as after wait. */
  int32_t (*test)(ringconv_context *context, rcrt_group *group, bool *done);
  /* Whether another rank has failed, before this one waits for anybody. */
  int32_t (*poll)(ringconv_context *context);
  /* Tells the other ranks that this one failed. */
  void (*fail)(ringconv_context *context);
  /* After an error: when it returns no peer reads this rank's memory, as far
   * as the transport can promise it. */
  void (*abandon)(ringconv_context *context, rcrt_group *group);
  void (*forget)(ringconv_context *context, rcrt_group *group);
  void (*close)(ringconv_context *context);
  /* Where there are threads and processes: puts a message from another process
   * into its place, and marks it done, if it has come. */
  int32_t (*take)(ringconv_context *context, rcrt_group *group, rcrt_message *message);
  /* rcrt_gather_all by other means than groups; NULL: by groups. */
  int32_t (*gather)(ringconv_context *context, const void *mine, int64_t bytes, void *all);
} rcrt_transport;

struct ringconv_context {
  const ringconv_program *program;
  const rcrt_transport *transport;
  void *link, *far; /* the transport's state of this rank; far: between processes */
  /* Ranks that are threads of one process, where there are several processes of
   * them; 0: all ranks are of one kind. See common/Node.h. */
  int64_t per_process;
  struct rcrt_cuda *cuda; /* its GPU; NULL on host */
  int64_t position, size;
  double timeout;
  ringconv_counters counters;
  rcrt_group **groups; /* open addressing by exchange, never removed */
  int64_t num_groups, group_capacity;
  struct rcrt_sum *sums; /* in flight */
  rcrt_kept *kept; /* by slot */
  int64_t kept_capacity;
  rcrt_op_time *op_times;
  rcrt_events events;
  bool given_up; /* the others know of a failure, no message is in flight */
  int32_t code;  /* of the first error of the current call, with its text */
  char text[RCRT_TEXT];
};

/* Records "rank R: " and the text unless an error is recorded already; the
 * code of the first error. */
int32_t rcrt_fail(ringconv_context *context, int32_t code, const char *format, ...) RCRT_PRINTF(3, 4);

/* RCRT_ERR_TIMEOUT: the message from (`receives`) or to `peer` did not come or
 * was not taken in time; peer -1: nobody knows whose. Names the operation. */
int32_t rcrt_fail_late(ringconv_context *context, int64_t exchange, int64_t peer, bool receives);

/* After an error: tells the others and takes back what is in flight. Calls of
 * generated code do this before they return the error, since the caller's next
 * step may be to free the memory of its messages. Gives `code` back. */
int32_t rcrt_give_up(ringconv_context *context, int32_t code);

/* The group of `exchange`, or NULL. */
rcrt_group *rcrt_find_group(const ringconv_context *context, int64_t exchange);
/* Adds a group, or opens the idle one. */
int32_t rcrt_open_group(ringconv_context *context, int64_t exchange, rcrt_group **group);

/* A piece as the calls of Calls.h describe it. */
typedef struct rcrt_piece_args {
  int64_t peer;
  void *data;
  int64_t element_size, rank;
  const int64_t *sizes, *strides;
  uint64_t repeat;
  int8_t combine, dtype;
} rcrt_piece_args;
int32_t rcrt_add_piece(ringconv_context *context, rcrt_group *group, rcrt_side *side, const rcrt_piece_args *args);
/* Adds a group's messages to the totals. */
void rcrt_count_messages(ringconv_context *context, rcrt_group *group);
int32_t rcrt_post_group(ringconv_context *context, rcrt_group *group);
int32_t rcrt_wait_group(ringconv_context *context, rcrt_group *group);
/* Without waiting; *done: complete, the group may be opened again. */
int32_t rcrt_test_group(ringconv_context *context, rcrt_group *group, bool *done);
/* Starts the second rounds of sums whose first is complete. Called wherever a
 * rank exchanges something, so that sums go on behind the work between. */
int32_t rcrt_advance_sums(ringconv_context *context);
void rcrt_free_sum(rcrt_group *group);

/* Copies (or adds) the pieces of one message into those of another; the text
 * of a failure names `from_rank`. */
int32_t rcrt_deliver(ringconv_context *context, rcrt_group *to_group, const rcrt_message *to,
                     const rcrt_group *from_group, const rcrt_message *from, int64_t from_rank);
/* The same for pieces of a rank for itself. A group of sums does it in its turn,
 * all others when they are posted. */
int32_t rcrt_deliver_own(ringconv_context *context, rcrt_group *group);
/* Fills the repeated dimensions of a piece whose first elements have arrived. */
void rcrt_repeat(const rcrt_group *group, const rcrt_piece *piece);

/* Gives every rank the `bytes` of each, in the order of positions. */
int32_t rcrt_gather_all(ringconv_context *context, const void *mine, int64_t bytes, void *all);

void rcrt_free_groups(ringconv_context *context);
/* What the kept buffers hold is of old parameters. */
void rcrt_empty_kept(ringconv_context *context);
void rcrt_free_kept(ringconv_context *context);
void rcrt_record(ringconv_context *context, rcrt_event_kind kind, int64_t id, int64_t begin, int64_t end);
/* realloc that grows geometrically; false: out of memory, nothing changed. */
bool rcrt_grow(void **data, int64_t *capacity, int64_t needed, size_t element);

static inline const int64_t *rcrt_sizes(const rcrt_group *group, const rcrt_piece *piece) {
  return group->arena + piece->shape;
}
static inline const int64_t *rcrt_strides(const rcrt_group *group, const rcrt_piece *piece) {
  return group->arena + piece->shape + piece->rank;
}

#endif
