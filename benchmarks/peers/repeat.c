/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Times calls of a function in threads, each pinned to a core. Loaded by pair.py, so that no side pays for Python. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

typedef int32_t (*call)(void *state);

/* Arguments of an emitted library's NAME_run, as one state. */
struct session_call {
  int32_t (*run)(void *session, void *stream, const void *const *in, void *const *out);
  void *session;
  const void *const *in;
  void *const *out;
};

int32_t call_session(void *state) {
  struct session_call *c = state;
  return c->run(c->session, NULL, c->in, c->out);
}

struct worker {
  pthread_t thread;
  pthread_barrier_t *barrier;
  call function;
  void *state;
  int64_t count;
  int core;
  int32_t code;
  double seconds;
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *work(void *argument) {
  struct worker *w = argument;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(w->core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
  pthread_barrier_wait(w->barrier);
  double begin = now();
  for (int64_t i = 0; i < w->count && !w->code; ++i)
    w->code = w->function(w->state);
  w->seconds = now() - begin;
  return NULL;
}

/* Seconds that the slowest of `threads` threads needs per call of `function` with its state, `count` calls each;
 * -1 where a call fails. Thread t runs on core cores[t]. */
double repeat(int64_t threads, const int32_t *cores, int64_t count, call function, void *const *states) {
  struct worker *workers = calloc((size_t)threads, sizeof *workers);
  pthread_barrier_t barrier;
  if (!workers || pthread_barrier_init(&barrier, NULL, (unsigned)threads))
    return -1;
  double slowest = 0;
  for (int64_t t = 0; t < threads; ++t) {
    workers[t] = (struct worker){0, &barrier, function, states[t], count, cores[t], 0, 0};
    if (pthread_create(&workers[t].thread, NULL, work, &workers[t]))
      return -1;
  }
  for (int64_t t = 0; t < threads; ++t) {
    pthread_join(workers[t].thread, NULL);
    if (workers[t].code)
      slowest = -1;
    else if (slowest >= 0 && workers[t].seconds > slowest)
      slowest = workers[t].seconds;
  }
  pthread_barrier_destroy(&barrier);
  free(workers);
  return slowest < 0 ? -1 : slowest / (double)count;
}
