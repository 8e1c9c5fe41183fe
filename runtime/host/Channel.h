/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Teams, and the channels of their sessions. The k-th session that each rank
 * creates on a team meets the k-th of every other rank in one channel: two
 * sessions at once never see each other's messages or failures. */
#ifndef RINGCONV_HOST_CHANNEL_H
#define RINGCONV_HOST_CHANNEL_H

#include "common/Context.h"

#include <pthread.h>
#include <stdatomic.h>

enum { RCRT_ENVELOPE_POSTED = 1, RCRT_ENVELOPE_CLAIMED, RCRT_ENVELOPE_DONE, RCRT_ENVELOPE_WITHDRAWN };

typedef struct rcrt_envelope {
  struct rcrt_envelope *next; /* in the inbox, then in the receiver's list */
  const rcrt_group *group;    /* the sender's */
  const rcrt_message *message;
  int64_t sender, exchange;
  _Atomic int32_t state;
} rcrt_envelope;

/* Envelopes of one group. Peers may hold pointers to them after a failure, so
 * that then the channel keeps them to its end. */
typedef struct rcrt_block {
  struct rcrt_block *next;
  int64_t capacity, used;
  rcrt_envelope envelopes[];
} rcrt_block;

/* One cache line each, so that a rank's polling does not slow its neighbours. */
typedef struct rcrt_endpoint {
  _Alignas(128) _Atomic(rcrt_envelope *) inbox;
  _Atomic uint32_t bell;     /* changes whenever there is something to look at */
  _Atomic uint32_t sleeping; /* the rank may be asleep on its bell */
} rcrt_endpoint;

typedef struct rcrt_channel {
  struct rcrt_channel *next;
  int64_t number, joined, left; /* under the team's lock */
  bool has_hash;
  uint64_t hash;
  int64_t hash_position;
  _Atomic int64_t failed; /* position + 1 of the first rank that failed */
  _Atomic(rcrt_block *) kept;
  void *far; /* the way to other processes, shared by the ranks of this one */
  rcrt_endpoint *ends;
  int64_t size;
} rcrt_channel;

struct ringconv_team {
  int64_t size;
  int spins;            /* polls before a rank gives its core away */
  pthread_mutex_t lock; /* create and destroy only */
  rcrt_channel *channels;
  int64_t created[]; /* sessions of each rank so far */
};

/* NULL: out of memory. */
rcrt_channel *rcrt_channel_join(ringconv_team *team, int64_t rank);
void rcrt_channel_leave(ringconv_team *team, rcrt_channel *channel);
void rcrt_channel_keep(rcrt_channel *channel, rcrt_block *block);

void rcrt_ring(rcrt_endpoint *end);
/* Returns when the bell differs from `seen`, or at the deadline (false). */
bool rcrt_listen(rcrt_endpoint *end, uint32_t seen, int spins, int64_t deadline);

#endif
