// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocation and pools.
#include "Api.h"

#include <cstring>
#include <sys/mman.h>

using namespace gpusim;

//===-- Capacity ----------------------------------------------------------===//

static AllocationRef take(Device &d, uint64_t bytes, CUmemPoolHandle_st *pool) {
  std::lock_guard<std::mutex> lock(State::get().mutex);
  const uint64_t limit = Settings::get().memory;
  if (bytes > limit - d.used || d.used > limit)
    return nullptr;
  if (pool && pool->maxSize && pool->used + bytes > pool->maxSize)
    return nullptr;
  AllocationRef a = MemorySpace::get().allocate(bytes, d.ordinal);
  if (!a)
    return nullptr;
  d.used += bytes;
  a->owner = pool;
  if (pool) {
    pool->used += bytes;
    pool->high = std::max(pool->high, pool->used);
  }
  return a;
}

static void giveBack(const AllocationRef &a) {
  {
    std::lock_guard<std::mutex> lock(State::get().mutex);
    if (Device *d = State::get().device(a->device))
      d->used -= a->size;
    if (auto *pool = (CUmemPoolHandle_st *)a->owner)
      pool->used -= a->size;
  }
  MemorySpace::get().release(a);
}

/// The live allocation that starts at `ptr`. Otherwise reports what is wrong.
static AllocationRef startsAt(CUdeviceptr ptr, const char *call) {
  AllocationRef a = MemorySpace::get().find(ptr);
  if (a && !a->freed && a->base == ptr && a->device >= 0)
    return a;
  char text[64];
  snprintf(text, sizeof text, "%s(0x%llx): ", call, ptr);
  if (a && a->freed && a->base == ptr)
    State::get().report(text + ("double free of " + a->describe()));
  else
    State::get().report(text + std::string("not the start of an allocation: ") + MemorySpace::get().explain(ptr, 1));
  return nullptr;
}

GPUSIM_EXPORT CUresult cuMemAlloc_v2(CUdeviceptr *out, size_t bytes) {
  NEED_CONTEXT;
  NEED(out && bytes, CUDA_ERROR_INVALID_VALUE);
  AllocationRef a = take(*context->device, bytes, nullptr);
  NEED(a, CUDA_ERROR_OUT_OF_MEMORY);
  *out = a->base;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuMemAllocManaged(CUdeviceptr *out, size_t bytes, unsigned) {
  NEED_CONTEXT;
  NEED(out && bytes, CUDA_ERROR_INVALID_VALUE);
  void *p;
  if (CUresult r = cuMemHostAlloc(&p, bytes, 0))
    return r;
  *out = (CUdeviceptr)p;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width, size_t height, unsigned) {
  NEED_CONTEXT;
  NEED(out && pitch && width && height, CUDA_ERROR_INVALID_VALUE);
  *pitch = (width + 511) / 512 * 512;
  return cuMemAlloc_v2(out, *pitch * height);
}

/// As on a device, freeing waits for all work of the context.
GPUSIM_EXPORT CUresult cuMemFree_v2(CUdeviceptr ptr) {
  NEED_CONTEXT;
  if (!ptr)
    return CUDA_SUCCESS;
  AllocationRef host = MemorySpace::get().find(ptr);
  if (host && host->device < 0)
    return cuMemFreeHost((void *)ptr); // managed
  AllocationRef a = startsAt(ptr, "cuMemFree");
  NEED(a, CUDA_ERROR_INVALID_VALUE);
  State::get().hostWait(context);
  giveBack(a);
  return context->sticky;
}

GPUSIM_EXPORT CUresult cuMemGetInfo_v2(size_t *freeBytes, size_t *total) {
  NEED_CONTEXT;
  std::lock_guard<std::mutex> lock(State::get().mutex);
  if (total)
    *total = Settings::get().memory;
  if (freeBytes)
    *freeBytes = Settings::get().memory - context->device->used;
  return CUDA_SUCCESS;
}

GPUSIM_EXPORT CUresult cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr ptr) {
  NEED_CONTEXT;
  AllocationRef a = MemorySpace::get().find(ptr);
  NEED(a && !a->freed, CUDA_ERROR_NOT_FOUND);
  if (base)
    *base = a->base;
  if (size)
    *size = a->size;
  return CUDA_SUCCESS;
}

//===-- Host memory -------------------------------------------------------===//

