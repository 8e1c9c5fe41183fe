/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Ranks as threads of several processes: rank r is thread r % n of process r / n.
 * Where all ranks are of one kind (n = 0), everyone is near, and threads sit in
 * the order of positions. */
#ifndef RINGCONV_COMMON_NODE_H
#define RINGCONV_COMMON_NODE_H

#include "common/Context.h"
#include "common/Shard.h"

static inline int64_t rcrt_rank_of(const ringconv_context *context, int64_t position) {
  return context->program ? rcrt_mesh_rank(&context->program->mesh, position) : position;
}

/* The process of a rank; without threads, the rank itself. */
static inline int64_t rcrt_process(const ringconv_context *context, int64_t position) {
  int64_t rank = rcrt_rank_of(context, position);
  return context->per_process ? rank / context->per_process : rank;
}

/* The place of a rank among the threads of its process. */
static inline int64_t rcrt_seat(const ringconv_context *context, int64_t position) {
  return context->per_process ? rcrt_rank_of(context, position) % context->per_process : position;
}

static inline bool rcrt_is_near(const ringconv_context *context, int64_t position) {
  return !context->per_process || rcrt_process(context, position) == rcrt_process(context, context->position);
}

#endif
