/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Sums over ranks, the same for every transport: a group whose messages are
 * taken in the order of positions, the first copied and the others added. So
 * each element is ((s0 + s1) + s2) + ... whatever the transport, the time of
 * arrival and the way the elements are divided for transport.
 */
#include "common/Context.h"

#include "common/DType.h"
#include "common/Shard.h"
#include "ringconv/Runtime/Calls.h"

#include <inttypes.h>
#include <stdlib.h>

/* Up to here every rank reads all data of all others: one round of messages.
 * Beyond, each rank sums its part and hands it round: two rounds, but each
 * byte is read twice only. */
enum { SMALL_SUM = 4096 };

/* Ranks that differ from this one only along `axes`, in the order of positions:
 * member i has the digits of i as its coordinates along them. */
typedef struct members {
  const ringconv_mesh *mesh;
  uint64_t axes;
  int64_t count, base, own; /* own: number of this rank among them */
} members;

static bool has_axis(const members *m, int32_t a) { return a < 64 && (m->axes >> a & 1); }

static members make_members(const ringconv_context *context, uint64_t axes) {
  members m = {&context->program->mesh, axes, 1, context->position, 0};
  int64_t step = 1;
  for (int32_t a = m.mesh->num_axes - 1; a >= 0; --a) {
    if (has_axis(&m, a)) {
      int64_t coord = rcrt_mesh_coord(m.mesh, context->position, a);
      m.base -= coord * step;
      m.own += coord * m.count;
      m.count *= m.mesh->extents[a];
    }
    step *= m.mesh->extents[a];
  }
  return m;
}

static int64_t member(const members *m, int64_t i) {
  int64_t position = m->base, step = 1;
  for (int32_t a = m->mesh->num_axes - 1; a >= 0; --a) {
    if (has_axis(m, a)) {
      position += i % m->mesh->extents[a] * step;
      i /= m->mesh->extents[a];
    }
    step *= m->mesh->extents[a];
  }
  return position;
}

static char *scratch(ringconv_context *context, int64_t exchange, int64_t bytes) {
  if (rcrt_grow((void **)&context->scratch, &context->scratch_capacity, bytes, 1))
    return context->scratch;
  rcrt_fail(context, RCRT_ERR_MEMORY, "exchange %" PRId64 ": no memory for %" PRId64 " bytes of a sum", exchange,
            bytes);
  return NULL;
}

/* Adds to `group` one receive from each member into the box `to`, in order. */
static int32_t receive_sum(ringconv_context *context, rcrt_group *group, const members *m, rcrt_piece_args to) {
  for (int64_t i = 0; i < m->count; ++i) {
    to.peer = member(m, i);
    to.combine = i == 0 ? RCRT_COPY : RCRT_ADD;
    int32_t code = rcrt_add_piece(context, group, &group->receive, &to);
    if (code)
      return code;
  }
  return RCRT_OK;
}

static int32_t post_and_wait(ringconv_context *context, rcrt_group *group) {
  int32_t code = rcrt_post_group(context, group);
  return code ? code : rcrt_wait_group(context, group);
}

/* A dense run of elements as a piece. */
typedef struct run {
  int64_t size, stride;
} run;

static rcrt_piece_args run_args(const run *r, void *data, int32_t dtype) {
  return (rcrt_piece_args){.data = data,
                           .element_size = rcrt_dtype_size(dtype),
                           .rank = 1,
                           .sizes = &r->size,
                           .strides = &r->stride,
                           .dtype = (int8_t)dtype};
}

static int32_t add_send(ringconv_context *context, rcrt_group *group, int64_t peer, rcrt_piece_args args) {
  args.peer = peer;
  return rcrt_add_piece(context, group, &group->send, &args);
}

