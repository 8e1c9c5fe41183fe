/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A test double of libcudnn.so.9, for programs on gpusim: the functions that the
 * runtime calls, by loops on the host. The stream is waited for before and after
 * each, so that its order is kept. It is strict about what the real one is strict
 * about: extents that do not fit each other, workspace, descriptors. With
 * CUDNN_DOUBLE_LOG=FILE it writes a line for each plan and convolution; with
 * CUDNN_DOUBLE_WORKSPACE=N its fastest algorithm wants N bytes, the other none. */
#include "gpusim/CUDA.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, BAD_PARAM = 2000, NOT_SUPPORTED = 3000, MAX_RANK = 5 };
enum { DATA_FLOAT = 0, DATA_DOUBLE = 1, DATA_HALF = 2, DATA_BFLOAT16 = 9 };

typedef struct context {
  CUstream stream;
} context;
typedef struct tensor {
  int type, rank, sizes[MAX_RANK], strides[MAX_RANK];
} tensor;
typedef struct convolution {
  int rank, padding[3], stride[3], dilation[3], mode, type, groups, math;
} convolution;
typedef struct performance {
  int algo, status;
  float time;
  size_t memory;
  int determinism, mathType, reserved[3];
} performance;

static void tell(const char *what, int number) {
  const char *name = getenv("CUDNN_DOUBLE_LOG");
  FILE *file = name ? fopen(name, "a") : NULL;
  if (!file)
    return;
  fprintf(file, "%s %d\n", what, number);
  fclose(file);
}

const char *cudnnGetErrorString(int status) {
  return status == BAD_PARAM ? "CUDNN_STATUS_BAD_PARAM" : "CUDNN_STATUS_NOT_SUPPORTED";
}

int cudnnCreate(context **handle) { return *handle = calloc(1, sizeof **handle), SUCCESS; }
int cudnnDestroy(context *handle) { return free(handle), SUCCESS; }
int cudnnSetStream(context *handle, CUstream stream) { return handle->stream = stream, SUCCESS; }

/* ---- Descriptors ---- */

int cudnnCreateTensorDescriptor(tensor **t) { return *t = calloc(1, sizeof **t), SUCCESS; }
int cudnnDestroyTensorDescriptor(tensor *t) { return free(t), SUCCESS; }
int cudnnCreateFilterDescriptor(tensor **t) { return *t = calloc(1, sizeof **t), SUCCESS; }
int cudnnDestroyFilterDescriptor(tensor *t) { return free(t), SUCCESS; }
int cudnnCreateConvolutionDescriptor(convolution **c) { return *c = calloc(1, sizeof **c), SUCCESS; }
int cudnnDestroyConvolutionDescriptor(convolution *c) { return free(c), SUCCESS; }

int cudnnSetTensorNdDescriptor(tensor *t, int type, int rank, const int *sizes, const int *strides) {
  if (rank < 4 || rank > MAX_RANK)
    return NOT_SUPPORTED;
  t->type = type;
  t->rank = rank;
  for (int d = 0; d < rank; ++d) {
    if (sizes[d] <= 0 || strides[d] <= 0)
      return BAD_PARAM;
    t->sizes[d] = sizes[d];
    t->strides[d] = strides[d];
  }
  return SUCCESS;
}

/* Dense: format 0 has input features second, 1 has them last. */
int cudnnSetFilterNdDescriptor(tensor *t, int type, int format, int rank, const int *sizes) {
  int strides[MAX_RANK], step = 1;
  if (rank < 4 || rank > MAX_RANK)
    return NOT_SUPPORTED;
  if (format == 1) {
    strides[1] = step;
    step *= sizes[1];
  }
  for (int d = rank - 1; d >= 2; --d) {
    strides[d] = step;
    step *= sizes[d];
  }
  if (format == 0) {
    strides[1] = step;
    step *= sizes[1];
  }
  strides[0] = step;
  return cudnnSetTensorNdDescriptor(t, type, rank, sizes, strides);
}

int cudnnSetConvolutionNdDescriptor(convolution *c, int rank, const int *padding, const int *stride,
                                    const int *dilation, int mode, int type) {
  if (rank < 2 || rank > 3)
    return NOT_SUPPORTED;
  *c = (convolution){.rank = rank, .mode = mode, .type = type, .groups = 1};
  for (int d = 0; d < rank; ++d) {
    if (padding[d] < 0 || stride[d] <= 0 || dilation[d] <= 0)
      return BAD_PARAM;
    c->padding[d] = padding[d];
    c->stride[d] = stride[d];
    c->dilation[d] = dilation[d];
  }
  return SUCCESS;
}
int cudnnSetConvolutionGroupCount(convolution *c, int groups) {
  return groups > 0 ? c->groups = groups, SUCCESS : BAD_PARAM;
}
int cudnnSetConvolutionMathType(convolution *c, int math) { return c->math = math, SUCCESS; }

