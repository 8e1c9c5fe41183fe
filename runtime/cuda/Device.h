/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The GPU of a rank: what a session makes once, so that a run allocates
 * nothing. */
#ifndef RINGCONV_CUDA_DEVICE_H
#define RINGCONV_CUDA_DEVICE_H

#include "common/Context.h"
#include "cuda/Driver.h"

/* One send or receive of NCCL. */
typedef struct rcrt_device_message {
  void *data;
  int64_t bytes;
  int32_t peer; /* in the communicator of all */
  bool receives;
} rcrt_device_message;

typedef struct rcrt_device_exchange {
  int64_t num_messages, message_capacity, num_boxes, box_capacity;
  rcrt_device_message *messages;
  struct rcrt_box_copy *boxes; /* to unpack */
  bool timed;                  /* its events of this run are wanted */
} rcrt_device_exchange;

/* A span of time on a stream, between two events. */
typedef struct rcrt_span {
  CUevent begin, end;
  int64_t id;
} rcrt_span;

typedef struct rcrt_cuda {
  CUdevice device;
  CUcontext primary;
  CUmodule module;
  CUfunction *kernels, boxes;
  CUstream own, compute, communication; /* compute: of the current run, `own` or the caller's */
  CUevent *events;
  int64_t num_events;
  CUdeviceptr arena, *constants;
  ncclComm_t *communicators; /* of all, then of each sum; NULL until connected */
  bool connected, borrowed;  /* borrowed: communicator 0 is the caller's */
  int64_t rank;              /* in communicator 0 */
  rcrt_device_exchange *exchanges;
  struct rcrt_cudnn *cudnn; /* NULL where the program does not use it */
  void *pinned; /* small values on their way to the host */
  const ringconv_options *options;
  ringconv_options options_copy;
  /* Times of operations, where they are wanted. */
  bool timed;
  CUevent epoch; /* recorded when the host's clock was `epoch_ns` */
  int64_t epoch_ns, num_spans, span_capacity;
  rcrt_span *spans;
} rcrt_cuda;

enum { RCRT_PINNED_BYTES = 64 };

/* Takes a GPU, loads the kernels, makes streams, events, constants and the
 * arena. Not collective. */
int32_t rcrt_cuda_open(ringconv_context *context, const ringconv_world *world, const ringconv_options *options);
/* Makes the communicators, if that is still to be done. Collective. */
int32_t rcrt_cuda_connect(ringconv_context *context);
/* Ends them. Collective, unless the session has given up: NCCL waits for the
 * other ranks, so that each needs a thread of its own. The GPU is current. */
void rcrt_cuda_disconnect(ringconv_context *context);
/* Makes the GPU current for this thread; and what was current before. */
int32_t rcrt_cuda_enter(ringconv_context *context);
void rcrt_cuda_leave(ringconv_context *context);
/* Issues the work of one run on `stream` (NULL: the session's own). */
int32_t rcrt_cuda_run(ringconv_context *context, void *stream, void *const *in, void *const *out);
/* Waits for the compute stream; looks for faults of peers while it waits. */
int32_t rcrt_cuda_synchronize(ringconv_context *context);
/* Ends all communication: peers see it. */
void rcrt_cuda_abort(ringconv_context *context);
void rcrt_cuda_close(ringconv_context *context);

/* The first operation that needs an exchange; NULL: none, it moves or sums shards. */
const ringconv_op *rcrt_exchange_op(const ringconv_program *program, int64_t exchange);

/* Records the error of a call of the driver (or of NCCL, by its name). */
int32_t rcrt_cuda_fail(ringconv_context *context, int32_t status, const char *call, const char *place);

/* Device memory by the caller's functions or the driver's; 0: an error. */
CUdeviceptr rcrt_cuda_allocate(ringconv_context *context, int64_t bytes, const char *what);
void rcrt_cuda_release(ringconv_context *context, CUdeviceptr data);

/* From here on operations and transfers are timed. */
int32_t rcrt_cuda_time(ringconv_context *context);
/* Turns what was timed since the last call into times and events; the streams
 * have been waited for. */
int32_t rcrt_cuda_collect_times(ringconv_context *context);

#endif
