/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "common/SessionState.h"

#include "common/Log.h"
#include "common/Shard.h"
#include "cuda/Device.h"
#include "cuda/Transport.h"
#include "host/Threads.h"
#include "hybrid/Transport.h"
#include "mpi/Transport.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int32_t check_versions(ringconv_context *context, const ringconv_program *program,
                              const ringconv_options *options) {
  if (program->abi_version != RINGCONV_ABI_VERSION)
    return rcrt_fail(context, RCRT_ERR_MISMATCH, "the program was compiled for ABI version %u, the runtime has %u",
                     program->abi_version, RINGCONV_ABI_VERSION);
  if (options && options->abi_version != RINGCONV_ABI_VERSION)
    return rcrt_fail(context, RCRT_ERR_MISMATCH, "the caller was compiled for ABI version %u, the runtime has %u",
                     options->abi_version, RINGCONV_ABI_VERSION);
  if (options && !(options->timeout >= 0 && isfinite(options->timeout)))
    return rcrt_fail(context, RCRT_ERR_ARGUMENT, "a timeout of %g s", options->timeout);
  char feature[64];
  if (program->cpu_features && rcrt_missing_cpu_feature(program->cpu_features, feature, sizeof feature))
    return rcrt_fail(context, RCRT_ERR_MISMATCH, "the program needs the processor feature %s, which this one lacks",
                     feature);
  return RCRT_OK;
}

static const char *size_word(int32_t transport) {
  return transport == RINGCONV_TRANSPORT_MPI    ? "MPI processes"
         : transport == RINGCONV_TRANSPORT_NCCL ? "ranks of NCCL"
                                                : "threads";
}

static int32_t check_world(ringconv_context *context, const ringconv_mesh *mesh, const ringconv_world *world) {
  int64_t size = rcrt_mesh_size(mesh);
  if (world->size != size) {
    char text[256];
    rcrt_mesh_text(mesh, text, sizeof text);
    return rcrt_fail(context, RCRT_ERR_ARGUMENT, "mesh <[%s]> has size %" PRId64 ", but the number of %s is %" PRId64,
                     text, size, size_word(world->transport), world->size);
  }
  if (world->rank < 0 || world->rank >= size)
    return rcrt_fail(context, RCRT_ERR_ARGUMENT, "rank %" PRId64 " of %" PRId64, world->rank, size);
  if (rcrt_mesh_position(mesh, world->rank) < 0)
    return rcrt_fail(context, RCRT_ERR_ARGUMENT, "device_ids of the mesh lack %" PRId64, world->rank);
  bool host = world->transport == RINGCONV_TRANSPORT_THREADS || world->transport == RINGCONV_TRANSPORT_MPI;
  if (!host && world->transport != RINGCONV_TRANSPORT_NCCL)
    return rcrt_fail(context, RCRT_ERR_ARGUMENT, "no transport %d", world->transport);
  if (!host && !context->program->cuda)
    return rcrt_fail(context, RCRT_ERR_ARGUMENT, "transport NCCL for a program for the host");
  return RCRT_OK;
}

static int32_t allocate(ringconv_session *session) {
  const ringconv_program *program = session->program;
  session->in = calloc((size_t)program->num_inputs + 1, sizeof *session->in);
  session->out = calloc((size_t)program->num_outputs + 1, sizeof *session->out);
  session->context.op_times = calloc((size_t)program->num_ops + 1, sizeof *session->context.op_times);
  if (!session->in || !session->out || !session->context.op_times)
    return rcrt_fail(&session->context, RCRT_ERR_MEMORY, "out of memory");
  for (int32_t i = 0; i < program->num_inputs; ++i)
    session->num_parameters += (program->inputs[i].flags & RINGCONV_PARAMETER) != 0;
  return RCRT_OK;
}

/* Collective, with this rank's GPU current. */
static int32_t connect(ringconv_context *context) {
  int32_t code = rcrt_cuda_enter(context);
  if (code)
    return code;
  code = rcrt_cuda_connect(context);
  rcrt_cuda_leave(context);
  return code;
}

static int32_t open_transport(ringconv_context *context, const ringconv_world *world) {
  if (world->transport == RINGCONV_TRANSPORT_MPI && world->team && world->team->size > 1)
    return rcrt_hybrid_open(context, world);
  if (world->transport == RINGCONV_TRANSPORT_MPI)
    return rcrt_mpi_open(context, world->mpi_comm);
  if (world->transport == RINGCONV_TRANSPORT_NCCL)
    return rcrt_nccl_open(context, world);
  if (!world->team && world->size != 1)
    return rcrt_fail(context, RCRT_ERR_ARGUMENT, "%" PRId64 " threads without a team", world->size);
  return rcrt_threads_open(context, world->team, world->rank);
}