/* ---- Elements ---- */

static int bytes_of(int type) { return type == DATA_DOUBLE ? 8 : type == DATA_FLOAT ? 4 : 2; }

static double half_to_double(unsigned bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double value = exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24);
  return bits >> 15 ? -value : value;
}

/* Round to nearest, ties to even; the test's numbers are finite. */
static unsigned double_to_half(double value) {
  unsigned sign = value < 0 ? 1u << 15 : 0;
  int exponent;
  double fraction = frexp(fabs(value), &exponent);
  if (value == 0 || exponent < -13)
    return sign | (unsigned)nearbyint(ldexp(fabs(value), 24));
  double mantissa = nearbyint(ldexp(fraction, 11)); /* 1024 to 2048 */
  return sign | ((unsigned)(exponent + 14) << 10) + (unsigned)(mantissa - 1024);
}

static double get(const char *at, int type) {
  float f;
  double d;
  unsigned short h;
  if (type == DATA_DOUBLE)
    return memcpy(&d, at, 8), d;
  if (type == DATA_FLOAT)
    return memcpy(&f, at, 4), f;
  memcpy(&h, at, 2);
  if (type == DATA_HALF)
    return half_to_double(h);
  unsigned wide = (unsigned)h << 16;
  return memcpy(&f, &wide, 4), f;
}

static void put(char *at, int type, double value) {
  float f = (float)value;
  unsigned wide;
  unsigned short h;
  if (type == DATA_DOUBLE) {
    memcpy(at, &value, 8);
    return;
  }
  memcpy(&wide, &f, 4);
  if (type == DATA_FLOAT) {
    memcpy(at, &wide, 4);
    return;
  }
  h = (unsigned short)(type == DATA_HALF ? double_to_half(value) : (wide + 0x7fff + (wide >> 16 & 1)) >> 16);
  memcpy(at, &h, 2);
}

/* ---- Memory ---- */

static size_t span_of(const tensor *t) {
  size_t last = 0;
  for (int d = 0; d < t->rank; ++d)
    last += (size_t)(t->sizes[d] - 1) * (size_t)t->strides[d];
  return (last + 1) * (size_t)bytes_of(t->type);
}

/* Row by row: what lies between rows may be memory that nobody wrote. */
static void transfer(const tensor *t, char *host, CUdeviceptr device, int to_device) {
  int at[MAX_RANK] = {0};
  for (;;) {
    size_t offset = 0, bytes = (size_t)bytes_of(t->type);
    for (int d = 0; d < t->rank; ++d)
      offset += (size_t)at[d] * (size_t)t->strides[d] * bytes;
    to_device ? cuMemcpyHtoD_v2(device + offset, host + offset, bytes)
              : cuMemcpyDtoH_v2(host + offset, device + offset, bytes);
    int d = t->rank - 1;
    for (; d >= 0 && ++at[d] == t->sizes[d]; --d)
      at[d] = 0;
    if (d < 0)
      return;
  }
}

static char *fetch(const tensor *t, const void *device) {
  char *host = calloc(1, span_of(t));
  transfer(t, host, (CUdeviceptr)device, 0);
  return host;
}

/* ---- Convolutions ---- */

static int fits(const tensor *x, const tensor *w, const convolution *c, const tensor *y) {
  if (x->rank != c->rank + 2 || w->rank != x->rank || y->rank != x->rank || x->type != w->type || x->type != y->type)
    return 0;
  if (x->sizes[0] != y->sizes[0] || w->sizes[0] != y->sizes[1] || w->sizes[1] * c->groups != x->sizes[1] ||
      w->sizes[0] % c->groups)
    return 0;
  for (int d = 0; d < c->rank; ++d) {
    int reach = (w->sizes[d + 2] - 1) * c->dilation[d] + 1, whole = x->sizes[d + 2] + 2 * c->padding[d] - reach;
    if (whole < 0 || whole / c->stride[d] + 1 != y->sizes[d + 2])
      return 0;
  }
  return 1;
}

