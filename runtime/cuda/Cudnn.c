/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cuda/Cudnn.h"

#include "cuda/Device.h"
#include "ringconv/Runtime/CudaCalls.h"

#include <inttypes.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef CUstream cudaStream_t;
typedef int cudnnStatus_t, cudnnDataType_t, cudnnTensorFormat_t, cudnnConvolutionMode_t, cudnnMathType_t,
    cudnnConvolutionFwdAlgo_t;
typedef struct cudnnContext *cudnnHandle_t;
typedef struct cudnnTensorStruct *cudnnTensorDescriptor_t;
typedef struct cudnnFilterStruct *cudnnFilterDescriptor_t;
typedef struct cudnnConvolutionStruct *cudnnConvolutionDescriptor_t;
typedef struct cudnnConvolutionFwdAlgoPerfStruct {
  cudnnConvolutionFwdAlgo_t algo;
  cudnnStatus_t status;
  float time;
  size_t memory;
  int determinism;
  cudnnMathType_t mathType;
  int reserved[3];
} cudnnConvolutionFwdAlgoPerf_t;

/* As cudnn.h numbers them. */
enum {
  DATA_FLOAT = 0,
  DATA_DOUBLE = 1,
  DATA_HALF = 2,
  DATA_BFLOAT16 = 9,
  TENSOR_NCHW = 0,
  TENSOR_NHWC = 1,
  CONVOLUTION = 0, /* taps reversed */
  CROSS_CORRELATION = 1,
  TENSOR_OP_MATH = 1,
  FMA_MATH = 3, /* f32 stays f32 */
  DETERMINISTIC = 1,
  MAX_ALGORITHMS = 8
};

static struct {
#define CUDNN(name, parameters) cudnnStatus_t(*name) parameters;
#include "cuda/CudnnEntryPoints.def"
#undef CUDNN
  const char *(*cudnnGetErrorString)(cudnnStatus_t);
} dnn;

static const rcrt_entry entries[] = {
#define CUDNN(name, parameters) {#name, (void **)&dnn.name},
#include "cuda/CudnnEntryPoints.def"
#undef CUDNN
    {"cudnnGetErrorString", (void **)&dnn.cudnnGetErrorString},
};

/* What is made once per convolution. */
typedef struct plan {
  struct plan *next;
  ringconv_convolution shape;
  int64_t bytes; /* of workspace that it may use */
  cudnnTensorDescriptor_t input, output, bias;
  cudnnFilterDescriptor_t filter;
  cudnnConvolutionDescriptor_t convolution;
  cudnnConvolutionFwdAlgo_t algorithm;
  size_t workspace;
} plan;

struct rcrt_cudnn {
  cudnnHandle_t handle;
  plan *plans;
};

static int32_t failed(ringconv_context *context, cudnnStatus_t status, const char *call, const char *place) {
  return rcrt_fail(context, RCRT_ERR_TRANSPORT, "%s%s%s: %s (%d)", call, *place ? " at " : "", place,
                   dnn.cudnnGetErrorString(status), status);
}

/* ---- Sessions ---- */

static bool load(char *text) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static bool open;
  const char *given = getenv("RINGCONV_CUDNN");
  pthread_mutex_lock(&lock);
  if (!open)
    open = rcrt_bind(given && *given ? given : "libcudnn.so.9", entries, sizeof entries / sizeof *entries,
                     "cuDNN for --local-conv=cudnn", text);
  bool ok = open;
  pthread_mutex_unlock(&lock);
  return ok;
}

int32_t rcrt_cudnn_open(ringconv_context *context) {
  char text[RCRT_TEXT];
  if (!load(text))
    return rcrt_fail(context, RCRT_ERR_TRANSPORT, "%s", text);
  context->cuda->cudnn = calloc(1, sizeof *context->cuda->cudnn);
  if (!context->cuda->cudnn)
    return rcrt_fail(context, RCRT_ERR_MEMORY, "out of memory");
  cudnnStatus_t status = dnn.cudnnCreate(&context->cuda->cudnn->handle);
  return status ? failed(context, status, "cudnnCreate", "") : RCRT_OK;
}

static void free_plan(plan *p) {
  if (p->input)
    dnn.cudnnDestroyTensorDescriptor(p->input);
  if (p->output)
    dnn.cudnnDestroyTensorDescriptor(p->output);
  if (p->bias)
    dnn.cudnnDestroyTensorDescriptor(p->bias);
  if (p->filter)
    dnn.cudnnDestroyFilterDescriptor(p->filter);
  if (p->convolution)
    dnn.cudnnDestroyConvolutionDescriptor(p->convolution);
  free(p);
}

void rcrt_cudnn_close(ringconv_context *context) {
  struct rcrt_cudnn *cudnn = context->cuda->cudnn;
  if (!cudnn)
    return;
  while (cudnn->plans) {
    plan *p = cudnn->plans;
    cudnn->plans = p->next;
    free_plan(p);
  }
  if (cudnn->handle)
    dnn.cudnnDestroy(cudnn->handle);
  free(cudnn);
  context->cuda->cudnn = NULL;
}

