/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * All ranks of a program as threads of this process, on whole arrays. */
#include "common/SessionState.h"

#include "common/Copy.h"
#include "common/DType.h"
#include "common/Shard.h"
#include "cuda/Staging.h"
#include "host/Crew.h"
#include "host/Threads.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

typedef struct member {
  ringconv_ranks *ranks;
  ringconv_session *session;
  void **shards;   /* of all operands; NULL where the whole array serves */
  void **device;   /* the same on the GPU, of all operands; NULL: target host */
  int64_t *bytes;  /* of the shards */
  const void **in; /* of the current call: inputs that are no parameters, or the parameters */
  void **out;
  int32_t code;
} member;

struct ringconv_ranks {
  const ringconv_program *program;
  ringconv_team *team;
  member *members;
  int64_t size;
  bool usable;
  const void *const *whole_in; /* of the current call */
  void *const *whole_out;
  bool parameters; /* the current call sets them */
  char text[RCRT_TEXT];
};

static int32_t fail(ringconv_ranks *ranks, int32_t code, const char *format, ...) RCRT_PRINTF(3, 4);
static int32_t fail(ringconv_ranks *ranks, int32_t code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(ranks->text, sizeof ranks->text, format, args);
  va_end(args);
  return code;
}

/* ---- Shards ---- */

/* A shard of the whole operand needs no memory of its own. */
static bool is_whole(const ringconv_operand *o, const int64_t *sizes) {
  for (int32_t d = 0; d < o->rank; ++d)
    if (sizes[d] != o->sizes[d])
      return false;
  return true;
}

static int32_t allocate_shard(member *m, int32_t operand) {
  ringconv_ranks *ranks = m->ranks;
  const ringconv_program *p = ranks->program;
  const ringconv_operand *o = rcrt_operand(p, operand);
  int64_t position = m->session->context.position, offsets[RCRT_MAX_RANK], sizes[RCRT_MAX_RANK], rounded;
  rcrt_box(&p->mesh, o, position, offsets, sizes);
  bool counted = rcrt_product(sizes, o->rank, &m->bytes[operand]) &&
                 !__builtin_mul_overflow(m->bytes[operand], rcrt_dtype_size(o->dtype), &m->bytes[operand]) &&
                 !__builtin_add_overflow(m->bytes[operand], ALIGNMENT, &rounded);
  /* An output has a copy on each rank: replicas would write one array at once. */
  bool own = operand >= p->num_inputs || !is_whole(o, sizes);
  if (own)
    m->shards[operand] = counted ? aligned_alloc(ALIGNMENT, (size_t)rounded / ALIGNMENT * ALIGNMENT) : NULL;
  if (!counted || (own && !m->shards[operand]))
    return fail(ranks, RCRT_ERR_MEMORY, "no memory for the shard of %s %d of rank %" PRId64,
                operand < p->num_inputs ? "input" : "output",
                operand < p->num_inputs ? operand : operand - p->num_inputs, position);
  if (p->cuda && !(m->device[operand] = rcrt_stage_allocate(&m->session->context, m->bytes[operand])))
    return fail(ranks, m->session->context.code, "%s", ringconv_session_error(m->session));
  return RCRT_OK;
}

static int32_t allocate_shards(member *m) {
  const ringconv_program *p = m->ranks->program;
  int32_t operands = p->num_inputs + p->num_outputs, code = RCRT_OK;
  m->shards = calloc((size_t)operands + 1, sizeof *m->shards);
  m->device = calloc((size_t)operands + 1, sizeof *m->device);
  m->bytes = calloc((size_t)operands + 1, sizeof *m->bytes);
  m->in = calloc((size_t)p->num_inputs + 1, sizeof *m->in);
  m->out = calloc((size_t)p->num_outputs + 1, sizeof *m->out);
  if (!m->shards || !m->device || !m->bytes || !m->in || !m->out)
    return fail(m->ranks, RCRT_ERR_MEMORY, "out of memory");
  for (int32_t i = 0; i < operands && !code; ++i)
    code = allocate_shard(m, i);
  return code;
}

