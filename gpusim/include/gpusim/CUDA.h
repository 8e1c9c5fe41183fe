/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Our own declarations of the CUDA driver interface that gpusim offers. They
 * are binary compatible with cuda.h; test/abi-cuda.cpp compares the two where
 * that file exists. Programs may include either one, not both.
 */
#ifndef GPUSIM_CUDA_H
#define GPUSIM_CUDA_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUlib_st *CUlibrary;
typedef struct CUkern_st *CUkernel;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct {
  char bytes[16];
} CUuuid;
typedef void (*CUhostFn)(void *userData);
typedef void (*CUstreamCallback)(CUstream, CUresult, void *);
typedef size_t (*CUoccupancyB2DSize)(int blockSize);

typedef struct {
  unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  void *attrs;
  unsigned numAttrs;
} CUlaunchConfig;

typedef struct {
  size_t srcXInBytes, srcY;
  int srcMemoryType;
  const void *srcHost;
  CUdeviceptr srcDevice;
  void *srcArray;
  size_t srcPitch;
  size_t dstXInBytes, dstY;
  int dstMemoryType;
  void *dstHost;
  CUdeviceptr dstDevice;
  void *dstArray;
  size_t dstPitch;
  size_t WidthInBytes, Height;
} CUDA_MEMCPY2D;

typedef struct {
  int allocType, handleTypes;
  struct {
    int type, id;
  } location;
  void *win32SecurityAttributes;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
} CUmemPoolProps;

typedef struct {
  unsigned long long opaque[16]; /* to be aligned to 64 bytes */
} CUtensorMap;

#define GPUSIM_RESULTS(X)                                                                                              \
  X(CUDA_SUCCESS, 0, "no error")                                                                                       \
  X(CUDA_ERROR_INVALID_VALUE, 1, "invalid argument")                                                                   \
  X(CUDA_ERROR_OUT_OF_MEMORY, 2, "out of memory")                                                                      \
  X(CUDA_ERROR_NOT_INITIALIZED, 3, "initialization error")                                                             \
  X(CUDA_ERROR_NO_DEVICE, 100, "no CUDA-capable device is detected")                                                   \
  X(CUDA_ERROR_INVALID_DEVICE, 101, "invalid device ordinal")                                                          \
  X(CUDA_ERROR_INVALID_IMAGE, 200, "device kernel image is invalid")                                                   \
  X(CUDA_ERROR_INVALID_CONTEXT, 201, "invalid device context")                                                         \
  X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209, "no kernel image is available for execution on the device")                     \
  X(CUDA_ERROR_INVALID_PTX, 218, "a PTX JIT compilation failed")                                                       \
  X(CUDA_ERROR_FILE_NOT_FOUND, 301, "file not found")                                                                  \
  X(CUDA_ERROR_INVALID_HANDLE, 400, "invalid resource handle")                                                         \
  X(CUDA_ERROR_NOT_FOUND, 500, "named symbol not found")                                                               \
  X(CUDA_ERROR_NOT_READY, 600, "device not ready")                                                                     \
  X(CUDA_ERROR_ILLEGAL_ADDRESS, 700, "an illegal memory access was encountered")                                       \
  X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701, "too many resources requested for launch")                                \
  X(CUDA_ERROR_LAUNCH_TIMEOUT, 702, "the launch timed out and was terminated")                                         \
  X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704, "peer access is already enabled")                                     \
  X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, 705, "peer access has not been enabled")                                       \
  X(CUDA_ERROR_ASSERT, 710, "device-side assert triggered")                                                            \
  X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712, "part or all of the requested memory range is already mapped")     \
  X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713, "pointer does not correspond to a registered memory region")           \
  X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715, "an illegal instruction was encountered")                                     \
  X(CUDA_ERROR_MISALIGNED_ADDRESS, 716, "misaligned address")                                                          \
  X(CUDA_ERROR_LAUNCH_FAILED, 719, "unspecified launch failure")                                                       \
  X(CUDA_ERROR_NOT_SUPPORTED, 801, "operation not supported")                                                          \
  X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900, "operation not permitted when stream is capturing")                    \
  X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904, "capturing stream has unjoined work")                                     \
  X(CUDA_ERROR_UNKNOWN, 999, "unknown error")

#ifdef GPUSIM_ABI_TEST
#define GPUSIM_DEFINE(name, value, text) gpusim_##name = value,
#else
#define GPUSIM_DEFINE(name, value, text) name = value,
#endif
enum { GPUSIM_RESULTS(GPUSIM_DEFINE) gpusim_results_end };
#undef GPUSIM_DEFINE

#define GPUSIM_ENTRY(name, params) CUresult name params;
#ifndef GPUSIM_ABI_TEST
#include "gpusim/CUDAEntryPoints.def"
#endif
#undef GPUSIM_ENTRY

/* What gpusim adds, for other simulated libraries such as its NCCL.
 *
 * gpusimSubmit puts work into a stream: `run` is called once the stream gets
 * there. The buffers it will read and write are named, so that unordered
 * accesses from other streams are found. */
typedef struct {
  CUdeviceptr ptr;
  size_t bytes;
  int writes;
} gpusimBuffer;
CUresult gpusimSubmit(CUstream stream, const char *what, void (*run)(void *), void (*drop)(void *), void *data,
                      const gpusimBuffer *buffers, size_t numBuffers);
/* Host address of device bytes; null if they are not one live allocation. */
void *gpusimHostAddress(CUdeviceptr ptr, size_t bytes);
/* Which of the bytes were ever written, one per bit, and back. */
void gpusimGetWritten(CUdeviceptr ptr, size_t bytes, unsigned char *bits);
void gpusimSetWritten(CUdeviceptr ptr, size_t bytes, const unsigned char *bits);
/* Prints a report and counts it; makes ringconv-gpusim exit with an error. */
void gpusimReport(const char *text);
/* Number of reports so far in this process. */
int gpusimReportCount(void);
/* Adds to the byte and message counts of the final table. */
void gpusimCountMessage(const char *kind, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
