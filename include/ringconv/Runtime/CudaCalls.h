/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What generated host code of programs for GPUs calls, besides the functions of
 * the CUDA driver and NCCL by their own names, and ringconv_rt_coord, _extent,
 * _group, _send and _recv (Calls.h), whose data are then device pointers. Calls
 * that give an int32_t give 0 or an error code; after an error generated code
 * returns at once.
 */
#ifndef RINGCONV_RUNTIME_CUDACALLS_H
#define RINGCONV_RUNTIME_CUDACALLS_H

#include "ringconv/Runtime/Program.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the session made: stream 0 computes (the caller's), 1 communicates;
 * events 2 * exchange (data are ready to travel) and 2 * exchange + 1 (they have
 * arrived); communicator 0 is everybody's, 1 + i that of the program's sum i. */
void *ringconv_cuda_stream(ringconv_context *context, int64_t number);
void *ringconv_cuda_event(ringconv_context *context, int64_t number);
void *ringconv_cuda_communicator(ringconv_context *context, int64_t number);
void *ringconv_cuda_kernel(ringconv_context *context, int64_t number);
void *ringconv_cuda_constant(ringconv_context *context, int64_t number);
void *ringconv_cuda_arena(ringconv_context *context);

/* The code for a status of `call` (its name says whose) at `place`. */
int32_t ringconv_cuda_check(ringconv_context *context, int32_t status, const char *call, const char *place);

/* Messages of a group: packs what is not dense into `staging`, one kernel on the
 * compute stream; after that they can be asked for. Pieces of the rank for
 * itself go the same way and are no messages. */
int32_t ringconv_cuda_pack(ringconv_context *context, int64_t exchange, void *staging, int64_t bytes);
int64_t ringconv_cuda_messages(ringconv_context *context, int64_t exchange);
void *ringconv_cuda_message_data(ringconv_context *context, int64_t exchange, int64_t number);
int64_t ringconv_cuda_message_bytes(ringconv_context *context, int64_t exchange, int64_t number);
/* The rank in communicator 0. */
int64_t ringconv_cuda_message_peer(ringconv_context *context, int64_t exchange, int64_t number);
bool ringconv_cuda_message_receives(ringconv_context *context, int64_t exchange, int64_t number);
/* Puts what has arrived into its places, and ends the group. */
int32_t ringconv_cuda_unpack(ringconv_context *context, int64_t exchange);

void ringconv_cuda_count_reduction(ringconv_context *context, int64_t exchange);

/* A convolution for cuDNN. Extents and strides (in elements): batch, features,
 * then spatial dimensions; those that are not there are 1. */
enum { RINGCONV_CONVOLUTION_SPATIAL = 3, RINGCONV_CONVOLUTION_RANK = 2 + RINGCONV_CONVOLUTION_SPATIAL };
typedef struct ringconv_convolution {
  int64_t dtype, spatial, groups; /* RINGCONV_F16, ...; spatial dimensions */
  int64_t reverse;                /* 1: taps are taken from the last to the first */
  int64_t features_last;          /* 1: the filter is packed with input features last, 0: second */
  int64_t input[RINGCONV_CONVOLUTION_RANK], input_strides[RINGCONV_CONVOLUTION_RANK];
  int64_t filter[RINGCONV_CONVOLUTION_RANK]; /* output features, input features of a group, taps */
  int64_t output[RINGCONV_CONVOLUTION_RANK], output_strides[RINGCONV_CONVOLUTION_RANK];
  int64_t stride[RINGCONV_CONVOLUTION_SPATIAL], dilation[RINGCONV_CONVOLUTION_SPATIAL];
  int64_t padding[RINGCONV_CONVOLUTION_SPATIAL]; /* at both ends */
} ringconv_convolution;

/* output = convolution of input and filter, plus `bias` (one number per output
 * feature; NULL: none), on the compute stream, by cuDNN with up to `bytes` bytes
 * of workspace. Plans are made once per `convolution` and session. */
int32_t ringconv_cuda_convolve(ringconv_context *context, const ringconv_convolution *convolution, const void *input,
                               const void *filter, const void *bias, void *output, void *workspace, int64_t bytes,
                               const char *place);

/* Waits for the compute stream and copies `bytes` from the device to the host. */
int32_t ringconv_cuda_read(ringconv_context *context, void *to, const void *from, int64_t bytes);

/* Begin (end 0) or end of work on operation `op`, for reports and traces. */
int32_t ringconv_cuda_mark(ringconv_context *context, int64_t op, int32_t end);

/* Addresses of the driver's and NCCL's functions as this library offers them to
 * generated code, for a linker in memory. */
typedef struct ringconv_cuda_symbol {
  const char *name;
  void *address;
} ringconv_cuda_symbol;
const ringconv_cuda_symbol *ringconv_cuda_symbols(int64_t *count);

#ifdef __cplusplus
}
#endif
#endif
