/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * From the pieces of a group to messages between GPUs. A message that is one
 * dense piece travels straight from or to its tensor; the pieces of others lie
 * one after the other in staging memory. */
#include "common/Shard.h"
#include "cuda/Boxes.h"
#include "cuda/Nvtx.h"

#include "ringconv/Runtime/CudaCalls.h"

#include <inttypes.h>

enum { STAGING_ALIGNMENT = 16 };

typedef struct staging {
  char *data, *own; /* own: where the rank's pieces for itself lie */
  int64_t used, bytes;
} staging;

static rcrt_device_exchange *exchange_of(ringconv_context *context, int64_t exchange) {
  return &context->cuda->exchanges[exchange];
}

const ringconv_op *rcrt_exchange_op(const ringconv_program *program, int64_t exchange) {
  for (int32_t i = 0; i < program->num_ops; ++i)
    if (program->ops[i].exchange == exchange)
      return &program->ops[i];
  return NULL;
}

static bool is_dense(const rcrt_group *group, const rcrt_piece *piece) {
  const int64_t *sizes = rcrt_sizes(group, piece), *strides = rcrt_strides(group, piece);
  int64_t expected = 1;
  for (int64_t d = piece->rank - 1; d >= 0; --d) {
    if (sizes[d] != 1 && strides[d] != expected)
      return false;
    expected *= sizes[d];
  }
  return piece->repeat == 0;
}

static int32_t out_of_memory(ringconv_context *context) {
  return rcrt_fail(context, RCRT_ERR_MEMORY, "out of memory");
}

static int32_t add_box(ringconv_context *context, rcrt_device_exchange *x, const rcrt_group *group,
                       const rcrt_piece *piece, char *dense, bool packs) {
  int64_t dense_strides[RCRT_MAX_RANK], stride = 1;
  const int64_t *sizes = rcrt_sizes(group, piece), *strides = rcrt_strides(group, piece);
  for (int64_t d = piece->rank - 1; d >= 0; --d) {
    bool repeats = piece->repeat >> d & 1;
    dense_strides[d] = repeats ? 0 : stride;
    stride *= repeats ? 1 : sizes[d];
  }
  if (!rcrt_grow((void **)&x->boxes, &x->box_capacity, x->num_boxes + 1, sizeof *x->boxes))
    return out_of_memory(context);
  bool fits = packs ? rcrt_make_box(&x->boxes[x->num_boxes], piece->data, dense, piece->element_size, piece->rank,
                                    sizes, strides, dense_strides)
                    : rcrt_make_box(&x->boxes[x->num_boxes], dense, piece->data, piece->element_size, piece->rank,
                                    sizes, dense_strides, strides);
  if (!fits)
    return rcrt_fail(context, RCRT_ERR_PROGRAM, "exchange %" PRId64 ": a message of more than %d dimensions",
                     group->exchange, RCRT_BOX_RANK);
  ++x->num_boxes;
  return RCRT_OK;
}

/* Boxes between a message's dense form at `dense` and its pieces. */
static int32_t add_boxes(ringconv_context *context, rcrt_device_exchange *x, const rcrt_group *group,
                         const rcrt_side *side, const rcrt_message *message, char *dense) {
  int32_t code = RCRT_OK;
  for (int32_t p = message->first; p >= 0 && !code; p = side->pieces[p].next) {
    const rcrt_piece *piece = &side->pieces[p];
    code = add_box(context, x, group, piece, dense, side == &group->send);
    dense += piece->elements * piece->element_size;
  }
  return code;
}

static char *take(ringconv_context *context, const rcrt_group *group, staging *s, int64_t bytes) {
  char *place = s->data + s->used;
  s->used += (bytes + STAGING_ALIGNMENT - 1) / STAGING_ALIGNMENT * STAGING_ALIGNMENT;
  if (s->used <= s->bytes)
    return place;
  rcrt_fail(context, RCRT_ERR_PROGRAM, "exchange %" PRId64 ": %" PRId64 " bytes of messages, %" PRId64 " were planned",
            group->exchange, s->used, s->bytes);
  return NULL;
}

