/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Copies and sums between strided boxes. */
#ifndef RINGCONV_COMMON_COPY_H
#define RINGCONV_COMMON_COPY_H

#include "common/Base.h"

/* Strides in elements, of any sign; a source stride of 0 repeats. */
typedef struct rcrt_view {
  char *data;
  const int64_t *strides;
} rcrt_view;

/* The boxes do not overlap. rank <= RCRT_MAX_RANK. */
void rcrt_copy(rcrt_view to, rcrt_view from, int64_t element_size, int64_t rank, const int64_t *sizes);
/* to += from; dtype f64, f32 or i32 (which wraps around). */
void rcrt_add(rcrt_view to, rcrt_view from, int32_t dtype, int64_t rank, const int64_t *sizes);

/* Row-major strides of a dense box. */
void rcrt_dense_strides(int64_t rank, const int64_t *sizes, int64_t *strides);
/* Whether the box is one contiguous row-major run. */
bool rcrt_is_dense(int64_t rank, const int64_t *sizes, const int64_t *strides);

#endif
