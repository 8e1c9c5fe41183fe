/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "driver/Driver.h"

#include "common/DType.h"
#include "common/Fill.h"
#include "common/Npy.h"
#include "common/Shard.h"

#include <stdlib.h>

void rcrt_operand_text(const ringconv_program *program, int32_t operand, char *text, size_t size) {
  bool input = operand < program->num_inputs;
  const char *name = rcrt_operand(program, operand)->name;
  int number = input ? operand : operand - program->num_inputs;
  const char *kind = input ? "input" : "output";
  if (name && *name)
    snprintf(text, size, "%s %d (%s)", kind, number, name);
  else
    snprintf(text, size, "%s %d", kind, number);
}

bool rcrt_allocate_box(const ringconv_operand *operand, const int64_t *sizes, void **data, char *text) {
  int64_t bytes;
  char shape[200];
  bool counted = rcrt_product(sizes, operand->rank, &bytes) &&
                 !__builtin_mul_overflow(bytes, rcrt_dtype_size(operand->dtype), &bytes) && bytes <= INT64_MAX - 64;
  if (!counted) {
    rcrt_shape_text(operand->rank, sizes, shape, sizeof shape);
    snprintf(text, RCRT_TEXT, "a tensor of shape %s has more bytes than can be counted", shape);
    return false;
  }
  /* Whole cache lines, so that vector loads never cross more than they must. */
  *data = aligned_alloc(64, ((size_t)bytes + 64) & ~(size_t)63);
  if (*data)
    return true;
  rcrt_shape_text(operand->rank, sizes, shape, sizeof shape);
  snprintf(text, RCRT_TEXT, "no memory for %lld bytes of a tensor of shape %s", (long long)bytes, shape);
  return false;
}

/* Whatever a file holds, generated code sees 0 or 1. */
static void make_booleans(uint8_t *data, int64_t elements) {
  for (int64_t i = 0; i < elements; ++i)
    data[i] = data[i] != 0;
}

bool rcrt_load_input(const rcrt_driver *d, int32_t i, const int64_t *offsets, const int64_t *sizes, void *data,
                     char *text) {
  const ringconv_operand *operand = &d->program->inputs[i];
  const char *path = d->flags.inputs[i];
  if (!path) {
    rcrt_fill(operand, i, d->flags.seed, offsets, sizes, data);
    return true;
  }
  char what[128];
  rcrt_operand_text(d->program, i, what, sizeof what);
  rcrt_npy file;
  if (!rcrt_npy_open(&file, path, operand, what, text))
    return false;
  rcrt_npy_read(&file, operand, offsets, sizes, data);
  rcrt_npy_close(&file);
  int64_t elements;
  if (operand->dtype == RINGCONV_I1 && rcrt_product(sizes, operand->rank, &elements))
    make_booleans(data, elements);
  return true;
}
