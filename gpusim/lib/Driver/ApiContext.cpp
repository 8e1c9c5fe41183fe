// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Initialisation, devices, contexts, errors, addresses of entry points.
#include "Api.h"
#include "Report.h"

#include <cstring>

using namespace gpusim;

GPUSIM_EXPORT CUresult cuInit(unsigned flags) {
  NEED(flags == 0, CUDA_ERROR_INVALID_VALUE);
  return State::get().initialise();
}

GPUSIM_EXPORT CUresult cuDriverGetVersion(int *version) {
  NEED(version, CUDA_ERROR_INVALID_VALUE);
  *version = 13000;
  return CUDA_SUCCESS;
}

GPUSIM_EXPORT CUresult cuGetErrorName(CUresult error, const char **text) {
  NEED(text, CUDA_ERROR_INVALID_VALUE);
  *text = nullptr;
  switch (error) {
#define NAME(name, value, words)                                                                                       \
  case value:                                                                                                          \
    *text = #name;                                                                                                     \
    return CUDA_SUCCESS;
    GPUSIM_RESULTS(NAME)
#undef NAME
  }
  return CUDA_ERROR_INVALID_VALUE;
}

GPUSIM_EXPORT CUresult cuGetErrorString(CUresult error, const char **text) {
  NEED(text, CUDA_ERROR_INVALID_VALUE);
  *text = nullptr;
  switch (error) {
#define WORDS(name, value, words)                                                                                      \
  case value:                                                                                                          \
    *text = words;                                                                                                     \
    return CUDA_SUCCESS;
    GPUSIM_RESULTS(WORDS)
#undef WORDS
  }
  return CUDA_ERROR_INVALID_VALUE;
}

static void *findEntry(const std::string &name) {
  static const std::map<std::string, void *> table = {
#define GPUSIM_ENTRY(name, params) {#name, (void *)name},
#include "gpusim/CUDAEntryPoints.def"
#undef GPUSIM_ENTRY
  };
  auto it = table.find(name);
  return it == table.end() ? nullptr : it->second;
}

