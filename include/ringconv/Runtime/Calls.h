/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What generated host code calls. Every call returns 0 or an error code; after
 * an error generated code returns at once with that code, and the context holds
 * the text. Peers are positions in the mesh (row-major, last axis fastest).
 *
 * Descriptors: `shape` points at 2 * rank numbers, sizes then strides, strides
 * in elements and of any sign; `data` is the address of element (0, ..., 0).
 * `element_size` is in bytes.
 */
#ifndef RINGCONV_RUNTIME_CALLS_H
#define RINGCONV_RUNTIME_CALLS_H

#include "ringconv/Runtime/Program.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Coordinate of this rank along mesh axis `axis`. */
int64_t ringconv_rt_coord(ringconv_context *context, int64_t axis);

/* Size of dimension `dim` of this rank's shard of an operand (inputs first,
 * then outputs), both within the program's. */
int64_t ringconv_rt_extent(ringconv_context *context, int64_t operand, int64_t dim);

/* A group collects sends and receives; ringconv_rt_post starts all of them,
 * receives first, without blocking; ringconv_rt_wait completes the group
 * `exchange`. Several groups may be in flight, told apart by `exchange`; the
 * same number may be used again after its wait. The pieces for one peer travel
 * as ONE message, in the order in which they were added, which is the same at
 * both ends. A piece for the rank itself is a copy. Pieces have at least one
 * element. Data of a send stays unchanged until the wait. */
int32_t ringconv_rt_group(ringconv_context *context, int64_t exchange);
int32_t ringconv_rt_send(ringconv_context *context, int64_t exchange, int64_t peer, const void *data,
                         int64_t element_size, int64_t rank, const int64_t *shape);
/* `repeat`: bit d set: the message has size 1 in dimension d, and its element
 * fills all of this dimension of the destination. */
int32_t ringconv_rt_recv(ringconv_context *context, int64_t exchange, int64_t peer, void *data, int64_t element_size,
                         int64_t rank, const int64_t *shape, uint64_t repeat);
int32_t ringconv_rt_post(ringconv_context *context, int64_t exchange);
int32_t ringconv_rt_wait(ringconv_context *context, int64_t exchange);

/* Sums over the ranks that differ from this one only along the axes of
 * `axes` (bit a: mesh axis a), in place, the same bits on each of them and in
 * each run: added in the order of their positions. dtype: f64, f32, i32. */
int32_t ringconv_rt_all_reduce(ringconv_context *context, int64_t exchange, uint64_t axes, int32_t dtype, void *data,
                               int64_t rank, const int64_t *shape);

/* The same in steps, for several tensors of one type at once: a sum is opened,
 * gets its tensors, and starts, which does not block; the wait completes it. The
 * tensors stay as they are between. Each peer gets one message in each of the
 * two rounds (one for small sums). */
int32_t ringconv_rt_sum(ringconv_context *context, int64_t exchange, uint64_t axes, int32_t dtype);
int32_t ringconv_rt_sum_tensor(ringconv_context *context, int64_t exchange, void *data, int64_t rank,
                               const int64_t *shape);
int32_t ringconv_rt_sum_start(ringconv_context *context, int64_t exchange);
int32_t ringconv_rt_sum_wait(ringconv_context *context, int64_t exchange);

/* The same sum of `source`, of which the rank keeps the box that starts at
 * begins[d] of the source and has the sizes of `result`. `boxes` gives, for
 * each member of the group in the order of positions, 2 * rank numbers: begins,
 * then sizes. Bytes travel only to the member that keeps them. */
int32_t ringconv_rt_reduce_scatter(ringconv_context *context, int64_t exchange, uint64_t axes, int32_t dtype,
                                   const void *source, const int64_t *source_shape, void *result,
                                   const int64_t *result_shape, int64_t rank, const int64_t *boxes);

/* The session's buffer number `slot`, of `bytes` bytes, aligned to 64: answer[0]
 * is its address, answer[1] 1 where it must be filled: it is new, or parameters
 * were set since. A slot keeps its size. */
int32_t ringconv_rt_kept(ringconv_context *context, int64_t slot, int64_t bytes, int64_t *answer);

/* Marks begin and end of work on operation `op` of the program, for reports. */
void ringconv_rt_op_begin(ringconv_context *context, int64_t op);
void ringconv_rt_op_end(ringconv_context *context, int64_t op);

/* Adds to the rank's count of multiply-adds; only instrumented code calls it. */
void ringconv_rt_count(ringconv_context *context, int64_t multiply_adds);

#ifdef __cplusplus
}
#endif
#endif
