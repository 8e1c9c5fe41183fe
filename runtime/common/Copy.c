/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "common/Copy.h"

#include <string.h>

/* A pair of boxes with its dimensions put in the order that suits memory:
 * no dimension of size 1, the destination's strides positive and decreasing,
 * dimensions that continue each other merged. Strides in bytes. */
typedef struct walk {
  char *to;
  const char *from;
  int64_t rank;
  int64_t sizes[RCRT_MAX_RANK], to_strides[RCRT_MAX_RANK], from_strides[RCRT_MAX_RANK];
} walk;

static void insert_dimension(walk *w, int64_t size, int64_t to_stride, int64_t from_stride) {
  int64_t at = w->rank++;
  for (; at > 0 && w->to_strides[at - 1] < to_stride; --at) {
    w->sizes[at] = w->sizes[at - 1];
    w->to_strides[at] = w->to_strides[at - 1];
    w->from_strides[at] = w->from_strides[at - 1];
  }
  w->sizes[at] = size;
  w->to_strides[at] = to_stride;
  w->from_strides[at] = from_stride;
}

static void merge_dimensions(walk *w) {
  int64_t kept = 0;
  for (int64_t d = 1; d < w->rank; ++d) {
    bool continues = w->to_strides[kept] == w->to_strides[d] * w->sizes[d] &&
                     w->from_strides[kept] == w->from_strides[d] * w->sizes[d];
    if (continues) {
      w->sizes[kept] *= w->sizes[d];
    } else {
      ++kept;
      w->sizes[kept] = w->sizes[d];
    }
    w->to_strides[kept] = w->to_strides[d];
    w->from_strides[kept] = w->from_strides[d];
  }
  w->rank = w->rank ? kept + 1 : 0;
}

/* False where the box is empty. */
static bool begin_walk(walk *w, rcrt_view to, rcrt_view from, int64_t element_size, int64_t rank,
                       const int64_t *sizes) {
  w->to = to.data;
  w->from = from.data;
  w->rank = 0;
  for (int64_t d = 0; d < rank; ++d) {
    if (sizes[d] <= 0)
      return false;
    if (sizes[d] == 1)
      continue;
    int64_t to_stride = to.strides[d] * element_size, from_stride = from.strides[d] * element_size;
    if (to_stride < 0) { /* the same elements from the other end */
      w->to += to_stride * (sizes[d] - 1);
      w->from += from_stride * (sizes[d] - 1);
      to_stride = -to_stride;
      from_stride = -from_stride;
    }
    insert_dimension(w, sizes[d], to_stride, from_stride);
  }
  merge_dimensions(w);
  return true;
}

typedef void (*line_fn)(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t size,
                        int64_t width);

/* Calls `line` for every innermost line. */
static void run_walk(walk *w, line_fn line, int64_t width) {
  if (w->rank == 0) {
    line(w->to, width, w->from, width, 1, width);
    return;
  }
  int64_t last = w->rank - 1, index[RCRT_MAX_RANK] = {0};
  for (;;) {
    line(w->to, w->to_strides[last], w->from, w->from_strides[last], w->sizes[last], width);
    int64_t d = last - 1;
    for (; d >= 0; --d) {
      w->to += w->to_strides[d];
      w->from += w->from_strides[d];
      if (++index[d] < w->sizes[d])
        break;
      w->to -= w->to_strides[d] * w->sizes[d];
      w->from -= w->from_strides[d] * w->sizes[d];
      index[d] = 0;
    }
    if (d < 0)
      return;
  }
}

/* Constant widths become single loads and stores. */
#define DEFINE_COPY_LINE(bytes)                                                                                        \
  static void copy_line_##bytes(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t size,      \
                                int64_t width) {                                                                       \
    (void)width;                                                                                                       \
    for (int64_t i = 0; i < size; ++i)                                                                                 \
      memcpy(to + i * to_stride, from + i * from_stride, bytes);                                                       \
  }
DEFINE_COPY_LINE(1)
DEFINE_COPY_LINE(2)
DEFINE_COPY_LINE(4)
DEFINE_COPY_LINE(8)
DEFINE_COPY_LINE(16)

static void copy_line_any(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t size,
                          int64_t width) {
  for (int64_t i = 0; i < size; ++i)
    memcpy(to + i * to_stride, from + i * from_stride, (size_t)width);
}

static void copy_line_contiguous(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t size,
                                 int64_t width) {
  (void)to_stride, (void)from_stride;
  memcpy(to, from, (size_t)(size * width));
}

static line_fn copy_line(const walk *w, int64_t width) {
  int64_t last = w->rank - 1;
  /* Below 32 bytes the call of memcpy costs more than single moves. */
  if (w->rank && w->to_strides[last] == width && w->from_strides[last] == width && w->sizes[last] * width >= 32)
    return copy_line_contiguous;
  switch (width) {
  case 1:
    return copy_line_1;
  case 2:
    return copy_line_2;
  case 4:
    return copy_line_4;
  case 8:
    return copy_line_8;
  case 16:
    return copy_line_16;
  default:
    return copy_line_any;
  }
}

void rcrt_copy(rcrt_view to, rcrt_view from, int64_t element_size, int64_t rank, const int64_t *sizes) {
  walk w;
  if (begin_walk(&w, to, from, element_size, rank, sizes))
    run_walk(&w, copy_line(&w, element_size), element_size);
}

/* uint32_t for i32: its sums wrap around without undefined behaviour. */
#define DEFINE_ADD_LINE(type)                                                                                          \
  static void add_line_##type(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t size,        \
                              int64_t width) {                                                                         \
    if (to_stride == width && from_stride == width) {                                                                  \
      type *restrict t = (type *)to;                                                                                   \
      const type *restrict f = (const type *)from;                                                                     \
      for (int64_t i = 0; i < size; ++i)                                                                               \
        t[i] += f[i];                                                                                                  \
      return;                                                                                                          \
    }                                                                                                                  \
    for (int64_t i = 0; i < size; ++i)                                                                                 \
      *(type *)(to + i * to_stride) += *(const type *)(from + i * from_stride);                                        \
  }
DEFINE_ADD_LINE(double)
DEFINE_ADD_LINE(float)
DEFINE_ADD_LINE(uint32_t)

void rcrt_add(rcrt_view to, rcrt_view from, int32_t dtype, int64_t rank, const int64_t *sizes) {
  walk w;
  int64_t width = dtype == RINGCONV_F64 ? 8 : 4;
  line_fn line = dtype == RINGCONV_F64 ? add_line_double : dtype == RINGCONV_F32 ? add_line_float : add_line_uint32_t;
  if (begin_walk(&w, to, from, width, rank, sizes))
    run_walk(&w, line, width);
}

void rcrt_dense_strides(int64_t rank, const int64_t *sizes, int64_t *strides) {
  int64_t stride = 1;
  for (int64_t d = rank - 1; d >= 0; --d) {
    strides[d] = stride;
    stride *= sizes[d] > 0 ? sizes[d] : 1;
  }
}

bool rcrt_is_dense(int64_t rank, const int64_t *sizes, const int64_t *strides) {
  int64_t expected = 1;
  for (int64_t d = rank - 1; d >= 0; --d) {
    if (sizes[d] != 1 && strides[d] != expected)
      return false;
    expected *= sizes[d];
  }
  return true;
}
