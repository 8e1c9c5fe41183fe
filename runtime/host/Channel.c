/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "host/Channel.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int cores(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    return CPU_COUNT(&set);
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online > 0 ? (int)online : 1;
}

RCRT_API ringconv_team *ringconv_team_create(int64_t size) {
  if (size <= 0 || size > INT32_MAX)
    return NULL;
  ringconv_team *team = calloc(1, sizeof *team + (size_t)size * sizeof *team->created);
  if (!team)
    return NULL;
  team->size = size;
  /* With fewer cores than ranks the awaited rank may need this very core. */
  team->spins = size <= cores() ? 2000 : 0;
  pthread_mutex_init(&team->lock, NULL);
  return team;
}

static void free_channel(rcrt_channel *channel) {
  rcrt_block *block = atomic_load_explicit(&channel->kept, memory_order_acquire);
  while (block) {
    rcrt_block *next = block->next;
    free(block);
    block = next;
  }
  free(channel->ends);
  free(channel);
}

RCRT_API void ringconv_team_destroy(ringconv_team *team) {
  if (!team)
    return;
  while (team->channels) {
    rcrt_channel *next = team->channels->next;
    free_channel(team->channels);
    team->channels = next;
  }
  pthread_mutex_destroy(&team->lock);
  free(team);
}

static rcrt_channel *add_channel(ringconv_team *team, int64_t number) {
  rcrt_channel *channel = calloc(1, sizeof *channel);
  if (!channel)
    return NULL;
  channel->ends = aligned_alloc(_Alignof(rcrt_endpoint), (size_t)team->size * sizeof *channel->ends);
  if (!channel->ends) {
    free(channel);
    return NULL;
  }
  memset(channel->ends, 0, (size_t)team->size * sizeof *channel->ends);
  channel->number = number;
  channel->size = team->size;
  channel->next = team->channels;
  team->channels = channel;
  return channel;
}

rcrt_channel *rcrt_channel_join(ringconv_team *team, int64_t rank) {
  pthread_mutex_lock(&team->lock);
  int64_t number = team->created[rank];
  rcrt_channel *channel = team->channels;
  while (channel && channel->number != number)
    channel = channel->next;
  if (!channel)
    channel = add_channel(team, number);
  if (channel) {
    ++channel->joined;
    ++team->created[rank];
  }
  pthread_mutex_unlock(&team->lock);
  return channel;
}

void rcrt_channel_leave(ringconv_team *team, rcrt_channel *channel) {
  pthread_mutex_lock(&team->lock);
  bool last = ++channel->left == channel->size;
  if (last) {
    rcrt_channel **link = &team->channels;
    while (*link != channel)
      link = &(*link)->next;
    *link = channel->next;
  }
  pthread_mutex_unlock(&team->lock);
  if (last)
    free_channel(channel);
}

void rcrt_channel_keep(rcrt_channel *channel, rcrt_block *block) {
  rcrt_block *head = atomic_load_explicit(&channel->kept, memory_order_relaxed);
  do
    block->next = head;
  while (
      !atomic_compare_exchange_weak_explicit(&channel->kept, &head, block, memory_order_release, memory_order_relaxed));
}

static void futex_wake(_Atomic uint32_t *word) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0); }

static void futex_wait(_Atomic uint32_t *word, uint32_t seen, int64_t nanoseconds) {
  struct timespec t = {nanoseconds / 1000000000, nanoseconds % 1000000000};
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, &t, NULL, 0);
}

/* Sequential consistency on both sides: either the ringer sees `sleeping`, or
 * the sleeper sees the new value of the bell, or both. */
void rcrt_ring(rcrt_endpoint *end) {
  atomic_fetch_add_explicit(&end->bell, 1, memory_order_seq_cst);
  if (atomic_load_explicit(&end->sleeping, memory_order_seq_cst))
    futex_wake(&end->bell);
}

static inline void pause_core(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

bool rcrt_listen(rcrt_endpoint *end, uint32_t seen, int spins, int64_t deadline) {
  for (int i = 0; i < spins; ++i) {
    if (atomic_load_explicit(&end->bell, memory_order_acquire) != seen)
      return true;
    pause_core();
  }
  for (int i = 0; i < 4; ++i) {
    if (atomic_load_explicit(&end->bell, memory_order_acquire) != seen)
      return true;
    sched_yield();
  }
  for (;;) {
    int64_t left = deadline - rcrt_now();
    if (left <= 0)
      return atomic_load_explicit(&end->bell, memory_order_acquire) != seen;
    atomic_store_explicit(&end->sleeping, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&end->bell, memory_order_seq_cst) == seen)
      futex_wait(&end->bell, seen, left);
    atomic_store_explicit(&end->sleeping, 0, memory_order_relaxed);
    if (atomic_load_explicit(&end->bell, memory_order_acquire) != seen)
      return true;
  }
}
