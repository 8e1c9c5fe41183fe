/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cuda/Device.h"

#include "common/Shard.h"
#include "cuda/Boxes.h"
#include "cuda/Cudnn.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

int32_t rcrt_cuda_fail(ringconv_context *context, int32_t status, const char *call, const char *place) {
  const char *name = "unknown error", *text = "";
  if (!strncmp(call, "nccl", 4)) {
    name = rcrt_nccl_text(status);
  } else if (cuGetErrorName(status, &name) || cuGetErrorString(status, &text)) {
    name = "unknown error";
    text = "";
  }
  return rcrt_fail(context, RCRT_ERR_TRANSPORT, "%s%s%s: %s%s%s (%d)", call, *place ? " at " : "", place, name,
                   *text ? ", " : "", text, status);
}

/* ---- Which GPU ---- */

/* The number of this process among those of its machine, as launchers give it. */
static int64_t local_rank(void) {
  static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "PMIX_LOCAL_RANK",
                                      "SLURM_LOCALID", "LOCAL_RANK"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    const char *value = getenv(names[i]);
    if (value && *value)
      return strtoll(value, NULL, 10);
  }
  return 0;
}

static int32_t choose_device(ringconv_context *context, const ringconv_world *world, int *ordinal) {
  int count = 0;
  CUresult status = cuDeviceGetCount(&count);
  if (status)
    return rcrt_cuda_fail(context, status, "cuDeviceGetCount", "");
  bool threads = world->transport == RINGCONV_TRANSPORT_THREADS;
  int64_t wanted = world->device;
  if (wanted == RINGCONV_DEVICE_AUTO)
    wanted = threads ? world->rank : local_rank();
  if (!threads && world->device == RINGCONV_DEVICE_AUTO && count == 1)
    wanted = 0; /* the launcher has chosen */
  if (wanted < 0 || wanted >= count) {
    if (threads && world->device == RINGCONV_DEVICE_AUTO)
      return rcrt_fail(context, RCRT_ERR_ARGUMENT, "the mesh needs %" PRId64 " GPUs, visible are %d", world->size,
                       count);
    return rcrt_fail(context, RCRT_ERR_ARGUMENT, "GPU %" PRId64 " is wanted, visible are %d", wanted, count);
  }
  *ordinal = (int)wanted;
  return RCRT_OK;
}

/* ---- Kernels ---- */

/* Code for the machine first, then text that the driver compiles: of the newest
 * architecture that is not newer than the GPU. */
static int32_t load_image(ringconv_context *context, int32_t arch) {
  const ringconv_cuda_program *program = context->program->cuda;
  const ringconv_image *text = NULL;
  int32_t oldest = INT32_MAX;
  for (int32_t i = 0; i < program->num_images; ++i) {
    const ringconv_image *image = &program->images[i];
    oldest = image->arch < oldest ? image->arch : oldest;
    if (image->arch > arch)
      continue;
    if (image->is_text) {
      if (!text || image->arch > text->arch)
        text = image;
      continue;
    }
    if (image->arch / 10 != arch / 10) /* machine code serves its own generation */
      continue;
    CUresult status = cuModuleLoadData(&context->cuda->module, image->data);
    if (!status)
      return RCRT_OK;
    if (status != RCRT_CUDA_NO_BINARY_FOR_GPU)
      return rcrt_cuda_fail(context, status, "cuModuleLoadData", "machine code");
  }
  if (!text)
    return rcrt_fail(context, RCRT_ERR_MISMATCH, "the GPU is an sm_%d, the program was compiled for sm_%d and newer",
                     arch, oldest);
  CUresult status = cuModuleLoadData(&context->cuda->module, text->data);
  return status ? rcrt_cuda_fail(context, status, "cuModuleLoadData", "PTX") : RCRT_OK;
}

static int32_t load_kernels(ringconv_context *context) {
  rcrt_cuda *cuda = context->cuda;
  const ringconv_cuda_program *program = context->program->cuda;
  int major = 0, minor = 0;
  CUresult status = cuDeviceGetAttribute(&major, RCRT_CUDA_CAPABILITY_MAJOR, cuda->device);
  if (!status)
    status = cuDeviceGetAttribute(&minor, RCRT_CUDA_CAPABILITY_MINOR, cuda->device);
  if (status)
    return rcrt_cuda_fail(context, status, "cuDeviceGetAttribute", "");
  int32_t code = program->num_images ? load_image(context, 10 * major + minor) : RCRT_OK;
  cuda->kernels = calloc((size_t)program->num_kernels + 1, sizeof *cuda->kernels);
  if (!code && !cuda->kernels)
    code = rcrt_fail(context, RCRT_ERR_MEMORY, "out of memory");
  for (int32_t i = 0; i < program->num_kernels && !code; ++i) {
    const ringconv_kernel *kernel = &program->kernels[i];
    status = cuModuleGetFunction(&cuda->kernels[i], cuda->module, kernel->name);
    if (!status && kernel->shared_bytes > 48 * 1024)
      status = cuFuncSetAttribute(cuda->kernels[i], RCRT_CUDA_MAX_DYNAMIC_SHARED, kernel->shared_bytes);
    if (status)
      code = rcrt_cuda_fail(context, status, "cuModuleGetFunction", kernel->name);
  }
  if (!code && program->has_boxes &&
      (status = cuModuleGetFunction(&cuda->boxes, cuda->module, "ringconv_boxes")))
    code = rcrt_cuda_fail(context, status, "cuModuleGetFunction", "ringconv_boxes");
  return code;
}