static int32_t open_session(ringconv_session *session, const ringconv_world *world, const ringconv_options *options) {
  ringconv_context *context = &session->context;
  const ringconv_program *program = session->program;
  context->program = program;
  context->position = world->rank; /* for messages, until the mesh is known to be right */
  int32_t code = check_versions(context, program, options);
  if (!code)
    code = check_world(context, &program->mesh, world);
  if (!code)
    code = allocate(session);
  if (code)
    return code;
  context->position = rcrt_mesh_position(&program->mesh, world->rank);
  context->size = world->size;
  context->timeout = options && options->timeout > 0 ? options->timeout : 60;
  /* The GPU first: the transport may be one between GPUs. */
  if (program->cuda && (code = rcrt_cuda_open(context, world, options)))
    return code;
  code = open_transport(context, world);
  /* Threads may all be created by one, which cannot wait for the others. */
  if (!code && program->cuda && world->transport != RINGCONV_TRANSPORT_THREADS)
    code = connect(context);
  return code;
}

static void log_session(const ringconv_session *session, const ringconv_world *world) {
  static const char *const transports[] = {"thread", "MPI process", "NCCL rank"};
  if (rcrt_log_wanted() < RCRT_LOG_INFO)
    return;
  char mesh[256];
  rcrt_mesh_text(&session->program->mesh, mesh, sizeof mesh);
  rcrt_log_line(&session->context, RCRT_LOG_INFO, "session of @%s, hash %016" PRIx64 ", mesh <[%s]>, %s %" PRId64,
                session->program->entry, session->program->hash, mesh, transports[world->transport], world->rank);
}

RCRT_API int32_t ringconv_session_create(const ringconv_program *program, ringconv_session **session,
                                         const ringconv_world *world, const ringconv_options *options) {
  if (!session)
    return RCRT_ERR_ARGUMENT;
  *session = calloc(1, sizeof **session);
  if (!*session)
    return RCRT_ERR_MEMORY;
  (*session)->program = program;
  if (!program || !world)
    return rcrt_fail(&(*session)->context, RCRT_ERR_ARGUMENT, "no %s given", program ? "world" : "program");
  int32_t code = open_session(*session, world, options);
  (*session)->usable = code == RCRT_OK;
  if (!code)
    log_session(*session, world);
  return code;
}

/* Clears the text of the last call; false where the session is of no use any
 * more, and keeps the text that says why. */
static bool begin_call(ringconv_session *session) {
  if (!session->usable || session->dead)
    return false;
  session->context.code = RCRT_OK;
  session->context.text[0] = 0;
  return true;
}

/* Kernels read up to 16 bytes at once. */
enum { DEVICE_ALIGNMENT = 16 };

static bool has_elements(ringconv_session *session, int32_t operand) {
  const ringconv_operand *o = rcrt_operand(session->program, operand);
  int64_t offsets[RCRT_MAX_RANK], sizes[RCRT_MAX_RANK], elements;
  if (o->rank > RCRT_MAX_RANK)
    return true;
  rcrt_box(&session->program->mesh, o, session->context.position, offsets, sizes);
  return !rcrt_product(sizes, o->rank, &elements) || elements > 0;
}

/* Shards without elements may be NULL. */
static int32_t check_shard(ringconv_session *session, int32_t operand, const void *data) {
  bool aligned = !session->program->cuda || (uintptr_t)data % DEVICE_ALIGNMENT == 0;
  if ((data && aligned) || !has_elements(session, operand))
    return RCRT_OK;
  int32_t inputs = session->program->num_inputs;
  return rcrt_fail(&session->context, RCRT_ERR_ARGUMENT, "%s %d is %s", operand < inputs ? "input" : "output",
                   operand < inputs ? operand : operand - inputs, data ? "not aligned to 16 bytes" : "NULL");
}

/* Puts the inputs that are parameters (or are not) in their places. */
static int32_t set_inputs(ringconv_session *session, const void *const *data, bool parameters) {
  const ringconv_program *program = session->program;
  for (int32_t i = 0, next = 0; i < program->num_inputs; ++i) {
    if (((program->inputs[i].flags & RINGCONV_PARAMETER) != 0) != parameters)
      continue;
    const void *shard = data ? data[next++] : NULL;
    int32_t code = check_shard(session, i, shard);
    if (code)
      return code;
    session->in[i] = (void *)(uintptr_t)shard;
  }
  return RCRT_OK;
}

