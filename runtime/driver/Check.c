/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * --check: the outputs against the uncut program. */
#include "driver/Driver.h"

#include "common/Copy.h"
#include "common/DType.h"
#include "common/Npy.h"
#include "common/Shard.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static double relative_bound(int32_t dtype, const rcrt_flags *flags) {
  if (!rcrt_dtype_is_float(dtype))
    return 0; /* exact, whatever --rtol says */
  if (flags->has_rtol)
    return flags->rtol;
  switch (dtype) {
  case RINGCONV_F64:
    return 1e-12;
  case RINGCONV_F32:
    return 1e-5;
  case RINGCONV_F16:
    return 2e-3;
  default:
    return 2e-2;
  }
}

/* ---- The uncut program ---- */

static void free_all(void **data, int32_t count) {
  for (int32_t i = 0; data && i < count; ++i)
    free(data[i]);
  free(data);
}

void rcrt_free_reference(rcrt_driver *d) {
  if (d->reference)
    free_all(d->reference, d->program->num_outputs);
  d->reference = NULL;
}

static bool evaluate(rcrt_driver *d, void **in, char *text) {
  const ringconv_program *program = d->program;
  int64_t zeros[RCRT_MAX_RANK] = {0};
  for (int32_t i = 0; i < program->num_inputs; ++i) {
    const int64_t *sizes = program->inputs[i].sizes;
    if (!rcrt_allocate_box(&program->inputs[i], sizes, &in[i], text) ||
        !rcrt_load_input(d, i, zeros, sizes, in[i], text))
      return false;
  }
  for (int32_t o = 0; o < program->num_outputs; ++o)
    if (!rcrt_allocate_box(&program->outputs[o], program->outputs[o].sizes, &d->reference[o], text))
      return false;
  int32_t code = program->reference(in, d->reference);
  if (code == RCRT_ERR_MEMORY)
    snprintf(text, RCRT_TEXT, "out of memory in the uncut program");
  else if (code)
    snprintf(text, RCRT_TEXT, "the uncut program failed with code %d", code);
  return code == 0;
}

bool rcrt_evaluate_reference(rcrt_driver *d, char *text) {
  const ringconv_program *program = d->program;
  void **in = calloc((size_t)program->num_inputs + 1, sizeof *in);
  d->reference = calloc((size_t)program->num_outputs + 1, sizeof *d->reference);
  snprintf(text, RCRT_TEXT, "out of memory");
  bool ok = in && d->reference && evaluate(d, in, text);
  free_all(in, program->num_inputs);
  return ok;
}

/* ---- Comparison ---- */

static double largest(int32_t dtype, const void *data, int64_t elements) {
  double max = 0;
  for (int64_t i = 0; i < elements; ++i) {
    double value = fabs(rcrt_load(dtype, data, i));
    if (value > max && isfinite(value))
      max = value;
  }
  return max;
}

/* Whether NaN and infinities agree; then *error is the difference. */
static bool difference(int32_t dtype, const void *a, int64_t i, const void *b, int64_t j, double *error) {
  *error = 0;
  if (dtype == RINGCONV_I64) { /* double would round */
    int64_t x = ((const int64_t *)a)[i], y = ((const int64_t *)b)[j];
    *error = x == y ? 0 : fmax(1, fabs((double)x - (double)y));
    return true;
  }
  double x = rcrt_load(dtype, a, i), y = rcrt_load(dtype, b, j);
  if (isnan(x) || isnan(y))
    return isnan(x) && isnan(y);
  if (isinf(x) || isinf(y))
    return x == y;
  *error = fabs(x - y);
  return true;
}

static void compare_element(rcrt_compared *c, int32_t dtype, const void *mine, int64_t i, const void *reference,
                            int64_t j) {
  double error;
  bool same_kind = difference(dtype, mine, i, reference, j, &error);
  if (error > c->max_error)
    c->max_error = error;
  if (same_kind && error <= c->bound)
    return;
  if (!same_kind)
    c->max_error = INFINITY;
  if (c->bad++ == 0)
    c->first_bad = j;
}

