/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * How a caller runs a compiled program: what the functions NAME_create,
 * NAME_run, ... of an emitted library stand on, and the driver of executables
 * and of ringconv-run. Plain C. No call exits, aborts or throws.
 */
#ifndef RINGCONV_RUNTIME_SESSION_H
#define RINGCONV_RUNTIME_SESSION_H

#include "ringconv/Runtime/Program.h"
#include "ringconv/Runtime/Types.h"

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One thread makes a team for `size` ranks; see ringconv_team. */
ringconv_team *ringconv_team_create(int64_t size);
void ringconv_team_destroy(ringconv_team *team);

/* Box of `operand` (inputs first, then outputs) that `world` (its rank and
 * size) owns: offsets and sizes, one per dimension. 0, or an error code for an
 * operand or a world that does not exist. Needs no session. */
int32_t ringconv_shard(const ringconv_program *program, const ringconv_world *world, int32_t operand, int64_t *offsets,
                       int64_t *sizes);

/* On failure *session still holds a session that can only give its error and
 * be destroyed (NULL when memory ran out). options may be NULL. Collective
 * over the ranks: they compare program hashes before anything else. Threads do
 * not wait for each other here: one thread may create the sessions of all. */
int32_t ringconv_session_create(const ringconv_program *program, ringconv_session **session,
                                const ringconv_world *world, const ringconv_options *options);

/* Local shards of the inputs marked as parameters, in their order. The caller
 * keeps the memory, which must stay valid and unchanged until the next call of
 * this function or destroy. Required before run if there are parameters. */
int32_t ringconv_session_set_parameters(ringconv_session *session, const void *const *parameters);

/* Local shards; `in` holds the inputs that are no parameters, in their order.
 * stream: NULL on host. On GPUs, device pointers aligned to 16 bytes and a
 * CUstream that the work goes to (NULL: one of the session's own); the call
 * returns when the work is issued, and may be captured in the caller's graph
 * from the second run on. Collective. After an error of the program or of a
 * message ranks may stand anywhere in it, so that from then on the session only
 * repeats its error; a mistake in the arguments leaves it usable. */
int32_t ringconv_session_run(ringconv_session *session, void *stream, const void *const *in, void *const *out);

/* Waits until the work of the last run is done, at most the timeout, and looks
 * for faults of peers meanwhile. On host nothing is left to wait for. */
int32_t ringconv_session_synchronize(ringconv_session *session);

/* Text of the last error of this session, "" if none; lives until the next call. */
const char *ringconv_session_error(const ringconv_session *session);

/* Totals of this rank since create. */
void ringconv_session_counters(const ringconv_session *session, ringconv_counters *counters);

/* On GPUs collective, each rank in a thread of its own: NCCL ends together. */
void ringconv_session_destroy(ringconv_session *session);

/* All ranks of a program, as threads of this process that live for one call.
 * Arrays are whole tensors, dense and row-major. */
typedef struct ringconv_ranks ringconv_ranks;

/* On failure *ranks can only give its error and be destroyed (NULL when memory
 * ran out). The program outlives it; options may be NULL. */
int32_t ringconv_ranks_create(const ringconv_program *program, ringconv_ranks **ranks, const ringconv_options *options);

/* Whole parameters, in their order; otherwise as ringconv_session_set_parameters. */
int32_t ringconv_ranks_set_parameters(ringconv_ranks *ranks, const void *const *parameters);

/* Whole tensors, otherwise as ringconv_session_run. One call at a time. */
int32_t ringconv_ranks_run(ringconv_ranks *ranks, const void *const *in, void *const *out);

/* Text of the last error, "" if none; lives until the next call. */
const char *ringconv_ranks_error(const ringconv_ranks *ranks);

/* Totals of one rank since create. */
void ringconv_ranks_counters(const ringconv_ranks *ranks, int64_t rank, ringconv_counters *counters);

void ringconv_ranks_destroy(ringconv_ranks *ranks);

/* The main function of emitted executables: parses run flags, reads inputs,
 * runs all ranks (threads, or this process's rank under a launcher), writes
 * outputs, checks. The exit code. `program` NULL: only parses and checks the
 * flags (so that a tool can refuse them before it compiles). */
int ringconv_main(int argc, char **argv, const ringconv_program *program);

#ifdef __cplusplus
}
#endif
#endif
