/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "host/Crew.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

typedef struct crew {
  pthread_mutex_t lock;
  pthread_cond_t decided;
  int start; /* 0: hold, 1: go, -1: give up */
  void (*work)(void *member);
} crew;

typedef struct place {
  crew *crew;
  void *member;
  pthread_t thread;
} place;

static void *thread_main(void *argument) {
  place *p = argument;
  pthread_mutex_lock(&p->crew->lock);
  while (!p->crew->start)
    pthread_cond_wait(&p->crew->decided, &p->crew->lock);
  int start = p->crew->start;
  pthread_mutex_unlock(&p->crew->lock);
  if (start > 0)
    p->crew->work(p->member);
  return NULL;
}

int rcrt_run_crew(int64_t count, void (*work)(void *member), void *members, size_t size, int64_t *failed) {
  crew c = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, work};
  place *places = calloc((size_t)count, sizeof *places);
  int64_t started = 0;
  int error = places ? 0 : ENOMEM;
  for (; !error && started < count; started += !error) {
    places[started] = (place){.crew = &c, .member = (char *)members + (size_t)started * size};
    error = pthread_create(&places[started].thread, NULL, thread_main, &places[started]);
  }
  pthread_mutex_lock(&c.lock);
  c.start = error ? -1 : 1;
  pthread_cond_broadcast(&c.decided);
  pthread_mutex_unlock(&c.lock);
  for (int64_t i = 0; i < started; ++i)
    pthread_join(places[i].thread, NULL);
  free(places);
  *failed = started;
  return error;
}