RCRT_API int32_t ringconv_session_set_parameters(ringconv_session *session, const void *const *parameters) {
  if (!session)
    return RCRT_ERR_ARGUMENT;
  if (!begin_call(session))
    return session->context.code;
  int32_t code = set_inputs(session, parameters, true);
  session->has_parameters = code == RCRT_OK;
  rcrt_empty_kept(&session->context);
  return code;
}

/* An exchange of the program that has no wait is the compiler's mistake; it
 * would leave messages that nobody takes. */
static int32_t check_waited(ringconv_context *context) {
  for (int64_t i = 0; i < context->group_capacity; ++i)
    if (context->groups[i] && context->groups[i]->state != RCRT_IDLE)
      return rcrt_fail(context, RCRT_ERR_PROGRAM, "exchange %" PRId64 ": never waited for",
                       context->groups[i]->exchange);
  return RCRT_OK;
}

void rcrt_session_fail(ringconv_session *session) {
  ringconv_context *context = &session->context;
  if (!session->usable)
    return;
  session->dead = context->code ? context->code : RCRT_ERR_PROGRAM;
  rcrt_give_up(context, session->dead);
  if (context->cuda)
    rcrt_cuda_abort(context);
}

RCRT_API int32_t ringconv_session_run(ringconv_session *session, void *stream, const void *const *in,
                                      void *const *out) {
  if (!session)
    return RCRT_ERR_ARGUMENT;
  if (!begin_call(session))
    return session->context.code;
  ringconv_context *context = &session->context;
  const ringconv_program *program = session->program;
  if (stream && !context->cuda)
    return rcrt_fail(context, RCRT_ERR_ARGUMENT, "a stream given to a program for the host");
  if (session->num_parameters && !session->has_parameters)
    return rcrt_fail(context, RCRT_ERR_ARGUMENT, "run before set_parameters");
  int32_t code = set_inputs(session, in, false);
  for (int32_t i = 0; i < program->num_outputs && !code; ++i) {
    session->out[i] = out ? out[i] : NULL;
    code = check_shard(session, program->num_inputs + i, session->out[i]);
  }
  if (code)
    return code;

  int64_t begin = rcrt_now();
  code = context->transport->poll(context);
  if (!code)
    code = context->cuda ? rcrt_cuda_run(context, stream, session->in, session->out)
                         : program->run(context, session->in, session->out);
  if (!code)
    code = context->code ? context->code : check_waited(context);
  if (!code) {
    RCRT_LOG(context, RCRT_LOG_INFO, "ran @%s in %.3f ms; since create %" PRId64 " messages with %" PRId64 " bytes sent",
             program->entry, (double)(rcrt_now() - begin) * 1e-6, context->counters.messages_sent,
             context->counters.bytes_sent);
    return RCRT_OK;
  }
  if (code == RCRT_ERR_MEMORY) /* unless a call left a text */
    rcrt_fail(context, code, "out of memory in @%s", program->entry);
  else
    rcrt_fail(context, code, "the program failed with code %d", code);
  rcrt_session_fail(session);
  return code;
}

RCRT_API int32_t ringconv_session_synchronize(ringconv_session *session) {
  if (!session)
    return RCRT_ERR_ARGUMENT;
  if (!begin_call(session))
    return session->context.code;
  ringconv_context *context = &session->context;
  if (!context->cuda)
    return RCRT_OK;
  int32_t code = rcrt_cuda_enter(context);
  if (!code) {
    code = rcrt_cuda_synchronize(context);
    if (!code)
      code = rcrt_cuda_collect_times(context);
    rcrt_cuda_leave(context);
  }
  if (code)
    rcrt_session_fail(session);
  return code;
}

RCRT_API const char *ringconv_session_error(const ringconv_session *session) {
  return session ? session->context.text : "out of memory";
}

RCRT_API void ringconv_session_counters(const ringconv_session *session, ringconv_counters *counters) {
  if (session && counters)
    *counters = session->context.counters;
}

RCRT_API void ringconv_session_destroy(ringconv_session *session) {
  if (!session)
    return;
  ringconv_context *context = &session->context;
  rcrt_free_groups(context);
  rcrt_cuda_close(context);
  rcrt_free_kept(context);
  if (context->transport)
    context->transport->close(context);
  free(context->op_times);
  free(context->events.events);
  free(session->in);
  free(session->out);
  free(session);
}
