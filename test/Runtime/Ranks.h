/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Runs a function on every rank of a mesh, as generated code would be run: as
 * threads, or on this process's rank under an MPI launcher. */
#ifndef RINGCONV_TEST_RUNTIME_RANKS_H
#define RINGCONV_TEST_RUNTIME_RANKS_H

#include "ringconv/Runtime/Calls.h"
#include "ringconv/Runtime/Session.h"

#include <stdbool.h>

enum { MAX_RANKS = 64 };

typedef struct job {
  ringconv_rank_fn run;
  int64_t extents[2]; /* of a mesh with two axes */
  const int64_t *device_ids;
  double timeout;
  int sessions, runs;    /* sessions one after the other on one team, runs of each */
  int64_t other_program; /* rank that runs a program with another hash, or -1 */
} job;

/* What came of each rank: codes and texts of its last call. Under MPI only this
 * process's entry is set. */
typedef struct outcome {
  int32_t code[MAX_RANKS];
  char text[MAX_RANKS][640];
  ringconv_counters counters[MAX_RANKS];
} outcome;

/* Under a launcher: begins MPI. *size: number of ranks that every job must
 * have, or 0 for threads. false: no MPI library. */
bool begin_ranks(int64_t *size, int64_t *rank);
void end_ranks(void);

/* Mesh with `extents`; the program's `in[0]` points at the rank's position, an
 * int64_t, `in[1]` at the number of the run. */
void run_job(const job *j, outcome *o);
/* All ranks that ran here gave 0; else says which did not. */
bool all_succeeded(const job *j, const outcome *o);

#endif
