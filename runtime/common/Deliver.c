/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Moves a message from the pieces of one end to those of the other. */
#include "common/Context.h"

#include <inttypes.h>

/* A common shape of two boxes with equally many elements. */
typedef struct matched {
  int64_t rank, sizes[2 * RCRT_MAX_RANK], to[2 * RCRT_MAX_RANK], from[2 * RCRT_MAX_RANK];
} matched;

/* The dimensions of one end, from the last to the first, those of size 1 left
 * out. `size` elements of dimension `d` remain, `stride` apart. */
typedef struct cursor {
  const int64_t *sizes, *strides;
  uint64_t single; /* dimensions that count as 1 */
  int64_t d, size, stride;
} cursor;

static void next_dimension(cursor *c) {
  for (--c->d; c->d >= 0; --c->d) {
    if (c->single >> c->d & 1 || c->sizes[c->d] == 1)
      continue;
    c->size = c->sizes[c->d];
    c->stride = c->strides[c->d];
    return;
  }
  c->size = 1;
}

static void take(cursor *c, int64_t size) {
  c->size /= size;
  c->stride *= size;
  if (c->size == 1)
    next_dimension(c);
}

/* Splits the dimensions of both ends where the other end has a boundary:
 * [4, 6] and [24] meet as [4, 6]. False where they do not divide each other. */
static bool match(const rcrt_group *to_group, const rcrt_piece *to, const rcrt_group *from_group,
                  const rcrt_piece *from, matched *m) {
  cursor t = {rcrt_sizes(to_group, to), rcrt_strides(to_group, to), to->repeat, to->rank, 1, 0};
  cursor f = {rcrt_sizes(from_group, from), rcrt_strides(from_group, from), 0, from->rank, 1, 0};
  next_dimension(&t);
  next_dimension(&f);
  m->rank = 0;
  while (t.size > 1 && f.size > 1) {
    int64_t size = t.size < f.size ? t.size : f.size;
    if (t.size % size || f.size % size)
      return false;
    m->sizes[m->rank] = size;
    m->to[m->rank] = t.stride;
    m->from[m->rank] = f.stride;
    ++m->rank;
    take(&t, size);
    take(&f, size);
  }
  return t.size == 1 && f.size == 1;
}

static bool deliver_piece(const rcrt_group *to_group, const rcrt_piece *to, const rcrt_group *from_group,
                          const rcrt_piece *from) {
  matched m;
  if (!match(to_group, to, from_group, from, &m) || m.rank > RCRT_MAX_RANK)
    return false;
  rcrt_view target = {to->data, m.to}, source = {from->data, m.from};
  if (to->combine == RCRT_ADD)
    rcrt_add(target, source, to->dtype, m.rank, m.sizes);
  else
    rcrt_copy(target, source, to->element_size, m.rank, m.sizes);
  rcrt_repeat(to_group, to);
  return true;
}

/* Spreads one dimension after the other: what an earlier one has filled is
 * whole for the next, and a later one still counts as 1. */
void rcrt_repeat(const rcrt_group *group, const rcrt_piece *piece) {
  const int64_t *sizes = rcrt_sizes(group, piece), *strides = rcrt_strides(group, piece);
  for (int64_t r = 0; r < piece->rank; ++r) {
    if (!(piece->repeat >> r & 1) || sizes[r] == 1)
      continue;
    int64_t box[RCRT_MAX_RANK], from[RCRT_MAX_RANK];
    for (int64_t d = 0; d < piece->rank; ++d) {
      box[d] = d > r && piece->repeat >> d & 1 ? 1 : sizes[d];
      from[d] = strides[d];
    }
    box[r] = sizes[r] - 1; /* element 0 is the source */
    from[r] = 0;
    rcrt_view to = {piece->data + strides[r] * piece->element_size, strides}, source = {piece->data, from};
    rcrt_copy(to, source, piece->element_size, piece->rank, box);
  }
}

int32_t rcrt_deliver(ringconv_context *context, rcrt_group *to_group, const rcrt_message *to,
                     const rcrt_group *from_group, const rcrt_message *from, int64_t from_rank) {
  if (to->bytes != from->bytes)
    return rcrt_fail(context, RCRT_ERR_MISMATCH,
                     "exchange %" PRId64 ": rank %" PRId64 " sent %" PRId64 " bytes, expected %" PRId64,
                     to_group->exchange, from_rank, from->bytes, to->bytes);
  if (to->num_pieces != from->num_pieces)
    return rcrt_fail(context, RCRT_ERR_MISMATCH, "exchange %" PRId64 ": rank %" PRId64 " sent %d pieces, expected %d",
                     to_group->exchange, from_rank, from->num_pieces, to->num_pieces);
  int32_t t = to->first, f = from->first;
  for (int32_t i = 0; t >= 0; ++i) {
    const rcrt_piece *target = &to_group->receive.pieces[t], *source = &from_group->send.pieces[f];
    bool fits = target->elements == source->elements && target->element_size == source->element_size;
    if (!fits)
      return rcrt_fail(context, RCRT_ERR_MISMATCH,
                       "exchange %" PRId64 ": piece %d from rank %" PRId64 " has %" PRId64 " elements of %" PRId64
                       " bytes, expected %" PRId64 " of %" PRId64,
                       to_group->exchange, i, from_rank, source->elements, source->element_size, target->elements,
                       target->element_size);
    if (!deliver_piece(to_group, target, from_group, source))
      return rcrt_fail(context, RCRT_ERR_MISMATCH,
                       "exchange %" PRId64 ": piece %d from rank %" PRId64 " has another shape at its two ends",
                       to_group->exchange, i, from_rank);
    t = target->next;
    f = source->next;
  }
  return RCRT_OK;
}
