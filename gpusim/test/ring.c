/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A ring of ranks with two kernels and two streams each: one stream computes,
 * the other exchanges with both neighbours. Ordinary CUDA driver and NCCL
 * code; it knows nothing of gpusim.
 *
 *   ring PTX threads N [DROP]       N ranks as threads of this process
 *   ring PTX processes N [DROP]     N ranks as processes
 *   ring PTX rank R N               one rank; NCCL_COMM_ID names the meeting
 *
 * DROP leaves out one of the waits between the streams:
 *   1  the exchange does not wait for the kernel that produces
 *   2  the kernel that consumes does not wait for the exchange
 */
#ifdef RING_OWN_DECLARATIONS
#include "gpusim/NCCL.h"
#define cuMemAlloc cuMemAlloc_v2
#define cuMemcpyDtoH cuMemcpyDtoH_v2
#define cuMemsetD32 cuMemsetD32_v2
#define cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2
#define cuMemFree cuMemFree_v2
#else
#include <cuda.h>
#include <nccl.h>
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { count = 3000, steps = 6 };
static const char *ptx;
static int ranks, drop;
static ncclUniqueId meeting;

#define CU(call)                                                               \
  do {                                                                         \
    int code = call;                                                           \
    if (code) {                                                                \
      fprintf(stderr, "rank %d: %s: error %d\n", rank, #call, code);           \
      return 1;                                                                \
    }                                                                          \
  } while (0)

static int run(int rank) {
  int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks, devices;
  CUcontext context;
  CUmodule module;
  CUfunction produce, consume;
  CUdeviceptr mine, fromLeft, fromRight, sum;
  CUstream compute, exchange;
  CUevent produced, received;
  ncclComm_t comm;
  CU(cuInit(0));
  CU(cuDeviceGetCount(&devices));
  CU(cuDevicePrimaryCtxRetain(&context, rank % devices));
  CU(cuCtxSetCurrent(context));
  CU(ncclCommInitRank(&comm, ranks, meeting, rank));
  CU(cuModuleLoad(&module, ptx));
  CU(cuModuleGetFunction(&produce, module, "produce"));
  CU(cuModuleGetFunction(&consume, module, "consume"));
  CU(cuMemAlloc(&mine, count * 4));
  CU(cuMemAlloc(&fromLeft, count * 4));
  CU(cuMemAlloc(&fromRight, count * 4));
  CU(cuMemAlloc(&sum, count * 4));
  CU(cuStreamCreate(&compute, CU_STREAM_NON_BLOCKING));
  CU(cuStreamCreate(&exchange, CU_STREAM_NON_BLOCKING));
  CU(cuEventCreate(&produced, CU_EVENT_DISABLE_TIMING));
  CU(cuEventCreate(&received, CU_EVENT_DISABLE_TIMING));
  CU(cuMemsetD32(sum, 0, count));
  for (int step = 0; step < steps; ++step) {
    int n = count;
    void *produceArgs[] = {&mine, &rank, &step, &n};
    void *consumeArgs[] = {&fromLeft, &fromRight, &sum, &n};
    CU(cuLaunchKernel(produce, (count + 127) / 128, 1, 1, 128, 1, 1, 0, compute,
                      produceArgs, 0));
    CU(cuEventRecord(produced, compute));
    if (drop != 1)
      CU(cuStreamWaitEvent(exchange, produced, 0));
    CU(ncclGroupStart());
    if (rank % 2) { /* the order inside a group must not matter */
      CU(ncclRecv((void *)fromRight, count, ncclFloat32, right, comm,
                  exchange));
      CU(ncclSend((void *)mine, count, ncclFloat32, left, comm, exchange));
      CU(ncclSend((void *)mine, count, ncclFloat32, right, comm, exchange));
      CU(ncclRecv((void *)fromLeft, count, ncclFloat32, left, comm, exchange));
    } else {
      CU(ncclSend((void *)mine, count, ncclFloat32, right, comm, exchange));
      CU(ncclRecv((void *)fromLeft, count, ncclFloat32, left, comm, exchange));
      CU(ncclRecv((void *)fromRight, count, ncclFloat32, right, comm,
                  exchange));
      CU(ncclSend((void *)mine, count, ncclFloat32, left, comm, exchange));
    }
    CU(ncclGroupEnd());
    CU(cuEventRecord(received, exchange));
    if (drop != 2)
      CU(cuStreamWaitEvent(compute, received, 0));
    CU(cuLaunchKernel(consume, (count + 127) / 128, 1, 1, 128, 1, 1, 0, compute,
                      consumeArgs, 0));
  }
  CU(cuStreamSynchronize(compute));
  CU(cuStreamSynchronize(exchange));
  float *result = malloc(count * 4);
  CU(cuMemcpyDtoH(result, sum, count * 4));
  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    float want = 0;
    for (int step = 0; step < steps; ++step)
      want += left * 1000 + step * 10 + i % 7 +
              2 * (right * 1000 + step * 10 + i % 7);
    wrong += result[i] != want;
  }
  free(result);
  CU(ncclCommDestroy(comm));
  CU(cuMemFree(mine));
  CU(cuMemFree(fromLeft));
  CU(cuMemFree(fromRight));
  CU(cuMemFree(sum));
  if (wrong && !drop)
    fprintf(stderr, "rank %d: %d wrong values\n", rank, wrong);
  return wrong && !drop;
}

static void *thread(void *rank) { return (void *)(long)run((int)(long)rank); }

static int threads(void) {
  pthread_t t[64];
  long bad = 0;
  ncclGetUniqueId(&meeting);
  for (long r = 0; r < ranks; ++r)
    pthread_create(&t[r], 0, thread, (void *)r);
  for (int r = 0; r < ranks; ++r) {
    void *result;
    pthread_join(t[r], &result);
    bad += (long)result;
  }
  return bad != 0;
}

/* Processes start as new programs: a driver does not survive fork. */
static int processes(char **argv) {
  int bad = 0, status;
  char id[64], r[8], n[8], d[8];
  snprintf(id, sizeof id, "127.0.0.1:%d", 20000 + getpid() % 20000);
  setenv("NCCL_COMM_ID", id, 1);
  snprintf(n, sizeof n, "%d", ranks);
  snprintf(d, sizeof d, "%d", drop);
  for (int rank = 0; rank < ranks; ++rank)
    if (fork() == 0) {
      snprintf(r, sizeof r, "%d", rank);
      execl("/proc/self/exe", argv[0], ptx, "rank", r, n, d, (char *)0);
      _exit(127);
    }
  for (int rank = 0; rank < ranks; ++rank) {
    wait(&status);
    bad |= !WIFEXITED(status) || WEXITSTATUS(status);
  }
  return bad;
}

int main(int argc, char **argv) {
  if (argc < 4)
    return 2;
  ptx = argv[1];
  if (strcmp(argv[2], "rank") == 0) {
    ranks = atoi(argv[4]);
    drop = argc > 5 ? atoi(argv[5]) : 0;
    ncclGetUniqueId(&meeting);
    return run(atoi(argv[3]));
  }
  ranks = atoi(argv[3]);
  drop = argc > 4 ? atoi(argv[4]) : 0;
  return strcmp(argv[2], "threads") ? processes(argv) : threads();
}