/// A plain name means its newest form that the caller's version knows.
GPUSIM_EXPORT CUresult cuGetProcAddress_v2(const char *symbol, void **fn, int version, unsigned long long,
                                           int *status) {
  NEED(symbol && fn, CUDA_ERROR_INVALID_VALUE);
  std::string name = symbol;
  *fn = nullptr;
  if (name == "cuCtxCreate")
    *fn = findEntry(version >= 13000 ? "cuCtxCreate_v4" : "cuCtxCreate_v2");
  if (name == "cuGraphInstantiate")
    *fn = findEntry("cuGraphInstantiateWithFlags");
  if (!*fn)
    *fn = findEntry(name + "_v2");
  if (!*fn)
    *fn = findEntry(name);
  if (status)
    *status = *fn ? 0 : 1; // SUCCESS, SYMBOL_NOT_FOUND
  return *fn ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
GPUSIM_EXPORT CUresult cuGetProcAddress(const char *symbol, void **fn, int version, unsigned long long flags) {
  return cuGetProcAddress_v2(symbol, fn, version, flags, nullptr);
}

//===-- Devices -----------------------------------------------------------===//

GPUSIM_EXPORT CUresult cuDeviceGetCount(int *count) {
  NEED_INIT;
  NEED(count, CUDA_ERROR_INVALID_VALUE);
  *count = State::get().devices.size();
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  NEED_INIT;
  NEED(device, CUDA_ERROR_INVALID_VALUE);
  NEED(State::get().device(ordinal), CUDA_ERROR_INVALID_DEVICE);
  *device = ordinal;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuDeviceGetName(char *name, int len, CUdevice d) {
  NEED_INIT;
  NEED(State::get().device(d), CUDA_ERROR_INVALID_DEVICE);
  NEED(name && len > 0, CUDA_ERROR_INVALID_VALUE);
  snprintf(name, len, "gpusim sm_%u", Settings::get().arch);
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice d) {
  NEED_INIT;
  NEED(State::get().device(d), CUDA_ERROR_INVALID_DEVICE);
  NEED(uuid, CUDA_ERROR_INVALID_VALUE);
  memset(uuid, 0, sizeof *uuid);
  memcpy(uuid->bytes, "gpusim", 6);
  uuid->bytes[15] = d;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice d) {
  NEED_INIT;
  NEED(State::get().device(d), CUDA_ERROR_INVALID_DEVICE);
  NEED(bytes, CUDA_ERROR_INVALID_VALUE);
  *bytes = Settings::get().memory;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuDeviceGetPCIBusId(char *id, int len, CUdevice d) {
  NEED_INIT;
  NEED(State::get().device(d), CUDA_ERROR_INVALID_DEVICE);
  NEED(id && len > 12, CUDA_ERROR_INVALID_VALUE);
  snprintf(id, len, "0000:%02x:00.0", d + 1);
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuDeviceComputeCapability(int *major, int *minor, CUdevice d) {
  NEED_INIT;
  NEED(State::get().device(d), CUDA_ERROR_INVALID_DEVICE);
  NEED(major && minor, CUDA_ERROR_INVALID_VALUE);
  *major = Settings::get().arch / 10;
  *minor = Settings::get().arch % 10;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuDeviceCanAccessPeer(int *can, CUdevice a, CUdevice b) {
  NEED_INIT;
  NEED(State::get().device(a) && State::get().device(b), CUDA_ERROR_INVALID_DEVICE);
  *can = a != b;
  return CUDA_SUCCESS;
}

/// Values by CUdevice_attribute; those not listed are 0.
GPUSIM_EXPORT CUresult cuDeviceGetAttribute(int *value, int attribute, CUdevice d) {
  NEED_INIT;
  NEED(State::get().device(d), CUDA_ERROR_INVALID_DEVICE);
  NEED(value && attribute > 0 && attribute < 200, CUDA_ERROR_INVALID_VALUE);
  const unsigned arch = Settings::get().arch;
  const Limits l = limitsOf(arch);
  const std::map<int, int> values = {{1, 1024},
                                     {2, 1024},
                                     {3, 1024},
                                     {4, 64}, // threads, block x y z
                                     {5, 0x7fffffff},
                                     {6, 65535},
                                     {7, 65535}, // grid x y z
                                     {8, 48 << 10},
                                     {9, 64 << 10},
                                     {10, 32}, // shared, constant, warp
                                     {11, 0x7fffffff},
                                     {12, 65536},
                                     {13, 1500000}, // pitch, registers, clock
                                     {15, 1},
                                     {16, (int)l.multiprocessors},
                                     {19, 1},
                                     {31, 1},
                                     {33, d + 1},
                                     {36, 2600000},
                                     {37, 5120}, // PCI bus, memory
                                     {38, 50 << 20},
                                     {39, (int)l.threadsPerSM},
                                     {40, 3},
                                     {41, 1},
                                     {75, (int)arch / 10},
                                     {76, (int)arch % 10},
                                     {78, 1},
                                     {81, (int)l.sharedPerSM},
                                     {82, 65536},
                                     {83, 1}, // managed memory
                                     {97, (int)l.sharedPerBlock},
                                     {106, (int)l.blocksPerSM},
                                     {111, (int)l.reservedShared},
                                     {115, 1}}; // memory pools
  auto it = values.find(attribute);
  *value = it == values.end() ? 0 : it->second;
  return CUDA_SUCCESS;
}

//===-- Contexts ----------------------------------------------------------===//

GPUSIM_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice d) {
  NEED_INIT;
  Device *device = State::get().device(d);
  NEED(device, CUDA_ERROR_INVALID_DEVICE);
  NEED(out, CUDA_ERROR_INVALID_VALUE);
  static std::mutex lock;
  std::lock_guard<std::mutex> guard(lock);
  if (!device->primary)
    device->primary = State::get().createContext(*device, 0, true);
  ++device->primaryUses;
  *out = device->primary;
  return CUDA_SUCCESS;
}
/// The primary context stays until the process ends: others may hold it.
GPUSIM_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d) {
  NEED_INIT;
  Device *device = State::get().device(d);
  NEED(device, CUDA_ERROR_INVALID_DEVICE);
  NEED(device->primaryUses, CUDA_ERROR_INVALID_CONTEXT);
  if (--device->primaryUses == 0) {
    State::get().hostWait(device->primary);
    writeReportFiles();
  }
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice d) {
  NEED_INIT;
  Device *device = State::get().device(d);
  NEED(device, CUDA_ERROR_INVALID_DEVICE);
  if (device->primary) {
    State::get().hostWait(device->primary);
    device->primary->sticky = 0;
  }
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice d, unsigned) {
  NEED_INIT;
  NEED(State::get().device(d), CUDA_ERROR_INVALID_DEVICE);
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuDevicePrimaryCtxGetState(CUdevice d, unsigned *flags, int *active) {
  NEED_INIT;
  Device *device = State::get().device(d);
  NEED(device, CUDA_ERROR_INVALID_DEVICE);
  if (flags)
    *flags = 0;
  if (active)
    *active = device->primaryUses > 0;
  return CUDA_SUCCESS;
}

/// Contexts that this thread pushed below the current one.
static std::vector<CUctx_st *> &contextStack() {
  thread_local std::vector<CUctx_st *> stack;
  return stack;
}

GPUSIM_EXPORT CUresult cuCtxPushCurrent_v2(CUcontext c) {
  NEED_INIT;
  NEED(State::get().isContext(c), CUDA_ERROR_INVALID_CONTEXT);
  contextStack().push_back(State::current());
  State::current() = c;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuCtxPopCurrent_v2(CUcontext *out) {
  NEED_INIT;
  NEED(State::current(), CUDA_ERROR_INVALID_CONTEXT);
  if (out)
    *out = State::current();
  State::current() = nullptr;
  if (!contextStack().empty()) {
    State::current() = contextStack().back();
    contextStack().pop_back();
  }
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice d) {
  NEED_INIT;
  Device *device = State::get().device(d);
  NEED(device, CUDA_ERROR_INVALID_DEVICE);
  NEED(out, CUDA_ERROR_INVALID_VALUE);
  *out = State::get().createContext(*device, flags, false);
  return cuCtxPushCurrent_v2(*out);
}
GPUSIM_EXPORT CUresult cuCtxCreate_v4(CUcontext *out, void *, unsigned flags, CUdevice d) {
  return cuCtxCreate_v2(out, flags, d);
}
GPUSIM_EXPORT CUresult cuCtxDestroy_v2(CUcontext c) {
  NEED_INIT;
  NEED(State::get().isContext(c), CUDA_ERROR_INVALID_CONTEXT);
  NEED(!c->primary, CUDA_ERROR_INVALID_CONTEXT);
  if (State::current() == c)
    cuCtxPopCurrent_v2(nullptr);
  State::get().destroyContext(c);
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuCtxSetCurrent(CUcontext c) {
  NEED_INIT;
  NEED(!c || State::get().isContext(c), CUDA_ERROR_INVALID_CONTEXT);
  State::current() = c;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuCtxGetCurrent(CUcontext *out) {
  NEED_INIT;
  NEED(out, CUDA_ERROR_INVALID_VALUE);
  *out = State::current();
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuCtxGetDevice(CUdevice *out) {
  NEED_INIT;
  NEED(State::current(), CUDA_ERROR_INVALID_CONTEXT);
  NEED(out, CUDA_ERROR_INVALID_VALUE);
  *out = State::current()->device->ordinal;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuCtxGetFlags(unsigned *flags) {
  NEED_CONTEXT;
  *flags = context->flags;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuCtxGetApiVersion(CUcontext, unsigned *version) {
  NEED_INIT;
  *version = 13000;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuCtxSynchronize(void) {
  NEED_CONTEXT;
  State::get().hostWait(context);
  return context->sticky;
}
GPUSIM_EXPORT CUresult cuCtxSetLimit(int, size_t) {
  NEED_CONTEXT;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuCtxGetLimit(size_t *value, int) {
  NEED_CONTEXT;
  *value = 1024;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  NEED_CONTEXT;
  if (least)
    *least = 0;
  if (greatest)
    *greatest = -5;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned) {
  NEED_CONTEXT;
  NEED(State::get().isContext(peer) && peer->device != context->device, CUDA_ERROR_INVALID_CONTEXT);
  return context->peers.insert(peer).second ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}
GPUSIM_EXPORT CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  NEED_CONTEXT;
  return context->peers.erase(peer) ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
GPUSIM_EXPORT CUresult cuProfilerStart(void) { return CUDA_SUCCESS; }
GPUSIM_EXPORT CUresult cuProfilerStop(void) { return CUDA_SUCCESS; }

namespace {
/// The final report, also for programs that never release their contexts.
struct AtExit {
  ~AtExit() {
    State::get().drainAtExit();
    writeReportFiles();
  }
} atExit;
} // namespace