static size_t wanted_workspace(void) {
  const char *text = getenv("CUDNN_DOUBLE_WORKSPACE");
  return text ? strtoull(text, NULL, 10) : 0;
}

int cudnnGetConvolutionForwardAlgorithm_v7(context *handle, tensor *x, tensor *w, convolution *c, tensor *y, int wanted,
                                           int *count, performance *found) {
  (void)handle;
  if (!fits(x, w, c, y) || wanted < 2)
    return BAD_PARAM;
  tell("plan of spatial rank", c->rank);
  found[0] = (performance){.algo = 1, .memory = wanted_workspace(), .determinism = 1, .mathType = c->math};
  found[1] = (performance){.algo = 0, .determinism = 0, .mathType = c->math};
  *count = 2;
  return SUCCESS;
}

static double sum_at(const tensor *x, const char *xs, const tensor *w, const char *ws, const convolution *c,
                     const int *at) {
  int taps = 1, per_group = w->sizes[0] / c->groups, first = at[1] / per_group * w->sizes[1];
  double sum = 0;
  for (int d = 0; d < c->rank; ++d)
    taps *= w->sizes[d + 2];
  for (int i = 0; i < w->sizes[1]; ++i)
    for (int tap = 0; tap < taps; ++tap) {
      size_t from = (size_t)at[0] * x->strides[0] + (size_t)(first + i) * x->strides[1];
      size_t weight = (size_t)at[1] * w->strides[0] + (size_t)i * w->strides[1];
      int rest = tap, inside = 1;
      for (int d = c->rank - 1; d >= 0; --d) {
        int t = rest % w->sizes[d + 2], flipped = c->mode == 0 ? w->sizes[d + 2] - 1 - t : t;
        rest /= w->sizes[d + 2];
        int place = at[d + 2] * c->stride[d] + t * c->dilation[d] - c->padding[d];
        inside &= place >= 0 && place < x->sizes[d + 2];
        from += (size_t)(inside ? place : 0) * x->strides[d + 2];
        weight += (size_t)flipped * w->strides[d + 2];
      }
      if (inside)
        sum += get(xs + from * bytes_of(x->type), x->type) * get(ws + weight * bytes_of(w->type), w->type);
    }
  return sum;
}

static int next(const tensor *t, int *at) {
  for (int d = t->rank - 1; d >= 0; --d) {
    if (++at[d] < t->sizes[d])
      return 1;
    at[d] = 0;
  }
  return 0;
}

static size_t offset_of(const tensor *t, const int *at) {
  size_t offset = 0;
  for (int d = 0; d < t->rank; ++d)
    offset += (size_t)at[d] * (size_t)t->strides[d];
  return offset * (size_t)bytes_of(t->type);
}

int cudnnConvolutionForward(context *handle, const void *alpha, tensor *x, const void *input, tensor *w,
                            const void *filter, convolution *c, int algorithm, void *workspace, size_t bytes,
                            const void *beta, tensor *y, void *output) {
  (void)alpha;
  (void)beta;
  if (!fits(x, w, c, y) || (algorithm == 1 && bytes < wanted_workspace()) || (bytes && !workspace))
    return BAD_PARAM;
  cuStreamSynchronize(handle->stream);
  char *xs = fetch(x, input), *ws = fetch(w, filter), *ys = calloc(1, span_of(y));
  int at[MAX_RANK] = {0};
  do
    put(ys + offset_of(y, at), y->type, sum_at(x, xs, w, ws, c, at));
  while (next(y, at));
  transfer(y, ys, (CUdeviceptr)output, 1);
  free(xs);
  free(ws);
  free(ys);
  tell("convolution of groups", c->groups);
  return SUCCESS;
}

int cudnnAddTensor(context *handle, const void *alpha, tensor *b, const void *bias, const void *beta, tensor *y,
                   void *output) {
  (void)alpha;
  (void)beta;
  if (b->rank != y->rank || b->sizes[1] != y->sizes[1] || b->type != y->type)
    return BAD_PARAM;
  cuStreamSynchronize(handle->stream);
  char *bs = fetch(b, bias), *ys = fetch(y, output);
  int at[MAX_RANK] = {0};
  do {
    char *place = ys + offset_of(y, at);
    put(place, y->type, get(place, y->type) + get(bs + (size_t)at[1] * b->strides[1] * bytes_of(b->type), b->type));
  } while (next(y, at));
  transfer(y, ys, (CUdeviceptr)output, 1);
  free(bs);
  free(ys);
  return SUCCESS;
}
