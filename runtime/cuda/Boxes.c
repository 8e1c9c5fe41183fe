/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cuda/Boxes.h"

#include <string.h>

/* Adds dimension `size` inside of those that are there; neighbours without gaps
 * at both ends become one. */
static bool add_dimension(rcrt_box_copy *box, int64_t size, int64_t from, int64_t to) {
  if (size == 1)
    return true;
  int32_t last = box->rank - 1;
  if (last >= 0 && box->from_strides[last] == from * size && box->to_strides[last] == to * size) {
    box->sizes[last] *= size;
    box->from_strides[last] = from;
    box->to_strides[last] = to;
    return true;
  }
  if (box->rank == RCRT_BOX_RANK)
    return false;
  box->sizes[box->rank] = size;
  box->from_strides[box->rank] = from;
  box->to_strides[box->rank++] = to;
  return true;
}

/* Whether elements of twice the width do: the innermost dimension is dense and
 * even, and everything is aligned. */
static bool can_widen(const rcrt_box_copy *box) {
  int32_t last = box->rank - 1;
  int64_t wide = 2 * (int64_t)box->width;
  if (box->width >= 16 || last < 0 || box->from_strides[last] != 1 || box->to_strides[last] != 1 ||
      box->sizes[last] % 2 || (uintptr_t)box->from % (uintptr_t)wide || (uintptr_t)box->to % (uintptr_t)wide)
    return false;
  for (int32_t d = 0; d < last; ++d)
    if (box->from_strides[d] % 2 || box->to_strides[d] % 2)
      return false;
  return true;
}

bool rcrt_make_box(rcrt_box_copy *box, char *from, char *to, int64_t width, int64_t rank, const int64_t *sizes,
                   const int64_t *from_strides, const int64_t *to_strides) {
  *box = (rcrt_box_copy){.from = from, .to = to, .width = (int32_t)width, .elements = 1};
  for (int64_t d = 0; d < rank; ++d)
    if (!add_dimension(box, sizes[d], from_strides[d], to_strides[d]))
      return false;
  while (can_widen(box)) {
    int32_t last = box->rank - 1;
    box->width *= 2;
    box->sizes[last] /= 2;
    for (int32_t d = 0; d < last; ++d) {
      box->from_strides[d] /= 2;
      box->to_strides[d] /= 2;
    }
  }
  for (int32_t d = 0; d < box->rank; ++d)
    box->elements *= box->sizes[d];
  return true;
}

int32_t rcrt_launch_boxes(ringconv_context *context, const rcrt_box_copy *boxes, int64_t count) {
  rcrt_cuda *cuda = context->cuda;
  for (int64_t first = 0; first < count; first += RCRT_BOXES) {
    rcrt_box_copy some[RCRT_BOXES];
    int64_t number = count - first < RCRT_BOXES ? count - first : RCRT_BOXES, most = 1;
    memset(some, 0, sizeof some);
    memcpy(some, boxes + first, (size_t)number * sizeof *some);
    for (int64_t i = 0; i < number; ++i)
      most = some[i].elements > most ? some[i].elements : most;
    int64_t blocks = (most + RCRT_BOX_THREADS - 1) / RCRT_BOX_THREADS;
    void *arguments[] = {some};
    CUresult status = cuLaunchKernel(cuda->boxes, (unsigned)(blocks < 1024 ? blocks : 1024), (unsigned)number, 1,
                                     RCRT_BOX_THREADS, 1, 1, 0, cuda->compute, arguments, NULL);
    if (status)
      return rcrt_cuda_fail(context, status, "cuLaunchKernel", "packing of messages");
  }
  return RCRT_OK;
}