/* Between a shard and its box of the whole array. */
static void copy_box(const member *m, int32_t operand, char *whole, bool into_shard) {
  const ringconv_program *p = m->ranks->program;
  const ringconv_operand *o = rcrt_operand(p, operand);
  int64_t offsets[RCRT_MAX_RANK], sizes[RCRT_MAX_RANK], shard_strides[RCRT_MAX_RANK], strides[RCRT_MAX_RANK];
  int64_t element = rcrt_dtype_size(o->dtype);
  rcrt_box(&p->mesh, o, m->session->context.position, offsets, sizes);
  rcrt_dense_strides(o->rank, sizes, shard_strides);
  rcrt_dense_strides(o->rank, o->sizes, strides);
  for (int32_t d = 0; d < o->rank; ++d)
    whole += offsets[d] * strides[d] * element;
  rcrt_view shard = {m->shards[operand], shard_strides}, box = {whole, strides};
  rcrt_copy(into_shard ? shard : box, into_shard ? box : shard, element, o->rank, sizes);
}

/* ---- One rank ---- */

/* Cuts the inputs of the current call. */
static int32_t cut_inputs(member *m) {
  const ringconv_ranks *ranks = m->ranks;
  const ringconv_program *p = ranks->program;
  for (int32_t i = 0, next = 0; i < p->num_inputs; ++i) {
    if (((p->inputs[i].flags & RINGCONV_PARAMETER) != 0) != ranks->parameters)
      continue;
    const void *whole = ranks->whole_in[next], *shard = m->shards[i] ? m->shards[i] : whole;
    if (m->shards[i])
      copy_box(m, i, (char *)(uintptr_t)whole, true);
    int32_t code = p->cuda ? rcrt_stage_upload(&m->session->context, m->device[i], shard, m->bytes[i]) : RCRT_OK;
    if (code)
      return code;
    m->in[next++] = p->cuda ? m->device[i] : shard;
  }
  return RCRT_OK;
}

static int32_t run_once(member *m) {
  const ringconv_program *p = m->ranks->program;
  void **outputs = (p->cuda ? m->device : m->shards) + p->num_inputs;
  memcpy(m->out, outputs, (size_t)p->num_outputs * sizeof *outputs);
  int32_t code = ringconv_session_run(m->session, NULL, m->in, m->out);
  for (int32_t i = p->num_inputs; i < p->num_inputs + p->num_outputs && p->cuda && !code; ++i)
    code = rcrt_stage_download(&m->session->context, m->shards[i], m->device[i], m->bytes[i]);
  return code ? code : ringconv_session_synchronize(m->session);
}

static void run_member(void *argument) {
  member *m = argument;
  const ringconv_program *p = m->ranks->program;
  m->code = cut_inputs(m);
  if (m->code)
    rcrt_session_fail(m->session); /* the others wait for this rank */
  else
    m->code = m->ranks->parameters ? ringconv_session_set_parameters(m->session, m->in) : run_once(m);
  for (int32_t i = 0; i < p->num_outputs && !m->ranks->parameters && !m->code; ++i)
    if (rcrt_is_first_replica(&p->mesh, &p->outputs[i], m->session->context.position))
      copy_box(m, p->num_inputs + i, m->ranks->whole_out[i], false);
}

/* ---- All ranks ---- */

/* The text of the rank that failed first, not of those that ended because of it. */
static int32_t take_failure(ringconv_ranks *ranks) {
  const member *chosen = NULL;
  int64_t first = rcrt_threads_first_failed(&ranks->members[0].session->context);
  for (int64_t r = 0; r < ranks->size; ++r) {
    const member *m = &ranks->members[r];
    if (m->code && (!chosen || m->session->context.position == first))
      chosen = m;
  }
  return chosen ? fail(ranks, chosen->code, "%s", ringconv_session_error(chosen->session)) : RCRT_OK;
}

static int32_t check_arrays(ringconv_ranks *ranks, const ringconv_operand *operands, int32_t count, bool parameters,
                            const void *const *arrays, const char *word) {
  for (int32_t i = 0, next = 0; i < count; ++i) {
    if (((operands[i].flags & RINGCONV_PARAMETER) != 0) != parameters)
      continue;
    int64_t elements;
    bool empty = rcrt_product(operands[i].sizes, operands[i].rank, &elements) && elements == 0;
    if (!arrays || (!arrays[next] && !empty))
      return fail(ranks, RCRT_ERR_ARGUMENT, "%s %d is NULL", word, i);
    ++next;
  }
  return RCRT_OK;
}