/* ---- Plans ---- */

static cudnnDataType_t type_of(int64_t dtype) {
  return dtype == RINGCONV_F64   ? DATA_DOUBLE
         : dtype == RINGCONV_F32 ? DATA_FLOAT
         : dtype == RINGCONV_F16 ? DATA_HALF
                                 : DATA_BFLOAT16;
}

/* cuDNN has int, and two spatial dimensions at least: a missing one comes first,
 * so that the innermost keeps its place. */
static bool to_ints(const int64_t *numbers, int64_t count, int leading, int filler, int rank, int *ints) {
  int n = 0;
  bool fits = true;
  for (; n < leading; ++n)
    ints[n] = (int)numbers[n];
  for (int missing = rank - (int)count; missing > 0; --missing)
    ints[n++] = filler;
  for (int64_t i = leading; i < count; ++i)
    ints[n++] = (int)numbers[i];
  for (int64_t i = 0; i < count; ++i)
    fits &= numbers[i] >= 0 && numbers[i] <= INT_MAX;
  return fits;
}

/* The stride of a dimension of one element does not matter. */
static bool set_tensor(cudnnTensorDescriptor_t tensor, const ringconv_convolution *c, const int64_t *extents,
                       const int64_t *strides, int rank, cudnnStatus_t *status) {
  int sizes[RINGCONV_CONVOLUTION_RANK], steps[RINGCONV_CONVOLUTION_RANK];
  if (!to_ints(extents, 2 + c->spatial, 2, 1, rank, sizes) || !to_ints(strides, 2 + c->spatial, 2, 1, rank, steps))
    return false;
  if (rank > 2 + c->spatial)
    steps[2] = steps[3] * sizes[3];
  *status = dnn.cudnnSetTensorNdDescriptor(tensor, type_of(c->dtype), rank, sizes, steps);
  return true;
}

static bool set_bias(cudnnTensorDescriptor_t tensor, const ringconv_convolution *c, int rank, cudnnStatus_t *status) {
  int sizes[RINGCONV_CONVOLUTION_RANK] = {1, (int)c->output[1], 1, 1, 1};
  int steps[RINGCONV_CONVOLUTION_RANK] = {(int)c->output[1], 1, 1, 1, 1};
  *status = dnn.cudnnSetTensorNdDescriptor(tensor, type_of(c->dtype), rank, sizes, steps);
  return true;
}

static bool set_filter(cudnnFilterDescriptor_t filter, const ringconv_convolution *c, int rank, cudnnStatus_t *status) {
  int sizes[RINGCONV_CONVOLUTION_RANK];
  if (!to_ints(c->filter, 2 + c->spatial, 2, 1, rank, sizes))
    return false;
  *status = dnn.cudnnSetFilterNdDescriptor(filter, type_of(c->dtype), c->features_last ? TENSOR_NHWC : TENSOR_NCHW,
                                           rank, sizes);
  return true;
}

static bool set_convolution(cudnnConvolutionDescriptor_t convolution, const ringconv_convolution *c, int rank,
                            cudnnStatus_t *status) {
  int padding[RINGCONV_CONVOLUTION_SPATIAL], stride[RINGCONV_CONVOLUTION_SPATIAL],
      dilation[RINGCONV_CONVOLUTION_SPATIAL];
  if (!to_ints(c->padding, c->spatial, 0, 0, rank - 2, padding) ||
      !to_ints(c->stride, c->spatial, 0, 1, rank - 2, stride) ||
      !to_ints(c->dilation, c->spatial, 0, 1, rank - 2, dilation))
    return false;
  bool half = c->dtype == RINGCONV_F16 || c->dtype == RINGCONV_BF16;
  *status = dnn.cudnnSetConvolutionNdDescriptor(convolution, rank - 2, padding, stride, dilation,
                                                c->reverse ? CONVOLUTION : CROSS_CORRELATION,
                                                c->dtype == RINGCONV_F64 ? DATA_DOUBLE : DATA_FLOAT);
  if (!*status)
    *status = dnn.cudnnSetConvolutionGroupCount(convolution, (int)c->groups);
  if (!*status)
    *status = dnn.cudnnSetConvolutionMathType(convolution, half ? TENSOR_OP_MATH : FMA_MATH);
  return true;
}