/* ---- Memory ---- */

CUdeviceptr rcrt_cuda_allocate(ringconv_context *context, int64_t bytes, const char *what) {
  const ringconv_options *options = context->cuda->options;
  CUdeviceptr data = 0;
  if (options && options->allocate) {
    data = (CUdeviceptr)(uintptr_t)options->allocate(options->allocator, bytes);
    if (!data)
      rcrt_fail(context, RCRT_ERR_MEMORY, "the caller gives no %" PRId64 " bytes for %s", bytes, what);
    return data;
  }
  size_t available = 0, total = 0;
  CUresult status = cuMemGetInfo_v2(&available, &total);
  if (!status && (size_t)bytes > available) {
    rcrt_fail(context, RCRT_ERR_MEMORY, "%s needs %" PRId64 " bytes of the GPU's memory, %zu of %zu are free", what,
              bytes, available, total);
    return 0;
  }
  if (!status)
    status = cuMemAlloc_v2(&data, (size_t)bytes);
  if (status)
    rcrt_cuda_fail(context, status, "cuMemAlloc", what);
  return status ? 0 : data;
}

void rcrt_cuda_release(ringconv_context *context, CUdeviceptr data) {
  const ringconv_options *options = context->cuda->options;
  if (!data)
    return;
  if (options && options->allocate)
    options->release(options->allocator, (void *)(uintptr_t)data);
  else
    cuMemFree_v2(data);
}

static int32_t make_constants(ringconv_context *context) {
  rcrt_cuda *cuda = context->cuda;
  const ringconv_cuda_program *program = context->program->cuda;
  cuda->constants = calloc((size_t)program->num_constants + 1, sizeof *cuda->constants);
  if (!cuda->constants)
    return rcrt_fail(context, RCRT_ERR_MEMORY, "out of memory");
  CUresult status = 0;
  for (int32_t i = 0; i < program->num_constants; ++i) {
    const ringconv_constant *constant = &program->constants[i];
    cuda->constants[i] = rcrt_cuda_allocate(context, constant->bytes > 0 ? constant->bytes : 1, "a constant");
    if (!cuda->constants[i])
      return context->code;
    status = constant->bytes ? cuMemcpyHtoDAsync_v2(cuda->constants[i], constant->data, (size_t)constant->bytes,
                                                    cuda->own)
                             : 0;
    if (status)
      return rcrt_cuda_fail(context, status, "cuMemcpyHtoDAsync", "a constant");
  }
  status = cuStreamSynchronize(cuda->own);
  return status ? rcrt_cuda_fail(context, status, "cuStreamSynchronize", "") : RCRT_OK;
}

static int32_t make_memory(ringconv_context *context) {
  rcrt_cuda *cuda = context->cuda;
  const ringconv_cuda_program *program = context->program->cuda;
  CUresult status = cuMemAllocHost_v2(&cuda->pinned, RCRT_PINNED_BYTES);
  if (status)
    return rcrt_cuda_fail(context, status, "cuMemAllocHost", "");
  if (program->arena_bytes && !(cuda->arena = rcrt_cuda_allocate(context, program->arena_bytes, "the program")))
    return context->code;
  return make_constants(context);
}

/* ---- Streams ---- */

static int32_t make_streams(ringconv_context *context) {
  rcrt_cuda *cuda = context->cuda;
  int64_t exchanges = context->program->num_exchanges;
  cuda->num_events = 2 * exchanges;
  cuda->events = calloc((size_t)cuda->num_events + 1, sizeof *cuda->events);
  cuda->exchanges = calloc((size_t)exchanges + 1, sizeof *cuda->exchanges);
  cuda->communicators = calloc((size_t)context->program->cuda->num_sums + 1, sizeof *cuda->communicators);
  if (!cuda->events || !cuda->exchanges || !cuda->communicators)
    return rcrt_fail(context, RCRT_ERR_MEMORY, "out of memory");
  CUresult status = cuStreamCreate(&cuda->own, RCRT_CUDA_STREAM_NON_BLOCKING);
  if (!status)
    status = cuStreamCreate(&cuda->communication, RCRT_CUDA_STREAM_NON_BLOCKING);
  for (int64_t i = 0; i < cuda->num_events && !status; ++i)
    status = cuEventCreate(&cuda->events[i], RCRT_CUDA_EVENT_NO_TIMING);
  cuda->compute = cuda->own;
  return status ? rcrt_cuda_fail(context, status, "cuStreamCreate", "") : RCRT_OK;
}

