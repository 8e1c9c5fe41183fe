// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies and fills. All are rows of bytes; a plain copy has one row.
#include "Api.h"

#include <cstring>

using namespace gpusim;

namespace {

struct Side {
  uint64_t address = 0; ///< device address or host pointer
  uint64_t pitch = 0;
  bool device = false; ///< must lie in a live allocation
};
struct Copy {
  Side dst, src;
  uint64_t width = 0, height = 1;
  std::string name;
};
enum class Mode { Sync, Async };

/// The allocation that holds all rows, or null for plain host memory.
bool resolve(const Side &s, uint64_t width, uint64_t height, AllocationRef &a, const std::string &name) {
  uint64_t span = (height - 1) * s.pitch + width;
  a = MemorySpace::get().findRange(s.address, span);
  if (a || !s.device)
    return true;
  State::get().report(name + ": " + std::to_string(span) +
                      " bytes out of bounds: " + MemorySpace::get().explain(s.address, span));
  return false;
}

void addRows(Operation &op, const AllocationRef &a, const Side &s, uint64_t width, uint64_t height, bool write) {
  if (!a)
    return;
  AccessSet set;
  set.alloc = a;
  Ranges &r = write ? set.writes : set.reads;
  for (uint64_t y = 0; y < height; ++y) {
    uint64_t lo = s.address + y * s.pitch;
    if (!r.empty() && r.back().second == lo)
      r.back().second = lo + width;
    else
      r.push_back({lo, lo + width});
  }
  op.accesses.push_back(std::move(set));
}

uint8_t *bytesAt(const AllocationRef &a, uint64_t address) {
  return a ? a->data + (address - a->base) : (uint8_t *)address;
}

CUresult runCopy(const Copy &c, Operation &op) {
  AllocationRef dst, src;
  if (!resolve(c.dst, c.width, c.height, dst, c.name) || !resolve(c.src, c.width, c.height, src, c.name))
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  addRows(op, src, c.src, c.width, c.height, false);
  addRows(op, dst, c.dst, c.width, c.height, true);
  for (uint64_t y = 0; y < c.height; ++y) {
    uint64_t to = c.dst.address + y * c.dst.pitch, from = c.src.address + y * c.src.pitch;
    memmove(bytesAt(dst, to), bytesAt(src, from), c.width);
    if (dst && src)
      MemorySpace::copyValid(*dst, to, *src, from, c.width);
    else if (dst)
      MemorySpace::setValid(*dst, to, c.width, true);
  }
  return CUDA_SUCCESS;
}

CUresult copy(const Copy &c, CUstream handle, Mode mode) {
  NEED_CONTEXT;
  if (!c.width || !c.height)
    return CUDA_SUCCESS;
  NEED(c.dst.address && c.src.address, CUDA_ERROR_INVALID_VALUE);
  AllocationRef a;
  if (!resolve(c.dst, c.width, c.height, a, c.name) || !resolve(c.src, c.width, c.height, a, c.name))
    return CUDA_ERROR_INVALID_VALUE;
  if (mode == Mode::Sync)
    return State::get().submitAndWait(context, c.name, [c](Operation &op) { return runCopy(c, op); });
  NEED_STREAM(handle);
  // A copy from pageable memory has taken its bytes when the call returns;
  // only pinned memory is read later.
  AllocationRef from = MemorySpace::get().find(c.src.address);
  if (!c.src.device && !from && !stream->capture) {
    Copy staged = c;
    auto bytes = std::make_shared<std::vector<uint8_t>>(c.width * c.height);
    for (uint64_t y = 0; y < c.height; ++y)
      memcpy(bytes->data() + y * c.width, (const void *)(c.src.address + y * c.src.pitch), c.width);
    staged.src.address = (uint64_t)bytes->data();
    staged.src.pitch = c.width;
    return State::get().submit(stream, c.name, [staged, bytes](Operation &op) { return runCopy(staged, op); });
  }
  CUresult r = State::get().submit(stream, c.name, [c](Operation &op) { return runCopy(c, op); });
  // Into pageable memory the call returns when the bytes are there.
  AllocationRef to = MemorySpace::get().find(c.dst.address);
  if (!c.dst.device && !to && !stream->capture)
    State::get().hostWait(stream);
  return r;
}

Copy plain(const char *name, uint64_t dst, bool dstDevice, uint64_t src, bool srcDevice, uint64_t bytes) {
  Copy c;
  c.name = name;
  c.dst = {dst, bytes, dstDevice};
  c.src = {src, bytes, srcDevice};
  c.width = bytes;
  return c;
}

/// Unified addresses: what no allocation holds is host memory, unless it lies
/// where only devices have memory.
bool isDevice(uint64_t address) {
  AllocationRef a = MemorySpace::get().find(address);
  return a && a->device >= 0;
}

struct Fill {
  Side dst;
  uint64_t width, height; ///< width in elements
  unsigned size;
  uint32_t value;
};

CUresult runFill(const Fill &f, Operation &op) {
  AllocationRef a;
  const uint64_t bytes = f.width * f.size;
  if (!resolve(f.dst, bytes, f.height, a, "cuMemset"))
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  addRows(op, a, f.dst, bytes, f.height, true);
  for (uint64_t y = 0; y < f.height; ++y) {
    uint64_t to = f.dst.address + y * f.dst.pitch;
    uint8_t *p = bytesAt(a, to);
    if (f.size == 1)
      memset(p, f.value, bytes);
    else
      for (uint64_t x = 0; x < f.width; ++x)
        memcpy(p + x * f.size, &f.value, f.size);
    MemorySpace::setValid(*a, to, bytes, true);
  }
  return CUDA_SUCCESS;
}

CUresult fill(const Fill &f, CUstream handle, Mode mode) {
  NEED_CONTEXT;
  if (!f.width || !f.height)
    return CUDA_SUCCESS;
  NEED(f.dst.address % f.size == 0, CUDA_ERROR_INVALID_VALUE);
  AllocationRef a;
  if (!resolve(f.dst, f.width * f.size, f.height, a, "cuMemset"))
    return CUDA_ERROR_INVALID_VALUE;
  auto work = [f](Operation &op) { return runFill(f, op); };
  if (mode == Mode::Sync)
    return State::get().submitAndWait(context, "cuMemset", work);
  NEED_STREAM(handle);
  return State::get().submit(stream, "cuMemsetAsync", work);
}

} // namespace