static void compare_output(const ringconv_mesh *mesh, const ringconv_operand *operand, int64_t position,
                           const char *mine, const char *reference, rcrt_compared *c) {
  int64_t offsets[RCRT_MAX_RANK], sizes[RCRT_MAX_RANK], strides[RCRT_MAX_RANK], index[RCRT_MAX_RANK] = {0};
  int64_t rank = operand->rank, width = rcrt_dtype_size(operand->dtype), global = 0;
  rcrt_box(mesh, operand, position, offsets, sizes);
  rcrt_dense_strides(rank, operand->sizes, strides);
  for (int64_t k = 0; k < rank; ++k)
    global += offsets[k] * strides[k];
  rcrt_product(sizes, rank, &c->elements);
  for (int64_t i = 0; i < c->elements; ++i) {
    if (memcmp(mine + i * width, reference + global * width, (size_t)width)) {
      c->identical = 0;
      compare_element(c, operand->dtype, mine, i, reference, global);
    }
    for (int64_t k = rank - 1; k >= 0; --k) {
      global += strides[k];
      if (++index[k] < sizes[k])
        break;
      global -= sizes[k] * strides[k];
      index[k] = 0;
    }
  }
}

void rcrt_compare_rank(rcrt_rank *r, rcrt_compared *compared) {
  const rcrt_driver *d = r->driver;
  for (int32_t o = 0; o < d->program->num_outputs; ++o) {
    const ringconv_operand *operand = &d->program->outputs[o];
    int64_t elements = 0;
    rcrt_product(operand->sizes, operand->rank, &elements);
    double scale = fmax(1, largest(operand->dtype, d->reference[o], elements));
    compared[o] =
        (rcrt_compared){.bound = relative_bound(operand->dtype, &d->flags) * scale, .first_bad = -1, .identical = 1};
    compare_output(&d->program->mesh, operand, r->position, r->out[o], d->reference[o], &compared[o]);
  }
}

/* ---- Verdict ---- */

static void index_text(const ringconv_operand *operand, int64_t linear, char *text, size_t size) {
  int64_t index[RCRT_MAX_RANK];
  for (int64_t k = operand->rank - 1; k >= 0; --k) {
    index[k] = linear % operand->sizes[k];
    linear /= operand->sizes[k];
  }
  rcrt_shape_text(operand->rank, index, text, size);
}

static bool print_output(const rcrt_driver *d, int32_t o) {
  const ringconv_operand *operand = &d->program->outputs[o];
  rcrt_compared all = {.first_bad = -1, .identical = 1};
  int64_t bad_rank = -1;
  for (int64_t p = 0; p < d->size; ++p) {
    const rcrt_compared *c = &rcrt_compared_of(d, p)[o];
    all.max_error = fmax(all.max_error, c->max_error);
    all.bound = c->bound;
    all.elements += c->elements;
    all.identical &= c->identical;
    if (c->bad && bad_rank < 0) {
      bad_rank = p;
      all.first_bad = c->first_bad;
    }
    all.bad += c->bad;
  }
  char what[128], where[160];
  rcrt_operand_text(d->program, d->program->num_inputs + o, what, sizeof what);
  if (all.bad) {
    index_text(operand, all.first_bad, where, sizeof where);
    rcrt_print_error(
        d, "%s: max error %.3g, bound %.3g, beyond it %" PRId64 " of %" PRId64 " elements, first %s on rank %" PRId64,
        what, all.max_error, all.bound, all.bad, all.elements, where, bad_rank);
    return false;
  }
  if (all.identical)
    printf("check: %s: bit-identical\n", what);
  else
    printf("check: %s: max error %.3g, bound %.3g\n", what, all.max_error, all.bound);
  return true;
}

bool rcrt_print_check(const rcrt_driver *d) {
  bool ok = true;
  for (int32_t o = 0; o < d->program->num_outputs; ++o)
    ok &= print_output(d, o);
  fflush(stdout);
  return ok;
}