static int32_t call(ringconv_ranks *ranks, bool parameters, const void *const *in, void *const *out) {
  const ringconv_program *p = ranks->program;
  ranks->text[0] = 0;
  int32_t code = check_arrays(ranks, p->inputs, p->num_inputs, parameters, in, "input");
  if (!code && !parameters)
    code = check_arrays(ranks, p->outputs, p->num_outputs, false, (const void *const *)out, "output");
  if (code)
    return code;
  ranks->whole_in = in;
  ranks->whole_out = out;
  ranks->parameters = parameters;
  int64_t failed;
  int error = rcrt_run_crew(ranks->size, run_member, ranks->members, sizeof *ranks->members, &failed);
  if (error)
    return fail(ranks, RCRT_ERR_MEMORY, "no thread for rank %" PRId64 " of %" PRId64 ": %s", failed, ranks->size,
                strerror(error));
  return take_failure(ranks);
}

static int32_t open_ranks(ringconv_ranks *ranks, const ringconv_options *options) {
  const ringconv_program *p = ranks->program;
  ranks->size = p->abi_version == RINGCONV_ABI_VERSION ? rcrt_mesh_size(&p->mesh) : 1;
  if (ranks->size > RCRT_MAX_THREADS)
    return fail(ranks, RCRT_ERR_ARGUMENT, "the mesh has %" PRId64 " ranks, at most %d can be threads", ranks->size,
                RCRT_MAX_THREADS);
  ranks->team = ringconv_team_create(ranks->size);
  ranks->members = calloc((size_t)ranks->size, sizeof *ranks->members);
  if (!ranks->team || !ranks->members)
    return fail(ranks, RCRT_ERR_MEMORY, "out of memory");
  for (int64_t r = 0; r < ranks->size; ++r) {
    member *m = &ranks->members[r];
    ringconv_world world = {.rank = r,
                            .size = ranks->size,
                            .transport = RINGCONV_TRANSPORT_THREADS,
                            .team = ranks->team,
                            .device = RINGCONV_DEVICE_AUTO};
    m->ranks = ranks;
    int32_t code = ringconv_session_create(p, &m->session, &world, options);
    if (code)
      return fail(ranks, code, "%s", ringconv_session_error(m->session));
    if ((code = allocate_shards(m)))
      return code;
  }
  ranks->usable = true;
  return RCRT_OK;
}

RCRT_API int32_t ringconv_ranks_create(const ringconv_program *program, ringconv_ranks **ranks,
                                       const ringconv_options *options) {
  if (!ranks)
    return RCRT_ERR_ARGUMENT;
  *ranks = calloc(1, sizeof **ranks);
  if (!*ranks)
    return RCRT_ERR_MEMORY;
  if (!program)
    return fail(*ranks, RCRT_ERR_ARGUMENT, "no program given");
  (*ranks)->program = program;
  return open_ranks(*ranks, options);
}

RCRT_API int32_t ringconv_ranks_set_parameters(ringconv_ranks *ranks, const void *const *parameters) {
  if (!ranks || !ranks->usable)
    return RCRT_ERR_ARGUMENT;
  return call(ranks, true, parameters, NULL);
}

RCRT_API int32_t ringconv_ranks_run(ringconv_ranks *ranks, const void *const *in, void *const *out) {
  if (!ranks || !ranks->usable)
    return RCRT_ERR_ARGUMENT;
  return call(ranks, false, in, out);
}

RCRT_API const char *ringconv_ranks_error(const ringconv_ranks *ranks) { return ranks ? ranks->text : "out of memory"; }

RCRT_API void ringconv_ranks_counters(const ringconv_ranks *ranks, int64_t rank, ringconv_counters *counters) {
  if (ranks && ranks->usable && rank >= 0 && rank < ranks->size)
    ringconv_session_counters(ranks->members[rank].session, counters);
}

RCRT_API void ringconv_ranks_destroy(ringconv_ranks *ranks) {
  if (!ranks)
    return;
  for (int64_t r = 0; ranks->members && r < ranks->size; ++r) {
    member *m = &ranks->members[r];
    for (int32_t i = 0; m->shards && i < ranks->program->num_inputs + ranks->program->num_outputs; ++i) {
      free(m->shards[i]);
      if (m->device)
        rcrt_stage_release(&m->session->context, m->device[i]);
    }
    ringconv_session_destroy(m->session);
    free(m->shards);
    free(m->device);
    free(m->bytes);
    free(m->in);
    free(m->out);
  }
  free(ranks->members);
  ringconv_team_destroy(ranks->team);
  free(ranks);
}