/* The first that fits, of those that cuDNN expects to be fastest. */
static int32_t choose_algorithm(ringconv_context *context, plan *p, const char *place) {
  cudnnConvolutionFwdAlgoPerf_t found[MAX_ALGORITHMS];
  int count = 0;
  cudnnStatus_t status = dnn.cudnnGetConvolutionForwardAlgorithm_v7(
      context->cuda->cudnn->handle, p->input, p->filter, p->convolution, p->output, MAX_ALGORITHMS, &count, found);
  if (status)
    return failed(context, status, "cudnnGetConvolutionForwardAlgorithm", place);
  size_t least = SIZE_MAX;
  for (int i = 0; i < count; ++i) {
    if (found[i].status || found[i].determinism != DETERMINISTIC)
      continue;
    if (found[i].memory <= (size_t)p->bytes) {
      p->algorithm = found[i].algo;
      p->workspace = found[i].memory;
      return RCRT_OK;
    }
    least = found[i].memory < least ? found[i].memory : least;
  }
  if (least == SIZE_MAX)
    return rcrt_fail(context, RCRT_ERR_PROGRAM, "cuDNN has no algorithm for the convolution at %s", place);
  return rcrt_fail(context, RCRT_ERR_PROGRAM,
                   "cuDNN needs %zu bytes of workspace for the convolution at %s, --cudnn-workspace=%" PRId64
                   " allows fewer",
                   least, place, p->bytes);
}

static int32_t fill_plan(ringconv_context *context, plan *p, const char *place) {
  const ringconv_convolution *c = &p->shape;
  int rank = c->spatial < 2 ? 4 : 2 + (int)c->spatial;
  cudnnStatus_t status = dnn.cudnnCreateTensorDescriptor(&p->input);
  status = status ? status : dnn.cudnnCreateTensorDescriptor(&p->output);
  status = status ? status : dnn.cudnnCreateTensorDescriptor(&p->bias);
  status = status ? status : dnn.cudnnCreateFilterDescriptor(&p->filter);
  status = status ? status : dnn.cudnnCreateConvolutionDescriptor(&p->convolution);
  bool fits = status || set_tensor(p->input, c, c->input, c->input_strides, rank, &status);
  fits = fits && (status || set_tensor(p->output, c, c->output, c->output_strides, rank, &status));
  fits = fits && (status || set_bias(p->bias, c, rank, &status));
  fits = fits && (status || set_filter(p->filter, c, rank, &status));
  fits = fits && (status || set_convolution(p->convolution, c, rank, &status));
  if (!fits)
    return rcrt_fail(context, RCRT_ERR_PROGRAM, "an extent of the convolution at %s is too large for cuDNN", place);
  if (status)
    return failed(context, status, "cudnnSet...Descriptor", place);
  return choose_algorithm(context, p, place);
}

static int32_t find_plan(ringconv_context *context, const ringconv_convolution *shape, int64_t bytes, const char *place,
                         plan **found) {
  struct rcrt_cudnn *cudnn = context->cuda->cudnn;
  for (plan *p = cudnn->plans; p; p = p->next)
    if (p->bytes == bytes && !memcmp(&p->shape, shape, sizeof *shape))
      return *found = p, RCRT_OK;
  plan *p = calloc(1, sizeof *p);
  if (!p)
    return rcrt_fail(context, RCRT_ERR_MEMORY, "out of memory");
  p->shape = *shape;
  p->bytes = bytes;
  int32_t code = fill_plan(context, p, place);
  if (code)
    return free_plan(p), code;
  p->next = cudnn->plans;
  *found = cudnn->plans = p;
  return RCRT_OK;
}

/* ---- Runs ---- */

static bool is_empty(const ringconv_convolution *c) {
  for (int d = 0; d < RINGCONV_CONVOLUTION_RANK; ++d)
    if (c->output[d] == 0)
      return true;
  return false;
}

RCRT_API int32_t ringconv_cuda_convolve(ringconv_context *context, const ringconv_convolution *convolution,
                                        const void *input, const void *filter, const void *bias, void *output,
                                        void *workspace, int64_t bytes, const char *place) {
  plan *p = NULL;
  if (is_empty(convolution))
    return RCRT_OK;
  int32_t code = find_plan(context, convolution, bytes, place, &p);
  if (code)
    return rcrt_give_up(context, code);
  bool wide = convolution->dtype == RINGCONV_F64;
  const double ones[] = {1, 0};
  const float one[] = {1, 0};
  const void *alpha = wide ? (const void *)&ones[0] : &one[0], *beta = wide ? (const void *)&ones[1] : &one[1];
  cudnnHandle_t handle = context->cuda->cudnn->handle;
  const char *call = "cudnnSetStream";
  cudnnStatus_t status = dnn.cudnnSetStream(handle, context->cuda->compute);
  if (!status) {
    call = "cudnnConvolutionForward";
    status = dnn.cudnnConvolutionForward(handle, alpha, p->input, input, p->filter, filter, p->convolution,
                                         p->algorithm, workspace, p->workspace, beta, p->output, output);
  }
  if (!status && bias) {
    call = "cudnnAddTensor";
    status = dnn.cudnnAddTensor(handle, alpha, p->bias, bias, alpha, p->output, output);
  }
  return status ? rcrt_give_up(context, failed(context, status, call, place)) : RCRT_OK;
}