/* One round: everybody reads everything. */
static int32_t sum_small(ringconv_context *context, int64_t exchange, const members *m, int32_t dtype, char *data,
                         int64_t elements, char *sum) {
  rcrt_group *group;
  int32_t code = rcrt_open_group(context, exchange, &group);
  if (code)
    return code;
  group->ordered = true;
  run all = {elements, 1};
  for (int64_t i = 0; i < m->count && !code; ++i)
    code = add_send(context, group, member(m, i), run_args(&all, data, dtype));
  if (!code)
    code = receive_sum(context, group, m, run_args(&all, sum, dtype));
  if (!code)
    code = post_and_wait(context, group);
  if (!code) /* the wait has returned: nobody reads the data any more */
    rcrt_copy((rcrt_view){data, &all.stride}, (rcrt_view){sum, &all.stride}, rcrt_dtype_size(dtype), 1, &all.size);
  return code;
}

static int64_t part_begin(int64_t elements, int64_t parts, int64_t i) {
  int64_t rest = elements % parts;
  return elements / parts * i + (i < rest ? i : rest);
}

/* Two rounds: member i sums part i, then all parts go to all members. */
static int32_t sum_parts(ringconv_context *context, int64_t exchange, const members *m, int32_t dtype, char *data,
                         int64_t elements, char *sum) {
  int64_t size = rcrt_dtype_size(dtype);
  int64_t own_begin = part_begin(elements, m->count, m->own);
  run own = {part_begin(elements, m->count, m->own + 1) - own_begin, 1};
  for (int round = 0; round < 2; ++round) {
    rcrt_group *group;
    int32_t code = rcrt_open_group(context, exchange, &group);
    if (code)
      return code;
    group->ordered = round == 0;
    for (int64_t i = 0; i < m->count && !code; ++i) {
      int64_t begin = part_begin(elements, m->count, i);
      run part = {part_begin(elements, m->count, i + 1) - begin, 1};
      rcrt_piece_args theirs = run_args(&part, data + begin * size, dtype), mine = run_args(&own, sum, dtype);
      theirs.peer = mine.peer = member(m, i);
      if (round == 0)
        code = rcrt_add_piece(context, group, &group->send, &theirs);
      else if (!(code = rcrt_add_piece(context, group, &group->send, &mine)))
        code = rcrt_add_piece(context, group, &group->receive, &theirs);
    }
    if (!code && round == 0)
      code = receive_sum(context, group, m, run_args(&own, sum, dtype));
    if (!code)
      code = post_and_wait(context, group);
    if (code)
      return code;
  }
  return RCRT_OK;
}

static int32_t check_sum(ringconv_context *context, int64_t exchange, int32_t dtype, int64_t rank) {
  if (dtype != RINGCONV_F64 && dtype != RINGCONV_F32 && dtype != RINGCONV_I32)
    return rcrt_fail(context, RCRT_ERR_PROGRAM, "exchange %" PRId64 ": no sums of %s", exchange,
                     rcrt_dtype_name(dtype));
  if (rank < 0 || rank > RCRT_MAX_RANK)
    return rcrt_fail(context, RCRT_ERR_PROGRAM, "exchange %" PRId64 ": a sum with %" PRId64 " dimensions", exchange,
                     rank);
  return RCRT_OK;
}

