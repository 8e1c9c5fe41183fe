/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "common/Context.h"

#include "common/Log.h"
#include "common/Shard.h"
#include "ringconv/Runtime/Calls.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

int32_t rcrt_fail(ringconv_context *context, int32_t code, const char *format, ...) {
  if (context->code)
    return context->code;
  context->code = code;
  int used = snprintf(context->text, sizeof context->text, "rank %" PRId64 ": ", context->position);
  va_list args;
  va_start(args, format);
  vsnprintf(context->text + used, sizeof context->text - (size_t)used, format, args);
  va_end(args);
  RCRT_LOG(context, RCRT_LOG_ERROR, "%s", context->text + used);
  return code;
}

/* The operation that an exchange serves, as " (conv 3x3 at net.mlir:3:8)"; "" for sums. */
static void operation_text(const ringconv_program *program, int64_t exchange, char *text, size_t size) {
  *text = 0;
  for (int32_t i = 0; program && i < program->num_ops; ++i)
    if (program->ops[i].exchange == exchange) {
      snprintf(text, size, " (%s at %s)", program->ops[i].label, program->ops[i].location);
      return;
    }
}

int32_t rcrt_fail_late(ringconv_context *context, int64_t exchange, int64_t peer, bool receives) {
  char operation[256];
  operation_text(context->program, exchange, operation, sizeof operation);
  if (receives)
    return rcrt_fail(context, RCRT_ERR_TIMEOUT, "exchange %" PRId64 ": no message from rank %" PRId64 " within %g s%s",
                     exchange, peer, context->timeout, operation);
  if (peer < 0)
    return rcrt_fail(context, RCRT_ERR_TIMEOUT, "exchange %" PRId64 ": its messages were not taken within %g s%s",
                     exchange, context->timeout, operation);
  return rcrt_fail(context, RCRT_ERR_TIMEOUT,
                   "exchange %" PRId64 ": the message to rank %" PRId64 " was not taken within %g s%s", exchange, peer,
                   context->timeout, operation);
}

/* A trace is for people: one that grew beyond this would not open. */
enum { MAX_EVENTS = 1 << 20 };

void rcrt_record(ringconv_context *context, rcrt_event_kind kind, int64_t id, int64_t begin, int64_t end) {
  rcrt_events *e = &context->events;
  if (!e->enabled || e->count >= MAX_EVENTS ||
      !rcrt_grow((void **)&e->events, &e->capacity, e->count + 1, sizeof *e->events))
    return;
  e->events[e->count++] = (rcrt_event){begin, end, id, kind};
}

RCRT_API int64_t ringconv_rt_coord(ringconv_context *context, int64_t axis) {
  const ringconv_mesh *mesh = &context->program->mesh;
  return axis >= 0 && axis < mesh->num_axes ? rcrt_mesh_coord(mesh, context->position, axis) : 0;
}

static rcrt_op_time *op_time(ringconv_context *context, int64_t op) {
  return context->op_times && op >= 0 && op < context->program->num_ops ? &context->op_times[op] : NULL;
}

RCRT_API void ringconv_rt_op_begin(ringconv_context *context, int64_t op) {
  rcrt_op_time *t = op_time(context, op);
  if (t)
    t->begin = rcrt_now();
}

RCRT_API void ringconv_rt_op_end(ringconv_context *context, int64_t op) {
  rcrt_op_time *t = op_time(context, op);
  if (!t || !t->begin)
    return;
  int64_t end = rcrt_now();
  t->total_ns += end - t->begin;
  ++t->uses;
  rcrt_record(context, RCRT_EVENT_OP, op, t->begin, end);
  t->begin = 0;
}

RCRT_API void ringconv_rt_count(ringconv_context *context, int64_t multiply_adds) {
  context->counters.multiply_adds += multiply_adds;
}
