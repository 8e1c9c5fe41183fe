/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "Ranks.h"

#include "common/Base.h"
#include "driver/Driver.h"
#include "mpi/Loader.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const ringconv_mpi_functions *mpi;
static int32_t mpi_comm;
static int64_t mpi_rank, mpi_size;

bool begin_ranks(int64_t *size, int64_t *rank) {
  rcrt_launcher launcher = rcrt_find_launcher();
  char text[RCRT_TEXT];
  *size = *rank = 0;
  if (launcher.size == 0)
    return true;
  mpi = rcrt_mpi_load(launcher.mpi, text);
  if (!mpi || mpi->init(text)) {
    fprintf(stderr, "%s\n", text);
    return false;
  }
  mpi->world(&mpi_comm, &mpi_rank, &mpi_size);
  *size = mpi_size;
  *rank = mpi_rank;
  return true;
}

void end_ranks(void) {
  if (mpi)
    mpi->finalize();
}

typedef struct thread {
  const job *j;
  outcome *o;
  ringconv_team *team;
  int64_t rank, size;
} thread;

static void run_session(thread *t, const ringconv_program *program) {
  ringconv_session *session;
  ringconv_world world = {.rank = t->rank, .size = t->size, .team = t->team};
  if (mpi) {
    world.transport = RINGCONV_TRANSPORT_MPI;
    world.mpi_comm = mpi_comm;
  }
  ringconv_options options = {.abi_version = RINGCONV_ABI_VERSION, .timeout = t->j->timeout};
  int32_t code = ringconv_session_create(program, &session, &world, &options);
  int64_t position = t->rank;
  for (int64_t p = 0; t->j->device_ids && p < t->size; ++p)
    if (t->j->device_ids[p] == t->rank)
      position = p;
  for (int64_t i = 0; i < t->j->runs && !code; ++i) {
    const void *in[] = {&position, &i};
    int64_t result = 0;
    void *out[] = {&result};
    code = ringconv_session_run(session, NULL, in, out);
  }
  t->o->code[position] = code;
  snprintf(t->o->text[position], sizeof t->o->text[position], "%s", ringconv_session_error(session));
  ringconv_session_counters(session, &t->o->counters[position]);
  ringconv_session_destroy(session);
}

static void *run_thread(void *argument) {
  thread *t = argument;
  static const char *const names[] = {"a", "b"};
  static const int64_t one[] = {1};
  static const ringconv_cut whole[] = {{0}};
  ringconv_operand scalar = {"r", RINGCONV_I64, 1, one, whole, 0}, inputs[] = {scalar, scalar};
  for (int s = 0; s < t->j->sessions; ++s) {
    ringconv_program program = {.abi_version = RINGCONV_ABI_VERSION,
                                .entry = "main",
                                .hash = 17,
                                .target = "host",
                                .cpu_features = "",
                                .mesh = {2, names, t->j->extents, t->j->device_ids},
                                .num_inputs = 2,
                                .num_outputs = 1,
                                .num_exchanges = 8,
                                .inputs = inputs,
                                .outputs = &scalar,
                                .run = t->j->run};
    if (t->rank == t->j->other_program)
      program.hash = 18;
    run_session(t, &program);
  }
  return NULL;
}

void run_job(const job *j, outcome *o) {
  int64_t size = j->extents[0] * j->extents[1];
  memset(o, 0, sizeof *o);
  if (mpi) {
    thread t = {j, o, NULL, mpi_rank, mpi_size};
    run_thread(&t);
    return;
  }
  ringconv_team *team = ringconv_team_create(size);
  pthread_t threads[MAX_RANKS];
  thread arguments[MAX_RANKS];
  for (int64_t r = 0; r < size; ++r) {
    arguments[r] = (thread){j, o, team, r, size};
    pthread_create(&threads[r], NULL, run_thread, &arguments[r]);
  }
  for (int64_t r = 0; r < size; ++r)
    pthread_join(threads[r], NULL);
  ringconv_team_destroy(team);
}

bool all_succeeded(const job *j, const outcome *o) {
  bool ok = true;
  for (int64_t r = 0; r < j->extents[0] * j->extents[1]; ++r)
    if (o->code[r]) {
      fprintf(stderr, "code %d: %s\n", o->code[r], o->text[r]);
      ok = false;
    }
  return ok;
}