static int32_t all_reduce(ringconv_context *context, int64_t exchange, uint64_t axes, int32_t dtype, void *data,
                          int64_t rank, const int64_t *shape) {
  int32_t code = check_sum(context, exchange, dtype, rank);
  members m = make_members(context, axes);
  int64_t elements, bytes, size = dtype == RINGCONV_F64 ? 8 : 4;
  if (code)
    return code;
  if (!rcrt_product(shape, rank, &elements) || __builtin_mul_overflow(elements, 2 * size, &bytes))
    return rcrt_fail(context, RCRT_ERR_PROGRAM, "exchange %" PRId64 ": a sum with too many elements", exchange);
  ++context->counters.reductions;
  if (m.count == 1 || elements == 0)
    return RCRT_OK;

  const int64_t *strides = shape + rank;
  bool dense = rcrt_is_dense(rank, shape, strides), small = elements * size <= SMALL_SUM || elements < m.count;
  int64_t sum_bytes = small ? elements * size : (elements / m.count + 1) * size;
  sum_bytes = (sum_bytes + 63) & -64;
  char *sum = scratch(context, exchange, sum_bytes + (dense ? 0 : elements * size)), *values = data;
  if (!sum)
    return context->code;
  int64_t dense_strides[RCRT_MAX_RANK];
  rcrt_dense_strides(rank, shape, dense_strides);
  if (!dense) {
    values = sum + sum_bytes;
    rcrt_copy((rcrt_view){values, dense_strides}, (rcrt_view){data, strides}, size, rank, shape);
  }
  code = (small ? sum_small : sum_parts)(context, exchange, &m, dtype, values, elements, sum);
  if (!code && !dense)
    rcrt_copy((rcrt_view){data, strides}, (rcrt_view){values, dense_strides}, size, rank, shape);
  return code;
}

static bool is_empty(const int64_t *sizes, int64_t rank) {
  for (int64_t d = 0; d < rank; ++d)
    if (sizes[d] <= 0)
      return true;
  return false;
}

static int32_t reduce_scatter(ringconv_context *context, int64_t exchange, uint64_t axes, int32_t dtype,
                              const void *source, const int64_t *source_shape, void *result,
                              const int64_t *result_shape, int64_t rank, const int64_t *boxes) {
  int32_t code = check_sum(context, exchange, dtype, rank);
  if (code)
    return code;
  members m = make_members(context, axes);
  const int64_t *strides = source_shape + rank, *own = boxes + 2 * rank * m.own;
  for (int64_t d = 0; d < rank; ++d)
    if (own[rank + d] != result_shape[d])
      return rcrt_fail(context, RCRT_ERR_PROGRAM,
                       "exchange %" PRId64 ": dim %" PRId64 " of the result has size %" PRId64 ", its box %" PRId64,
                       exchange, d, result_shape[d], own[rank + d]);
  rcrt_group *group;
  if ((code = rcrt_open_group(context, exchange, &group)))
    return code;
  group->ordered = true;
  ++context->counters.reductions;
  int64_t size = rcrt_dtype_size(dtype);
  for (int64_t i = 0; i < m.count && !code; ++i) {
    const int64_t *begins = boxes + 2 * rank * i, *sizes = begins + rank;
    if (is_empty(sizes, rank))
      continue;
    int64_t offset = 0;
    for (int64_t d = 0; d < rank; ++d)
      offset += begins[d] * strides[d];
    rcrt_piece_args args = {.data = (char *)(uintptr_t)source + offset * size,
                            .element_size = size,
                            .rank = rank,
                            .sizes = sizes,
                            .strides = strides,
                            .dtype = (int8_t)dtype};
    code = add_send(context, group, member(&m, i), args);
  }
  if (!code && !is_empty(result_shape, rank)) {
    rcrt_piece_args to = {.data = result,
                          .element_size = size,
                          .rank = rank,
                          .sizes = result_shape,
                          .strides = result_shape + rank,
                          .dtype = (int8_t)dtype};
    code = receive_sum(context, group, &m, to);
  }
  return code ? code : post_and_wait(context, group);
}

RCRT_API int32_t ringconv_rt_all_reduce(ringconv_context *context, int64_t exchange, uint64_t axes, int32_t dtype,
                                        void *data, int64_t rank, const int64_t *shape) {
  return rcrt_give_up(context, all_reduce(context, exchange, axes, dtype, data, rank, shape));
}

RCRT_API int32_t ringconv_rt_reduce_scatter(ringconv_context *context, int64_t exchange, uint64_t axes, int32_t dtype,
                                            const void *source, const int64_t *source_shape, void *result,
                                            const int64_t *result_shape, int64_t rank, const int64_t *boxes) {
  return rcrt_give_up(
      context, reduce_scatter(context, exchange, axes, dtype, source, source_shape, result, result_shape, rank, boxes));
}