GPUSIM_EXPORT CUresult cuMemHostAlloc(void **out, size_t bytes, unsigned) {
  NEED_CONTEXT;
  NEED(out && bytes, CUDA_ERROR_INVALID_VALUE);
  size_t pages = (bytes + 4095) & ~(size_t)4095;
  void *p = mmap(nullptr, pages, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  NEED(p != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
  MemorySpace::get().adoptHost(p, bytes)->name = "pinned";
  *out = p;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuMemAllocHost_v2(void **out, size_t bytes) { return cuMemHostAlloc(out, bytes, 0); }
GPUSIM_EXPORT CUresult cuMemFreeHost(void *p) {
  NEED_CONTEXT;
  if (!p)
    return CUDA_SUCCESS;
  AllocationRef a = MemorySpace::get().find((uint64_t)p);
  if (!a || a->device >= 0 || a->base != (uint64_t)p || a->name != "pinned") {
    State::get().report("cuMemFreeHost of memory that is not pinned");
    return CUDA_ERROR_INVALID_VALUE;
  }
  State::get().hostWait(context);
  State::get().detector.forget(a);
  MemorySpace::get().release(a);
  munmap(p, (a->size + 4095) & ~(uint64_t)4095);
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *p, unsigned) {
  NEED_CONTEXT;
  AllocationRef a = MemorySpace::get().find((uint64_t)p);
  NEED(out && a && a->device < 0, CUDA_ERROR_INVALID_VALUE);
  *out = (CUdeviceptr)p;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuMemHostGetFlags(unsigned *flags, void *p) {
  NEED_CONTEXT;
  AllocationRef a = MemorySpace::get().find((uint64_t)p);
  NEED(flags && a && a->device < 0, CUDA_ERROR_INVALID_VALUE);
  *flags = 0;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuMemHostRegister_v2(void *p, size_t bytes, unsigned) {
  NEED_CONTEXT;
  NEED(p && bytes, CUDA_ERROR_INVALID_VALUE);
  NEED(!MemorySpace::get().find((uint64_t)p), CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  MemorySpace::get().adoptHost(p, bytes)->name = "registered";
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuMemHostUnregister(void *p) {
  NEED_CONTEXT;
  AllocationRef a = MemorySpace::get().find((uint64_t)p);
  NEED(a && a->name == "registered" && a->base == (uint64_t)p, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  State::get().hostWait(context);
  State::get().detector.forget(a);
  MemorySpace::get().release(a);
  return CUDA_SUCCESS;
}

/// CUpointer_attribute numbers.
GPUSIM_EXPORT CUresult cuPointerGetAttribute(void *data, int attribute, CUdeviceptr ptr) {
  NEED_INIT;
  NEED(data, CUDA_ERROR_INVALID_VALUE);
  AllocationRef a = MemorySpace::get().find(ptr);
  NEED(a && !a->freed, CUDA_ERROR_INVALID_VALUE);
  Device *d = State::get().device(a->device);
  switch (attribute) {
  case 1:
    *(CUcontext *)data = d ? d->primary : State::current();
    break;
  case 2:
    *(unsigned *)data = d ? 2 : 1;
    break; // DEVICE, HOST
  case 3:
    *(CUdeviceptr *)data = ptr;
    break;
  case 4:
    NEED(!d, CUDA_ERROR_INVALID_VALUE);
    *(void **)data = (void *)ptr;
    break;
  case 6:
    *(unsigned *)data = 1;
    break;
  case 7:
    *(unsigned long long *)data = a->id;
    break;
  case 8:
    *(unsigned *)data = 0;
    break;
  case 9:
    *(int *)data = a->device;
    break;
  case 11:
    *(CUdeviceptr *)data = a->base;
    break;
  case 12:
    *(size_t *)data = a->size;
    break;
  case 13:
    *(unsigned *)data = 1;
    break;
  case 17:
    *(void **)data = a->owner;
    break;
  default:
    return CUDA_ERROR_NOT_SUPPORTED;
  }
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuPointerGetAttributes(unsigned n, int *attributes, void **data, CUdeviceptr ptr) {
  NEED_INIT;
  for (unsigned k = 0; k < n; ++k)
    cuPointerGetAttribute(data[k], attributes[k], ptr);
  return CUDA_SUCCESS;
}

//===-- Pools and allocation in stream order ------------------------------===//

static CUmemPoolHandle_st *defaultPool(Device &d) {
  std::lock_guard<std::mutex> lock(State::get().mutex);
  if (!d.defaultPool) {
    d.defaultPool = new CUmemPoolHandle_st;
    d.defaultPool->device = &d;
    d.defaultPool->isDefault = true;
    d.pool = d.pool ? d.pool : d.defaultPool;
  }
  return d.defaultPool;
}

static AccessSet wholeAccess(const AllocationRef &a) {
  AccessSet set;
  set.alloc = a;
  set.writes.push_back({a->base, a->end()});
  return set;
}

GPUSIM_EXPORT CUresult cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t bytes, CUmemoryPool pool, CUstream h) {
  NEED_CONTEXT;
  NEED_STREAM(h);
  NEED(out && bytes && pool, CUDA_ERROR_INVALID_VALUE);
  NEED(!stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  AllocationRef a = take(*pool->device, bytes, pool);
  if (!a) { // memory that is being freed in streams may make room
    State::get().hostWait(context);
    a = take(*pool->device, bytes, pool);
  }
  NEED(a, CUDA_ERROR_OUT_OF_MEMORY);
  *out = a->base;
  // Whoever uses the memory must come after its allocation.
  return State::get().submit(stream, "cuMemAllocAsync", [a](Operation &op) {
    op.accesses.push_back(wholeAccess(a));
    return CUDA_SUCCESS;
  });
}
GPUSIM_EXPORT CUresult cuMemAllocAsync(CUdeviceptr *out, size_t bytes, CUstream h) {
  NEED_CONTEXT;
  defaultPool(*context->device);
  return cuMemAllocFromPoolAsync(out, bytes, context->device->pool, h);
}
GPUSIM_EXPORT CUresult cuMemFreeAsync(CUdeviceptr ptr, CUstream h) {
  NEED_CONTEXT;
  NEED_STREAM(h);
  NEED(!stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  AllocationRef a = startsAt(ptr, "cuMemFreeAsync");
  NEED(a, CUDA_ERROR_INVALID_VALUE);
  return State::get().submit(stream, "cuMemFreeAsync", [a](Operation &op) {
    if (a->freed) {
      State::get().report("cuMemFreeAsync: double free of " + a->describe());
      return CUDA_ERROR_INVALID_VALUE;
    }
    op.accesses.push_back(wholeAccess(a));
    giveBack(a);
    return CUDA_SUCCESS;
  });
}

GPUSIM_EXPORT CUresult cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props) {
  NEED_INIT;
  NEED(out && props, CUDA_ERROR_INVALID_VALUE);
  Device *d = State::get().device(props->location.id);
  NEED(d, CUDA_ERROR_INVALID_DEVICE);
  *out = new CUmemPoolHandle_st;
  (*out)->device = d;
  (*out)->maxSize = props->maxSize;
  return CUDA_SUCCESS;
}
/// The handle stays: allocations that still live name it.
GPUSIM_EXPORT CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  NEED_INIT;
  NEED(pool && !pool->isDefault, CUDA_ERROR_INVALID_VALUE);
  if (pool->device->pool == pool)
    pool->device->pool = pool->device->defaultPool;
  return CUDA_SUCCESS;
}
/// CUmemPool_attribute: 4 release threshold, 5-8 reserved and used bytes.
GPUSIM_EXPORT CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, void *value) {
  NEED_INIT;
  NEED(pool && value, CUDA_ERROR_INVALID_VALUE);
  if (attribute == 4)
    pool->threshold = *(uint64_t *)value;
  if (attribute == 6 || attribute == 8)
    pool->high = pool->used;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void *value) {
  NEED_INIT;
  NEED(pool && value, CUDA_ERROR_INVALID_VALUE);
  if (attribute <= 3)
    *(int *)value = 1;
  else
    *(uint64_t *)value = attribute == 4 ? pool->threshold : attribute == 5 || attribute == 7 ? pool->used : pool->high;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t) {
  NEED_INIT;
  NEED(pool, CUDA_ERROR_INVALID_VALUE);
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuMemPoolSetAccess(CUmemoryPool pool, const void *, size_t) {
  NEED_INIT;
  NEED(pool, CUDA_ERROR_INVALID_VALUE);
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice d) {
  NEED_INIT;
  Device *device = State::get().device(d);
  NEED(device, CUDA_ERROR_INVALID_DEVICE);
  NEED(out, CUDA_ERROR_INVALID_VALUE);
  *out = defaultPool(*device);
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuDeviceGetMemPool(CUmemoryPool *out, CUdevice d) {
  if (CUresult r = cuDeviceGetDefaultMemPool(out, d))
    return r;
  *out = State::get().device(d)->pool;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuDeviceSetMemPool(CUdevice d, CUmemoryPool pool) {
  NEED_INIT;
  Device *device = State::get().device(d);
  NEED(device, CUDA_ERROR_INVALID_DEVICE);
  NEED(pool && pool->device == device, CUDA_ERROR_INVALID_VALUE);
  device->pool = pool;
  return CUDA_SUCCESS;
}
