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

static int64_t part_begin(int64_t elements, int64_t parts, int64_t i) {
  int64_t rest = elements % parts;
  return elements / parts * i + (i < rest ? i : rest);
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

/* ---- Sums in flight ---- */

/* A tensor of a sum; sizes, then strides. */
typedef struct sum_tensor {
  char *data;
  int64_t rank, shape[2 * RCRT_MAX_RANK];
} sum_tensor;

/* In round 1 everybody gets all values (small sums) or its part of them, in
 * round 2 (others) the sums of all parts. */
typedef enum sum_round { SUM_NONE, SUM_OPEN, SUM_FIRST, SUM_SECOND } sum_round;

/* Kept with its group from one use to the next. */
typedef struct rcrt_sum {
  struct rcrt_sum *next; /* of those in flight */
  rcrt_group *group;
  sum_round round;
  bool small, packed; /* packed: several tensors, or strides: values are a copy */
  int32_t dtype;
  members m;
  int64_t num_tensors, tensor_capacity, elements, capacity;
  sum_tensor *tensors;
  char *memory, *values, *sum;
} rcrt_sum;

void rcrt_free_sum(rcrt_group *group) {
  if (!group->sum)
    return;
  free(group->sum->tensors);
  free(group->sum->memory);
  free(group->sum);
  group->sum = NULL;
}

static int32_t no_memory(ringconv_context *context, int64_t exchange) {
  return rcrt_fail(context, RCRT_ERR_MEMORY, "exchange %" PRId64 ": no memory for a sum", exchange);
}

static int32_t find_sum(ringconv_context *context, int64_t exchange, rcrt_sum **sum) {
  rcrt_group *group = rcrt_find_group(context, exchange);
  *sum = group ? group->sum : NULL;
  if (*sum && (*sum)->round != SUM_NONE)
    return RCRT_OK;
  return rcrt_fail(context, RCRT_ERR_PROGRAM, "exchange %" PRId64 ": no sum is open", exchange);
}

static int32_t open_sum(ringconv_context *context, int64_t exchange, uint64_t axes, int32_t dtype) {
  int32_t code = check_sum(context, exchange, dtype, 0);
  rcrt_group *group;
  if (code || (code = rcrt_open_group(context, exchange, &group)))
    return code;
  group->state = RCRT_IDLE; /* opened again by each round */
  if (!group->sum && !(group->sum = calloc(1, sizeof *group->sum)))
    return no_memory(context, exchange);
  rcrt_sum *sum = group->sum;
  sum->group = group;
  sum->round = SUM_OPEN;
  sum->dtype = dtype;
  sum->m = make_members(context, axes);
  sum->num_tensors = sum->elements = 0;
  ++context->counters.reductions;
  return RCRT_OK;
}

static int32_t add_tensor(ringconv_context *context, int64_t exchange, void *data, int64_t rank,
                          const int64_t *shape) {
  rcrt_sum *sum;
  int32_t code = find_sum(context, exchange, &sum);
  if (code || (code = check_sum(context, exchange, sum->dtype, rank)))
    return code;
  int64_t elements, bytes;
  if (!rcrt_product(shape, rank, &elements) || __builtin_add_overflow(sum->elements, elements, &elements) ||
      __builtin_mul_overflow(elements, 4 * rcrt_dtype_size(sum->dtype), &bytes))
    return rcrt_fail(context, RCRT_ERR_PROGRAM, "exchange %" PRId64 ": a sum with too many elements", exchange);
  if (!rcrt_grow((void **)&sum->tensors, &sum->tensor_capacity, sum->num_tensors + 1, sizeof *sum->tensors))
    return no_memory(context, exchange);
  sum_tensor *tensor = &sum->tensors[sum->num_tensors++];
  tensor->data = data;
  tensor->rank = rank;
  for (int64_t d = 0; d < 2 * rank; ++d)
    tensor->shape[d] = shape[d];
  sum->elements = elements;
  return RCRT_OK;
}

/* Between the tensors and the values, which follow one another densely. */
static void copy_tensors(const rcrt_sum *sum, bool pack) {
  char *values = sum->values;
  for (int64_t i = 0; i < sum->num_tensors; ++i) {
    const sum_tensor *t = &sum->tensors[i];
    int64_t dense[RCRT_MAX_RANK], elements = 1;
    rcrt_dense_strides(t->rank, t->shape, dense);
    for (int64_t d = 0; d < t->rank; ++d)
      elements *= t->shape[d];
    rcrt_view tensor = {t->data, t->shape + t->rank}, packed = {values, dense};
    if (elements)
      rcrt_copy(pack ? packed : tensor, pack ? tensor : packed, rcrt_dtype_size(sum->dtype), t->rank, t->shape);
    values += elements * rcrt_dtype_size(sum->dtype);
  }
}

/* Memory for the sum of all values or of this member's part, and for values. */
static int32_t prepare_sum(ringconv_context *context, rcrt_sum *sum) {
  int64_t size = rcrt_dtype_size(sum->dtype), elements = sum->elements;
  const sum_tensor *first = sum->tensors;
  sum->small = elements * size <= SMALL_SUM || elements < sum->m.count;
  sum->packed = sum->num_tensors != 1 || !rcrt_is_dense(first->rank, first->shape, first->shape + first->rank);
  int64_t sum_bytes = (sum->small ? elements : elements / sum->m.count + 1) * size;
  sum_bytes = (sum_bytes + 63) & -64;
  if (!rcrt_grow((void **)&sum->memory, &sum->capacity, sum_bytes + (sum->packed ? elements * size : 0), 1))
    return no_memory(context, sum->group->exchange);
  sum->sum = sum->memory;
  sum->values = sum->packed ? sum->memory + sum_bytes : first->data;
  if (sum->packed)
    copy_tensors(sum, true);
  return RCRT_OK;
}

static run part_of(const rcrt_sum *sum, int64_t i, char **data) {
  int64_t begin = part_begin(sum->elements, sum->m.count, i);
  *data = sum->values + begin * rcrt_dtype_size(sum->dtype);
  return (run){part_begin(sum->elements, sum->m.count, i + 1) - begin, 1};
}

/* Each member gets the values that it adds: all, or its part. */
static int32_t post_first(ringconv_context *context, rcrt_sum *sum) {
  rcrt_group *group;
  int32_t code = rcrt_open_group(context, sum->group->exchange, &group);
  if (code)
    return code;
  group->ordered = true;
  char *data = sum->values;
  run own = {sum->elements, 1};
  for (int64_t i = 0; i < sum->m.count && !code; ++i) {
    run part = sum->small ? own : part_of(sum, i, &data);
    code = add_send(context, group, member(&sum->m, i), run_args(&part, data, sum->dtype));
  }
  if (!sum->small)
    own = part_of(sum, sum->m.own, &data);
  if (!code)
    code = receive_sum(context, group, &sum->m, run_args(&own, sum->sum, sum->dtype));
  return code ? code : rcrt_post_group(context, group);
}

/* Each member gets the sums of the others' parts. */
static int32_t post_second(ringconv_context *context, rcrt_sum *sum) {
  rcrt_group *group;
  int32_t code = rcrt_open_group(context, sum->group->exchange, &group);
  char *data;
  run own = part_of(sum, sum->m.own, &data);
  for (int64_t i = 0; i < sum->m.count && !code; ++i) {
    run part = part_of(sum, i, &data);
    rcrt_piece_args theirs = run_args(&part, data, sum->dtype);
    theirs.peer = member(&sum->m, i);
    code = add_send(context, group, theirs.peer, run_args(&own, sum->sum, sum->dtype));
    if (!code)
      code = rcrt_add_piece(context, group, &group->receive, &theirs);
  }
  sum->round = SUM_SECOND;
  return code ? code : rcrt_post_group(context, group);
}

static int32_t start_sum(ringconv_context *context, int64_t exchange) {
  rcrt_sum *sum;
  int32_t code = find_sum(context, exchange, &sum);
  if (code || (code = rcrt_advance_sums(context)))
    return code;
  sum->round = SUM_FIRST;
  if (sum->m.count == 1 || sum->elements == 0)
    return RCRT_OK;
  if ((code = prepare_sum(context, sum)))
    return code;
  sum->next = context->sums;
  context->sums = sum;
  return post_first(context, sum);
}

int32_t rcrt_advance_sums(ringconv_context *context) {
  int32_t code = RCRT_OK;
  for (rcrt_sum *sum = context->sums; sum && !code; sum = sum->next) {
    bool done = false;
    if (!sum->small && sum->round == SUM_FIRST)
      code = rcrt_test_group(context, sum->group, &done);
    if (done)
      code = post_second(context, sum);
  }
  return code;
}

static void unlink_sum(ringconv_context *context, const rcrt_sum *sum) {
  rcrt_sum **at = &context->sums;
  while (*at && *at != sum)
    at = &(*at)->next;
  if (*at)
    *at = sum->next;
}

static int32_t wait_sum(ringconv_context *context, int64_t exchange) {
  rcrt_sum *sum;
  int32_t code = find_sum(context, exchange, &sum);
  if (code)
    return code;
  if (sum->m.count > 1 && sum->elements > 0) {
    if ((code = rcrt_wait_group(context, sum->group)))
      return code;
    if (!sum->small && sum->round == SUM_FIRST && !(code = post_second(context, sum)))
      code = rcrt_wait_group(context, sum->group);
    if (code)
      return code;
    unlink_sum(context, sum);
    /* The waits have returned: nobody reads the values any more. */
    run all = {sum->elements, 1};
    if (sum->small)
      rcrt_copy((rcrt_view){sum->values, &all.stride}, (rcrt_view){sum->sum, &all.stride},
                rcrt_dtype_size(sum->dtype), 1, &all.size);
    if (sum->packed)
      copy_tensors(sum, false);
  }
  sum->round = SUM_NONE;
  return RCRT_OK;
}

static int32_t all_reduce(ringconv_context *context, int64_t exchange, uint64_t axes, int32_t dtype, void *data,
                          int64_t rank, const int64_t *shape) {
  int32_t code = open_sum(context, exchange, axes, dtype);
  if (!code)
    code = add_tensor(context, exchange, data, rank, shape);
  if (!code)
    code = start_sum(context, exchange);
  return code ? code : wait_sum(context, exchange);
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
  if (!code)
    code = rcrt_post_group(context, group);
  return code ? code : rcrt_wait_group(context, group);
}

RCRT_API int32_t ringconv_rt_sum(ringconv_context *context, int64_t exchange, uint64_t axes, int32_t dtype) {
  return rcrt_give_up(context, open_sum(context, exchange, axes, dtype));
}

RCRT_API int32_t ringconv_rt_sum_tensor(ringconv_context *context, int64_t exchange, void *data, int64_t rank,
                                        const int64_t *shape) {
  return rcrt_give_up(context, add_tensor(context, exchange, data, rank, shape));
}

RCRT_API int32_t ringconv_rt_sum_start(ringconv_context *context, int64_t exchange) {
  return rcrt_give_up(context, start_sum(context, exchange));
}

RCRT_API int32_t ringconv_rt_sum_wait(ringconv_context *context, int64_t exchange) {
  return rcrt_give_up(context, wait_sum(context, exchange));
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
