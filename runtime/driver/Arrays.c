/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "driver/Driver.h"

#include "common/Copy.h"
#include "common/DType.h"
#include "common/Fill.h"
#include "common/Npy.h"
#include "common/Shard.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

bool rcrt_shards_fit(const rcrt_driver *d, int64_t position, int64_t ranks, char *text) {
  const ringconv_program *program = d->program;
  int64_t memory = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), all = 0;
  for (int32_t i = 0; i < program->num_inputs + program->num_outputs; ++i) {
    const ringconv_operand *operand = rcrt_operand(program, i);
    int64_t offsets[RCRT_MAX_RANK], sizes[RCRT_MAX_RANK], bytes;
    rcrt_box(&program->mesh, operand, position, offsets, sizes);
    if (!rcrt_product(sizes, operand->rank, &bytes) ||
        __builtin_mul_overflow(bytes, rcrt_dtype_size(operand->dtype), &bytes) ||
        __builtin_add_overflow(all, bytes, &all))
      return true; /* where it is allocated, the error names the tensor */
  }
  if (memory <= 0 || all <= memory / ranks)
    return true;
  snprintf(text, RCRT_TEXT, "%lld ranks with %lld bytes of inputs and outputs each, but this machine has %lld bytes",
           (long long)ranks, (long long)all, (long long)memory);
  return false;
}

/* Whatever a file holds, generated code sees 0 or 1. */
static void make_booleans(uint8_t *data, int64_t elements) {
  for (int64_t i = 0; i < elements; ++i)
    data[i] = data[i] != 0;
}

static bool comes_from_params(const rcrt_driver *d, int32_t i) {
  return d->flags.params && !d->flags.inputs[i] && (d->program->inputs[i].flags & RINGCONV_PARAMETER);
}

const void *rcrt_input_in_place(const rcrt_driver *d, int32_t i, const int64_t *sizes) {
  const ringconv_operand *operand = &d->program->inputs[i];
  char text[RCRT_TEXT];
  if (!comes_from_params(d, i) || operand->dtype == RINGCONV_I1 ||
      memcmp(sizes, operand->sizes, (size_t)operand->rank * sizeof *sizes))
    return NULL;
  /* What is wrong with the file is said where it is read. */
  const void *data = rcrt_safetensors_find(&d->params, operand, "", text);
  return (uintptr_t)data % (uintptr_t)rcrt_dtype_size(operand->dtype) ? NULL : data;
}

static void copy_box(const ringconv_operand *operand, const void *whole, const int64_t *offsets, const int64_t *sizes,
                     void *data) {
  int64_t to[RCRT_MAX_RANK], from[RCRT_MAX_RANK], begin = 0, size = rcrt_dtype_size(operand->dtype);
  rcrt_dense_strides(operand->rank, sizes, to);
  rcrt_dense_strides(operand->rank, operand->sizes, from);
  for (int32_t d = 0; d < operand->rank; ++d)
    begin += offsets[d] * from[d];
  /* The source is only read. */
  rcrt_view source = {(char *)(uintptr_t)whole + begin * size, from};
  rcrt_copy((rcrt_view){data, to}, source, size, operand->rank, sizes);
}

/* The box of a parameter, an .npy file, or the generator. */
static bool read_box(const rcrt_driver *d, int32_t i, const int64_t *offsets, const int64_t *sizes, void *data,
                     char *text) {
  const ringconv_operand *operand = &d->program->inputs[i];
  const char *path = d->flags.inputs[i];
  char what[128];
  rcrt_operand_text(d->program, i, what, sizeof what);
  if (comes_from_params(d, i)) {
    const void *whole = rcrt_safetensors_find(&d->params, operand, what, text);
    if (whole)
      copy_box(operand, whole, offsets, sizes, data);
    return whole != NULL;
  }
  rcrt_npy file;
  if (!path)
    rcrt_fill(operand, i, d->flags.seed, offsets, sizes, data);
  else if (!rcrt_npy_open(&file, path, operand, what, text))
    return false;
  if (!path)
    return true;
  copy_box(operand, rcrt_npy_data(&file), offsets, sizes, data);
  rcrt_npy_close(&file);
  return true;
}

bool rcrt_load_input(const rcrt_driver *d, int32_t i, const int64_t *offsets, const int64_t *sizes, void *data,
                     char *text) {
  const ringconv_operand *operand = &d->program->inputs[i];
  if (!read_box(d, i, offsets, sizes, data, text))
    return false;
  int64_t elements;
  if (operand->dtype == RINGCONV_I1 && rcrt_product(sizes, operand->rank, &elements))
    make_booleans(data, elements);
  return true;
}