#define COPY(name, args, dst, dstDevice, src, srcDevice, bytes, stream, mode)                                          \
  GPUSIM_EXPORT CUresult name args {                                                                                   \
    return copy(plain(#name, (uint64_t)(dst), dstDevice, (uint64_t)(src), srcDevice, bytes), stream, mode);            \
  }

COPY(cuMemcpy, (CUdeviceptr d, CUdeviceptr s, size_t n), d, isDevice(d), s, isDevice(s), n, nullptr, Mode::Sync)
COPY(cuMemcpyAsync, (CUdeviceptr d, CUdeviceptr s, size_t n, CUstream h), d, isDevice(d), s, isDevice(s), n, h,
     Mode::Async)
COPY(cuMemcpyHtoD_v2, (CUdeviceptr d, const void *s, size_t n), d, true, s, false, n, nullptr, Mode::Sync)
COPY(cuMemcpyDtoH_v2, (void *d, CUdeviceptr s, size_t n), d, false, s, true, n, nullptr, Mode::Sync)
COPY(cuMemcpyDtoD_v2, (CUdeviceptr d, CUdeviceptr s, size_t n), d, true, s, true, n, nullptr, Mode::Sync)
COPY(cuMemcpyHtoDAsync_v2, (CUdeviceptr d, const void *s, size_t n, CUstream h), d, true, s, false, n, h, Mode::Async)
COPY(cuMemcpyDtoHAsync_v2, (void *d, CUdeviceptr s, size_t n, CUstream h), d, false, s, true, n, h, Mode::Async)
COPY(cuMemcpyDtoDAsync_v2, (CUdeviceptr d, CUdeviceptr s, size_t n, CUstream h), d, true, s, true, n, h, Mode::Async)
COPY(cuMemcpyPeer, (CUdeviceptr d, CUcontext, CUdeviceptr s, CUcontext, size_t n), d, true, s, true, n, nullptr,
     Mode::Sync)
COPY(cuMemcpyPeerAsync, (CUdeviceptr d, CUcontext, CUdeviceptr s, CUcontext, size_t n, CUstream h), d, true, s, true, n,
     h, Mode::Async)

/// CUmemorytype: 1 host, 2 device, 4 unified.
static bool side(int type, const void *host, CUdeviceptr device, size_t x, size_t y, size_t pitch, size_t width,
                 Side &out) {
  if (type != 1 && type != 2 && type != 4)
    return false; // arrays are not simulated
  out.pitch = pitch ? pitch : width;
  uint64_t base = type == 1 ? (uint64_t)host : device;
  out.address = base + y * out.pitch + x;
  out.device = type == 2 || (type == 4 && isDevice(base));
  return true;
}

static CUresult copy2D(const CUDA_MEMCPY2D *p, CUstream h, Mode mode) {
  NEED(p, CUDA_ERROR_INVALID_VALUE);
  Copy c;
  c.name = "cuMemcpy2D";
  c.width = p->WidthInBytes;
  c.height = p->Height;
  if (!side(p->dstMemoryType, p->dstHost, p->dstDevice, p->dstXInBytes, p->dstY, p->dstPitch, c.width, c.dst) ||
      !side(p->srcMemoryType, p->srcHost, p->srcDevice, p->srcXInBytes, p->srcY, p->srcPitch, c.width, c.src))
    return CUDA_ERROR_NOT_SUPPORTED;
  NEED(c.height <= 1 || (c.width <= c.dst.pitch && c.width <= c.src.pitch), CUDA_ERROR_INVALID_VALUE);
  return copy(c, h, mode);
}
GPUSIM_EXPORT CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *p) { return copy2D(p, nullptr, Mode::Sync); }
GPUSIM_EXPORT CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *p) { return copy2D(p, nullptr, Mode::Sync); }
GPUSIM_EXPORT CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *p, CUstream h) { return copy2D(p, h, Mode::Async); }

