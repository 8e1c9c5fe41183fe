/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A convolution, or one of its gradients, by oneDNN 3, on plain layouts or on its own. Loaded by pair.py.
 *
 * The filter is packed when the state is made, and so are the other operands where layouts are oneDNN's own. A circular
 * border, which oneDNN does not have, is copied around the input in each call. */
#include <oneapi/dnnl/dnnl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FORWARD, INPUT_GRADIENT, FILTER_GRADIENT };

/* As in pair.py. Sizes are those of the forward convolution, one per spatial dimension. */
struct layer {
  int64_t spatial, batch, in, out, groups;
  dnnl_dims_t size, outputs, taps, stride, pad, dilation;
  int64_t pass, features_last, circular, own_layouts;
};

struct state {
  struct layer layer;
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_primitive_t convolution, back;
  dnnl_exec_arg_t arguments[4], back_arguments[2]; /* the last: scratch memory */
  const float *input;
  float *padded;
  const char *chosen;
};

#define TRY(call)                                                                                                      \
  do {                                                                                                                 \
    dnnl_status_t status_ = (call);                                                                                    \
    if (status_ != dnnl_success) {                                                                                     \
      fprintf(stderr, "onednn: %s: status %d\n", #call, status_);                                                      \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

/* A dense array of `lead` leading dimensions and the spatial ones, of which the `last`-th leading one may vary fastest. */
static int describe(dnnl_memory_desc_t *result, int64_t lead, const int64_t *leading, int64_t spatial,
                    const int64_t *sizes, int64_t features_last) {
  dnnl_dims_t dims, strides;
  int64_t n = lead + spatial, step = features_last ? leading[1] : 1;
  for (int64_t d = n - 1; d >= 0; --d) {
    dims[d] = d < lead ? leading[d] : sizes[d - lead];
    if (features_last && d == 1) {
      strides[d] = 1;
      continue;
    }
    strides[d] = step;
    step *= dims[d];
  }
  TRY(dnnl_memory_desc_create_with_strides(result, (int)n, dims, dnnl_f32, strides));
  return 0;
}

static int any_layout(dnnl_memory_desc_t *result, const_dnnl_memory_desc_t like) {
  dnnl_dims_t *dims;
  int n;
  TRY(dnnl_memory_desc_query(like, dnnl_query_ndims_s32, &n));
  TRY(dnnl_memory_desc_query(like, dnnl_query_dims, &dims));
  TRY(dnnl_memory_desc_create_with_tag(result, n, *dims, dnnl_f32, dnnl_format_tag_any));
  return 0;
}

static int reorder(struct state *s, dnnl_memory_t from, dnnl_memory_t to, dnnl_primitive_t *kept) {
  const_dnnl_memory_desc_t a, b;
  dnnl_primitive_desc_t pd;
  dnnl_primitive_t primitive;
  TRY(dnnl_memory_get_memory_desc(from, &a));
  TRY(dnnl_memory_get_memory_desc(to, &b));
  TRY(dnnl_reorder_primitive_desc_create(&pd, a, s->engine, b, s->engine, NULL));
  TRY(dnnl_primitive_create(&primitive, pd));
  if (kept) {
    *kept = primitive;
    return 0;
  }
  dnnl_exec_arg_t arguments[] = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  TRY(dnnl_primitive_execute(primitive, s->stream, 2, arguments));
  TRY(dnnl_stream_wait(s->stream));
  return 0;
}

/* An operand in the layout that the convolution wants: the caller's memory where that is it, else a new one, which is
 * filled (inputs) or will be copied back by onednn_finish (the result). */
static int bind(struct state *s, int index, int argument, const_dnnl_memory_desc_t plain, const_dnnl_memory_desc_t want,
                void *data, int is_result) {
  dnnl_memory_t given, memory;
  TRY(dnnl_memory_create(&given, plain, s->engine, data));
  memory = given;
  if (!dnnl_memory_desc_equal(plain, want)) {
    TRY(dnnl_memory_create(&memory, want, s->engine, DNNL_MEMORY_ALLOCATE));
    if (is_result) {
      if (reorder(s, memory, given, &s->back))
        return 1;
      s->back_arguments[0] = (dnnl_exec_arg_t){DNNL_ARG_FROM, memory};
      s->back_arguments[1] = (dnnl_exec_arg_t){DNNL_ARG_TO, given};
    } else if (reorder(s, given, memory, NULL)) {
      return 1;
    }
  }
  s->arguments[index] = (dnnl_exec_arg_t){argument, memory};
  return 0;
}

static int create_convolution(struct state *s, dnnl_memory_desc_t x, dnnl_memory_desc_t w, dnnl_memory_desc_t y,
                              dnnl_primitive_desc_t *pd) {
  struct layer *l = &s->layer;
  dnnl_dims_t dilation, pad;
  for (int64_t d = 0; d < l->spatial; ++d) {
    dilation[d] = l->dilation[d] - 1;
    pad[d] = l->circular ? 0 : l->pad[d];
  }
  dnnl_prop_kind_t kind = l->pass == FORWARD ? dnnl_forward_inference : dnnl_forward_training;
  dnnl_alg_kind_t algorithm = dnnl_convolution_auto;
  dnnl_primitive_desc_t forward;
  dnnl_primitive_attr_t attributes;
  /* Scratch memory of oneDNN's own belongs to the thread that makes the primitive, and calls come from another. */
  TRY(dnnl_primitive_attr_create(&attributes));
  TRY(dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user));
  TRY(dnnl_convolution_forward_primitive_desc_create(&forward, s->engine, kind, algorithm, x, w, NULL, y, l->stride,
                                                     dilation, pad, pad, attributes));
  *pd = forward;
  if (l->pass == INPUT_GRADIENT)
    TRY(dnnl_convolution_backward_data_primitive_desc_create(pd, s->engine, dnnl_convolution_direct, x, w, y, l->stride,
                                                             dilation, pad, pad, forward, attributes));
  if (l->pass == FILTER_GRADIENT)
    TRY(dnnl_convolution_backward_weights_primitive_desc_create(pd, s->engine, dnnl_convolution_direct, x, w, NULL, y,
                                                                l->stride, dilation, pad, pad, forward, attributes));
  TRY(dnnl_primitive_create(&s->convolution, *pd));
  TRY(dnnl_primitive_desc_query(*pd, dnnl_query_impl_info_str, 0, &s->chosen));
  return 0;
}

static const_dnnl_memory_desc_t wanted(const_dnnl_primitive_desc_t pd, int argument) {
  return dnnl_primitive_desc_query_md(pd, dnnl_query_exec_arg_md, argument);
}

static int create(struct state *s, float *x, float *w, float *y) {
  struct layer *l = &s->layer;
  dnnl_dims_t sizes;
  int64_t input[] = {l->batch, l->in}, output[] = {l->batch, l->out};
  int64_t filter[] = {l->groups, l->out / l->groups, l->in / l->groups};
  int64_t elements = l->batch * l->in;
  for (int64_t d = 0; d < l->spatial; ++d) {
    sizes[d] = l->size[d] + (l->circular ? 2 * l->pad[d] : 0);
    elements *= sizes[d];
  }
  TRY(dnnl_engine_create(&s->engine, dnnl_cpu, 0));
  TRY(dnnl_stream_create(&s->stream, s->engine, dnnl_stream_default_flags));
  if (l->circular) {
    s->input = x;
    x = s->padded = calloc((size_t)elements, sizeof *x);
    if (!x)
      return 1;
  }
  dnnl_memory_desc_t plain[3], any[3];
  int64_t first = l->groups == 1;
  if (describe(&plain[0], 2, input, l->spatial, sizes, l->features_last) ||
      describe(&plain[1], 3 - first, filter + first, l->spatial, l->taps, 0) ||
      describe(&plain[2], 2, output, l->spatial, l->outputs, l->features_last))
    return 1;
  for (int i = 0; i < 3; ++i)
    if (any_layout(&any[i], plain[i]))
      return 1;
  int own = (int)l->own_layouts, own_filter = own || l->pass != FILTER_GRADIENT;
  dnnl_primitive_desc_t pd;
  if (create_convolution(s, own ? any[0] : plain[0], own_filter ? any[1] : plain[1], own ? any[2] : plain[2], &pd))
    return 1;
  static const int arguments[3][3] = {{DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
                                      {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
                                      {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST}};
  static const int results[3] = {2, 0, 1};
  dnnl_memory_t scratch;
  TRY(dnnl_memory_create(&scratch, wanted(pd, DNNL_ARG_SCRATCHPAD), s->engine, DNNL_MEMORY_ALLOCATE));
  s->arguments[3] = (dnnl_exec_arg_t){DNNL_ARG_SCRATCHPAD, scratch};
  float *data[] = {x, w, y};
  for (int i = 0; i < 3; ++i)
    if (bind(s, i, arguments[l->pass][i], plain[i], wanted(pd, arguments[l->pass][i]), data[i], i == results[l->pass]))
      return 1;
  return 0;
}

/* Forward: x and w are read and y is written, and so on. The memory stays the caller's. */
void *onednn_create(const struct layer *layer, float *x, float *w, float *y) {
  struct state *s = calloc(1, sizeof *s);
  if (!s)
    return NULL;
  s->layer = *layer;
  return create(s, x, w, y) ? NULL : s;
}

/* The input with `pad` columns and rows of its other end on each side (two dimensions, features first). */
static void wrap(struct state *s) {
  struct layer *l = &s->layer;
  int64_t h = l->size[0], w = l->size[1], p = l->pad[0], q = l->pad[1], row = w + 2 * q;
  float *to = s->padded;
  for (int64_t c = 0; c < l->batch * l->in; ++c)
    for (int64_t i = -p; i < h + p; ++i, to += row) {
      const float *from = s->input + (c * h + (i + h) % h) * w;
      memcpy(to, from + w - q, (size_t)q * sizeof *to);
      memcpy(to + q, from, (size_t)w * sizeof *to);
      memcpy(to + q + w, from, (size_t)q * sizeof *to);
    }
}

int32_t onednn_call(void *state) {
  struct state *s = state;
  if (s->padded)
    wrap(s);
  TRY(dnnl_primitive_execute(s->convolution, s->stream, 4, s->arguments));
  TRY(dnnl_stream_wait(s->stream));
  return 0;
}

/* Copies the result to the caller's memory, where it is in a layout of oneDNN. */
int32_t onednn_finish(void *state) {
  struct state *s = state;
  if (s->back)
    TRY(dnnl_primitive_execute(s->back, s->stream, 2, s->back_arguments));
  TRY(dnnl_stream_wait(s->stream));
  return 0;
}

const char *onednn_chosen(void *state) { return ((struct state *)state)->chosen; }

void onednn_version(int32_t *numbers) {
  const dnnl_version_t *v = dnnl_version();
  numbers[0] = v->major, numbers[1] = v->minor, numbers[2] = v->patch;
}
