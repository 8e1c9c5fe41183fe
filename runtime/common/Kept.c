/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Buffers that live from run to run: what is made from parameters alone. */
#include "common/Context.h"
#include "ringconv/Runtime/Calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 };

static int32_t out_of_memory(ringconv_context *context, int64_t bytes) {
  rcrt_fail(context, RCRT_ERR_MEMORY, "out of memory: %" PRId64 " bytes for a packed filter", bytes);
  return rcrt_give_up(context, RCRT_ERR_MEMORY);
}

RCRT_API int32_t ringconv_rt_kept(ringconv_context *context, int64_t slot, int64_t bytes, int64_t *answer) {
  int64_t before = context->kept_capacity;
  if (!rcrt_grow((void **)&context->kept, &context->kept_capacity, slot + 1, sizeof *context->kept))
    return out_of_memory(context, bytes);
  if (context->kept_capacity > before)
    memset(context->kept + before, 0, (size_t)(context->kept_capacity - before) * sizeof *context->kept);
  rcrt_kept *k = &context->kept[slot];
  if (!k->data && posix_memalign(&k->data, ALIGNMENT, bytes > 0 ? (size_t)bytes : 1)) {
    k->data = NULL;
    return out_of_memory(context, bytes);
  }
  answer[0] = (int64_t)(intptr_t)k->data;
  answer[1] = !k->filled;
  k->filled = true;
  return RCRT_OK;
}

void rcrt_empty_kept(ringconv_context *context) {
  for (int64_t i = 0; i < context->kept_capacity; ++i)
    context->kept[i].filled = false;
}

void rcrt_free_kept(ringconv_context *context) {
  for (int64_t i = 0; i < context->kept_capacity; ++i)
    free(context->kept[i].data);
  free(context->kept);
}