static int32_t add_message(ringconv_context *context, rcrt_device_exchange *x, const rcrt_group *group,
                           const rcrt_side *side, const rcrt_message *message, staging *s) {
  bool own = message->peer == context->position, receives = side == &group->receive;
  const rcrt_piece *first = &side->pieces[message->first];
  bool direct = !own && message->num_pieces == 1 && is_dense(group, first);
  char *data = direct ? first->data : own && receives ? s->own : take(context, group, s, message->bytes);
  if (!data)
    return context->code ? context->code
                         : rcrt_fail(context, RCRT_ERR_MISMATCH,
                                     "exchange %" PRId64 ": pieces for the rank itself at one end only",
                                     group->exchange);
  if (own && !receives)
    s->own = data;
  int32_t code = direct ? RCRT_OK : add_boxes(context, x, group, side, message, data);
  if (code || own)
    return code;
  if (!rcrt_grow((void **)&x->messages, &x->message_capacity, x->num_messages + 1, sizeof *x->messages))
    return out_of_memory(context);
  int64_t peer = rcrt_mesh_rank(&context->program->mesh, message->peer);
  x->messages[x->num_messages++] = (rcrt_device_message){data, message->bytes, (int32_t)peer, receives};
  return RCRT_OK;
}

static int32_t add_side(ringconv_context *context, rcrt_device_exchange *x, const rcrt_group *group,
                        const rcrt_side *side, staging *s) {
  int32_t code = RCRT_OK;
  for (int64_t m = 0; m < side->num_messages && !code; ++m)
    code = add_message(context, x, group, side, &side->messages[m], s);
  return code;
}

RCRT_API int32_t ringconv_cuda_pack(ringconv_context *context, int64_t exchange, void *data, int64_t bytes) {
  rcrt_group *group = rcrt_find_group(context, exchange);
  rcrt_device_exchange *x = exchange_of(context, exchange);
  staging s = {.data = data, .bytes = bytes};
  x->num_messages = x->num_boxes = 0;
  rcrt_range_begin_exchange(context, "pack for ", exchange);
  rcrt_count_messages(context, group);
  int32_t code = add_side(context, x, group, &group->send, &s);
  if (!code)
    code = rcrt_launch_boxes(context, x->boxes, x->num_boxes);
  x->num_boxes = 0; /* those that are left are unpacked at the end */
  if (!code)
    code = add_side(context, x, group, &group->receive, &s);
  x->timed = context->cuda->timed && x->num_messages > 0;
  rcrt_range_end();
  return code;
}

RCRT_API int32_t ringconv_cuda_unpack(ringconv_context *context, int64_t exchange) {
  rcrt_device_exchange *x = exchange_of(context, exchange);
  rcrt_find_group(context, exchange)->state = RCRT_IDLE;
  rcrt_range_begin_exchange(context, "unpack for ", exchange);
  int32_t code = rcrt_launch_boxes(context, x->boxes, x->num_boxes);
  rcrt_range_end();
  return code;
}

RCRT_API int64_t ringconv_cuda_messages(ringconv_context *context, int64_t exchange) {
  return exchange_of(context, exchange)->num_messages;
}
RCRT_API void *ringconv_cuda_message_data(ringconv_context *context, int64_t exchange, int64_t number) {
  return exchange_of(context, exchange)->messages[number].data;
}
RCRT_API int64_t ringconv_cuda_message_bytes(ringconv_context *context, int64_t exchange, int64_t number) {
  return exchange_of(context, exchange)->messages[number].bytes;
}
RCRT_API int64_t ringconv_cuda_message_peer(ringconv_context *context, int64_t exchange, int64_t number) {
  return exchange_of(context, exchange)->messages[number].peer;
}
RCRT_API bool ringconv_cuda_message_receives(ringconv_context *context, int64_t exchange, int64_t number) {
  return exchange_of(context, exchange)->messages[number].receives;
}
