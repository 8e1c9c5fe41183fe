/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Calls a library compiled for GPUs with what the caller has already: device
 * memory, a stream and an NCCL communicator per GPU. Four ranks as threads. The
 * step is run once, then captured in a CUDA graph of the caller's and launched.
 *
 *   ringconv-compile ../library/blur.mlir --target=cuda --mesh=y=4 --emit=lib -o libblur.so
 *   cc main.c -I. -L. -lblur -lcuda -lnccl -lpthread -Wl,-rpath,. -o blur && ./blur
 */
#include "libblur.h"

#ifdef OWN_DECLARATIONS /* of the driver and NCCL, where cuda.h and nccl.h are not at hand */
#include "gpusim/NCCL.h"
#define cuMemAlloc cuMemAlloc_v2
#define cuMemcpyHtoD cuMemcpyHtoD_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuStreamBeginCapture cuStreamBeginCapture_v2
enum { CU_STREAM_NON_BLOCKING = 1, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1 };
#else
#include <cuda.h>
#include <nccl.h>
#endif

#include <math.h>
#include <pthread.h>
#include <stdio.h>

enum { CHANNELS = 2, ROWS = 6, COLUMNS = 5, RANKS = 4, STEPS = 3 };

static float image[CHANNELS][ROWS][COLUMNS], kernel[CHANNELS][3][3];
static float result[CHANNELS][ROWS][COLUMNS];
static ncclUniqueId meeting;

#define TRY(call)                                                                                                      \
  do {                                                                                                                 \
    int status = (int)(call);                                                                                          \
    if (status) {                                                                                                      \
      fprintf(stderr, "rank %d: %s: status %d\n", rank, #call, status);                                                \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

#define RUN(call)                                                                                                      \
  do {                                                                                                                 \
    if (call) {                                                                                                        \
      fprintf(stderr, "rank %d: %s: %s\n", rank, #call, blur_error(session));                                          \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

static int run_rank(int rank) {
  CUcontext context;
  CUdevice device;
  CUstream stream;
  ncclComm_t comm;
  TRY(cuInit(0));
  TRY(cuDeviceGet(&device, rank));
  TRY(cuDevicePrimaryCtxRetain(&context, device));
  TRY(cuCtxSetCurrent(context));
  TRY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  TRY(ncclCommInitRank(&comm, RANKS, meeting, rank));

  ringconv_world world = {
      .rank = rank, .size = RANKS, .transport = RINGCONV_TRANSPORT_NCCL, .device = rank, .nccl_comm = comm};
  int64_t offsets[4], sizes[4];
  if (blur_shard(&world, 0, offsets, sizes))
    return 1;
  size_t row = COLUMNS * sizeof(float), plane = (size_t)sizes[2] * row;
  CUdeviceptr in, out, weights;
  TRY(cuMemAlloc(&in, CHANNELS * plane));
  TRY(cuMemAlloc(&out, CHANNELS * plane));
  TRY(cuMemAlloc(&weights, sizeof kernel));
  TRY(cuMemcpyHtoD(weights, kernel, sizeof kernel));
  for (int c = 0; c < CHANNELS; ++c)
    TRY(cuMemcpyHtoD(in + (CUdeviceptr)c * plane, image[c][offsets[2]], plane));

  ringconv_session *session = NULL;
  ringconv_options options = {.abi_version = RINGCONV_ABI_VERSION, .timeout = 10};
  const void *parameters[] = {(void *)weights}, *inputs[] = {(void *)in};
  void *outputs[] = {(void *)out};
  RUN(blur_create(&session, &world, &options));
  RUN(blur_set_parameters(session, parameters));
  RUN(blur_run(session, stream, inputs, outputs));

  /* A call that waited for the stream could not be captured. */
  CUgraph graph;
  CUgraphExec executable;
  TRY(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  RUN(blur_run(session, stream, inputs, outputs));
  TRY(cuStreamEndCapture(stream, &graph));
  TRY(cuGraphInstantiateWithFlags(&executable, graph, 0));
  for (int step = 0; step < STEPS; ++step)
    TRY(cuGraphLaunch(executable, stream));
  TRY(cuStreamSynchronize(stream));
  for (int c = 0; c < CHANNELS; ++c)
    TRY(cuMemcpyDtoH(result[c][offsets[2]], out + (CUdeviceptr)c * plane, plane));

  TRY(cuGraphExecDestroy(executable));
  TRY(cuGraphDestroy(graph));
  blur_destroy(session);
  TRY(ncclCommDestroy(comm));
  return 0;
}

static void *thread(void *rank) { return (void *)(intptr_t)run_rank((int)(intptr_t)rank); }

/* The average of the 3x3 elements around one, by the definition. */
static float expected(int c, int y, int x) {
  float sum = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      if (y + dy >= 0 && y + dy < ROWS && x + dx >= 0 && x + dx < COLUMNS)
        sum += image[c][y + dy][x + dx] * kernel[c][1 + dy][1 + dx];
  return sum;
}

int main(void) {
  for (int c = 0; c < CHANNELS; ++c) {
    for (int i = 0; i < ROWS * COLUMNS; ++i)
      image[c][i / COLUMNS][i % COLUMNS] = (float)(i * (c + 1) % 17);
    for (int i = 0; i < 9; ++i)
      kernel[c][i / 3][i % 3] = 1.f / 9;
  }
  if (ncclGetUniqueId(&meeting))
    return 1;
  pthread_t threads[RANKS];
  int failures = 0;
  for (intptr_t r = 0; r < RANKS; ++r)
    pthread_create(&threads[r], NULL, thread, (void *)r);
  for (int r = 0; r < RANKS; ++r) {
    void *failed;
    pthread_join(threads[r], &failed);
    failures += failed != NULL;
  }
  for (int c = 0; c < CHANNELS; ++c)
    for (int y = 0; y < ROWS; ++y)
      for (int x = 0; x < COLUMNS; ++x)
        failures += fabsf(result[c][y][x] - expected(c, y, x)) > 1e-5f;
  if (failures)
    fprintf(stderr, "%d failures\n", failures);
  else
    printf("four GPUs agree with the definition at all %d elements\n", CHANNELS * ROWS * COLUMNS);
  return failures != 0;
}
