/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Copies of strided boxes, many in one launch of the program's kernel
 * `ringconv_boxes`. */
#ifndef RINGCONV_CUDA_BOXES_H
#define RINGCONV_CUDA_BOXES_H

#include "cuda/Device.h"

/* The kernel's argument is an array of RCRT_BOXES of these by value: 3,584
 * bytes, where 4,096 are allowed. The compiler's BoxKernel.cpp has the same. */
enum { RCRT_BOX_RANK = 8, RCRT_BOXES = 16, RCRT_BOX_THREADS = 256 };

typedef struct rcrt_box_copy {
  const char *from;
  char *to;
  int64_t elements;
  int32_t rank, width; /* width: bytes of an element, 1 to 16 */
  int64_t sizes[RCRT_BOX_RANK], from_strides[RCRT_BOX_RANK], to_strides[RCRT_BOX_RANK]; /* in elements */
} rcrt_box_copy;

/* A box as the calls describe it; a stride of 0 repeats an element. false: more
 * dimensions than a kernel takes. */
bool rcrt_make_box(rcrt_box_copy *box, char *from, char *to, int64_t width, int64_t rank, const int64_t *sizes,
                   const int64_t *from_strides, const int64_t *to_strides);

/* On the compute stream. */
int32_t rcrt_launch_boxes(ringconv_context *context, const rcrt_box_copy *boxes, int64_t count);

#endif