#define FILL(name, args, size, value, pitch, width, height, stream, mode)                                              \
  GPUSIM_EXPORT CUresult name args {                                                                                   \
    return fill({{d, pitch, true}, width, height, size, (uint32_t)(value)}, stream, mode);                             \
  }

FILL(cuMemsetD8_v2, (CUdeviceptr d, unsigned char v, size_t n), 1, v, n, n, 1, nullptr, Mode::Sync)
FILL(cuMemsetD16_v2, (CUdeviceptr d, unsigned short v, size_t n), 2, v, n, n, 1, nullptr, Mode::Sync)
FILL(cuMemsetD32_v2, (CUdeviceptr d, unsigned v, size_t n), 4, v, n, n, 1, nullptr, Mode::Sync)
FILL(cuMemsetD8Async, (CUdeviceptr d, unsigned char v, size_t n, CUstream h), 1, v, n, n, 1, h, Mode::Async)
FILL(cuMemsetD16Async, (CUdeviceptr d, unsigned short v, size_t n, CUstream h), 2, v, n, n, 1, h, Mode::Async)
FILL(cuMemsetD32Async, (CUdeviceptr d, unsigned v, size_t n, CUstream h), 4, v, n, n, 1, h, Mode::Async)
FILL(cuMemsetD2D8_v2, (CUdeviceptr d, size_t p, unsigned char v, size_t w, size_t y), 1, v, p, w, y, nullptr,
     Mode::Sync)
FILL(cuMemsetD2D32_v2, (CUdeviceptr d, size_t p, unsigned v, size_t w, size_t y), 4, v, p, w, y, nullptr, Mode::Sync)
FILL(cuMemsetD2D8Async, (CUdeviceptr d, size_t p, unsigned char v, size_t w, size_t y, CUstream h), 1, v, p, w, y, h,
     Mode::Async)
FILL(cuMemsetD2D32Async, (CUdeviceptr d, size_t p, unsigned v, size_t w, size_t y, CUstream h), 4, v, p, w, y, h,
     Mode::Async)