/* ---- Open and close ---- */

int32_t rcrt_cuda_enter(ringconv_context *context) {
  CUresult status = cuCtxPushCurrent_v2(context->cuda->primary);
  return status ? rcrt_cuda_fail(context, status, "cuCtxPushCurrent", "") : RCRT_OK;
}

void rcrt_cuda_leave(ringconv_context *context) {
  CUcontext before;
  (void)context;
  cuCtxPopCurrent_v2(&before);
}

static int32_t take_device(ringconv_context *context, const ringconv_world *world) {
  char text[RCRT_TEXT];
  rcrt_cuda *cuda = context->cuda;
  int ordinal = 0, version = 0;
  if (!rcrt_cuda_load(text))
    return rcrt_fail(context, RCRT_ERR_TRANSPORT, "%s", text);
  CUresult status = cuDriverGetVersion(&version);
  if (!status && version < RCRT_CUDA_OLDEST)
    return rcrt_fail(context, RCRT_ERR_MISMATCH, "the CUDA driver is of CUDA %d.%d, %d.%d or newer is needed",
                     version / 1000, version % 1000 / 10, RCRT_CUDA_OLDEST / 1000, RCRT_CUDA_OLDEST % 1000 / 10);
  status = cuInit(0);
  if (status)
    return rcrt_cuda_fail(context, status, "cuInit", "");
  int32_t code = choose_device(context, world, &ordinal);
  if (code)
    return code;
  status = cuDeviceGet(&cuda->device, ordinal);
  if (!status)
    status = cuDevicePrimaryCtxRetain(&cuda->primary, cuda->device);
  return status ? rcrt_cuda_fail(context, status, "cuDevicePrimaryCtxRetain", "") : RCRT_OK;
}

int32_t rcrt_cuda_open(ringconv_context *context, const ringconv_world *world, const ringconv_options *options) {
  rcrt_cuda *cuda = context->cuda = calloc(1, sizeof *cuda);
  if (!cuda)
    return rcrt_fail(context, RCRT_ERR_MEMORY, "out of memory");
  if (options) {
    cuda->options_copy = *options;
    cuda->options = &cuda->options_copy;
  }
  cuda->rank = world->rank;
  int32_t code = take_device(context, world);
  if (code || (code = rcrt_cuda_enter(context)))
    return code;
  code = load_kernels(context);
  if (!code)
    code = make_streams(context);
  if (!code)
    code = make_memory(context);
  if (!code && context->program->cuda->uses_cudnn)
    code = rcrt_cudnn_open(context);
  rcrt_cuda_leave(context);
  return code;
}

static void free_exchanges(rcrt_cuda *cuda, int64_t count) {
  for (int64_t i = 0; cuda->exchanges && i < count; ++i) {
    free(cuda->exchanges[i].messages);
    free(cuda->exchanges[i].boxes);
  }
  free(cuda->exchanges);
}

void rcrt_cuda_close(ringconv_context *context) {
  rcrt_cuda *cuda = context->cuda;
  if (!cuda)
    return;
  if (cuda->primary && !cuCtxPushCurrent_v2(cuda->primary)) {
    rcrt_cuda_disconnect(context);
    rcrt_cudnn_close(context);
    for (int32_t i = 0; cuda->constants && i < context->program->cuda->num_constants; ++i)
      rcrt_cuda_release(context, cuda->constants[i]);
    rcrt_cuda_release(context, cuda->arena);
    if (cuda->pinned)
      cuMemFreeHost(cuda->pinned);
    for (int64_t i = 0; cuda->events && i < cuda->num_events; ++i)
      if (cuda->events[i])
        cuEventDestroy_v2(cuda->events[i]);
    if (cuda->epoch)
      cuEventDestroy_v2(cuda->epoch);
    if (cuda->communication)
      cuStreamDestroy_v2(cuda->communication);
    if (cuda->own)
      cuStreamDestroy_v2(cuda->own);
    if (cuda->module)
      cuModuleUnload(cuda->module);
    rcrt_cuda_leave(context);
    cuDevicePrimaryCtxRelease_v2(cuda->device);
  }
  free_exchanges(cuda, context->program->num_exchanges);
  free(cuda->constants);
  free(cuda->communicators);
  free(cuda->kernels);
  free(cuda->events);
  free(cuda->spans);
  free(cuda);
  context->cuda = NULL;
}
