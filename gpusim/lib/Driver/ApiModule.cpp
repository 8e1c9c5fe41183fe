// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules, functions and launches.
#include "Api.h"
#include "FatBinary.h"
#include "Ptxas.h"
#include "Report.h"

#include <cstring>
#include <fstream>
#include <sstream>

using namespace gpusim;

//===-- Modules -----------------------------------------------------------===//

/// sm_90a code runs on sm_90 only, other code on its own or later devices.
static bool targetFits(const std::string &target, unsigned arch) {
  if (target.compare(0, 3, "sm_"))
    return true;
  unsigned need = strtoul(target.c_str() + 3, nullptr, 10);
  char last = target.back();
  return last == 'a' ? need == arch : last == 'f' ? need / 10 == arch / 10 : need <= arch;
}

static CUresult load(CUctx_st *context, CUmodule *out, const void *image) {
  NEED(out && image, CUDA_ERROR_INVALID_VALUE);
  std::string ptx, why;
  CUresult r = ptxFromImage(image, Settings::get().arch, ptx, why);
  if (r != CUDA_SUCCESS) {
    if (!why.empty() && getenv("GPUSIM_VERBOSE"))
      fprintf(stderr, "gpusim: %s\n", why.c_str());
    return r;
  }
  auto m = std::make_unique<CUmod_st>();
  try {
    m->module = loadModule(ptx, context->device->ordinal);
  } catch (PTXError &e) {
    State::get().report(std::string("PTX not accepted: ") + e.what());
    return CUDA_ERROR_INVALID_PTX;
  }
  if (!targetFits(m->module->target, Settings::get().arch)) {
    State::get().report("PTX for " + m->module->target + " on a simulated sm_" + std::to_string(Settings::get().arch) +
                        " (GPUSIM_ARCH chooses another)");
    return CUDA_ERROR_INVALID_PTX;
  }
  m->context = context;
  m->module->source = std::move(ptx);
  std::lock_guard<std::mutex> lock(State::get().mutex);
  State::get().modules.insert(m.get());
  *out = m.release();
  return CUDA_SUCCESS;
}

GPUSIM_EXPORT CUresult cuModuleLoadData(CUmodule *out, const void *image) {
  NEED_CONTEXT;
  return load(context, out, image);
}
GPUSIM_EXPORT CUresult cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned, int *, void **) {
  NEED_CONTEXT;
  return load(context, out, image);
}
GPUSIM_EXPORT CUresult cuModuleLoadFatBinary(CUmodule *out, const void *image) {
  NEED_CONTEXT;
  return load(context, out, image);
}
GPUSIM_EXPORT CUresult cuModuleLoad(CUmodule *out, const char *path) {
  NEED_CONTEXT;
  NEED(path, CUDA_ERROR_INVALID_VALUE);
  std::ifstream file(path, std::ios::binary);
  NEED(file, CUDA_ERROR_FILE_NOT_FOUND);
  std::stringstream text;
  text << file.rdbuf();
  std::string bytes = text.str();
  bytes.resize(bytes.size() + 64); // room to look at a header
  return load(context, out, bytes.data());
}

static bool isModule(CUmodule m) {
  std::lock_guard<std::mutex> lock(State::get().mutex);
  return State::get().modules.count(m);
}

GPUSIM_EXPORT CUresult cuModuleUnload(CUmodule m) {
  NEED_CONTEXT;
  NEED(isModule(m), CUDA_ERROR_INVALID_HANDLE);
  State::get().hostWait(m->context); // its kernels may still be running
  {
    std::lock_guard<std::mutex> lock(State::get().mutex);
    State::get().modules.erase(m);
  }
  for (auto &f : m->functions)
    delete f.second;
  delete m;
  return CUDA_SUCCESS;
}

GPUSIM_EXPORT CUresult cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name) {
  NEED_CONTEXT;
  NEED(out && name, CUDA_ERROR_INVALID_VALUE);
  NEED(isModule(m), CUDA_ERROR_INVALID_HANDLE);
  auto k = m->module->kernels.find(name);
  NEED(k != m->module->kernels.end(), CUDA_ERROR_NOT_FOUND);
  std::lock_guard<std::mutex> lock(State::get().mutex);
  CUfunction &f = m->functions[name];
  if (!f) {
    f = new CUfunc_st;
    f->module = m;
    f->kernel = k->second.get();
  }
  *out = f;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuModuleGetFunctionCount(unsigned *count, CUmodule m) {
  NEED_CONTEXT;
  NEED(isModule(m), CUDA_ERROR_INVALID_HANDLE);
  *count = m->module->kernels.size();
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuModuleGetGlobal_v2(CUdeviceptr *ptr, size_t *bytes, CUmodule m, const char *name) {
  NEED_CONTEXT;
  NEED(isModule(m) && name, CUDA_ERROR_INVALID_HANDLE);
  auto g = m->module->globals.find(name);
  NEED(g != m->module->globals.end(), CUDA_ERROR_NOT_FOUND);
  if (ptr)
    *ptr = g->second->base;
  if (bytes)
    *bytes = g->second->size;
  return CUDA_SUCCESS;
}

// A library is a module here, and a kernel a function.
GPUSIM_EXPORT CUresult cuLibraryLoadData(CUlibrary *out, const void *code, int *, void **, unsigned, int *, void **,
                                         unsigned) {
  return cuModuleLoadData((CUmodule *)out, code);
}
GPUSIM_EXPORT CUresult cuLibraryUnload(CUlibrary l) { return cuModuleUnload((CUmodule)l); }
GPUSIM_EXPORT CUresult cuLibraryGetKernel(CUkernel *out, CUlibrary l, const char *name) {
  return cuModuleGetFunction((CUfunction *)out, (CUmodule)l, name);
}
GPUSIM_EXPORT CUresult cuLibraryGetModule(CUmodule *out, CUlibrary l) {
  *out = (CUmodule)l;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuKernelGetFunction(CUfunction *out, CUkernel k) {
  *out = (CUfunction)k;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuLibraryGetGlobal(CUdeviceptr *ptr, size_t *bytes, CUlibrary l, const char *name) {
  return cuModuleGetGlobal_v2(ptr, bytes, (CUmodule)l, name);
}

//===-- Functions ---------------------------------------------------------===//

static int registersOf(CUfunction f) {
  const StaticFacts *facts = ptxasFacts(*f->module->module, f->kernel->name);
  return facts ? facts->registers : f->kernel->estimatedRegisters;
}

static int maxThreadsOf(const Kernel &k) {
  unsigned n = k.maxThreads[0] * k.maxThreads[1] * k.maxThreads[2];
  unsigned r = k.reqThreads[0] * k.reqThreads[1] * k.reqThreads[2];
  return r ? r : n && n < 1024 ? n : 1024;
}

GPUSIM_EXPORT CUresult cuFuncGetAttribute(int *value, int attribute, CUfunction f) {
  NEED_CONTEXT;
  NEED(value, CUDA_ERROR_INVALID_VALUE);
  NEED(f, CUDA_ERROR_INVALID_HANDLE);
  switch (attribute) { // CUfunction_attribute
  case 0:
    *value = maxThreadsOf(*f->kernel);
    break;
  case 1:
    *value = f->kernel->declaredShared;
    break;
  case 2:
    *value = 0;
    break;
  case 3:
    *value = f->kernel->localBytes;
    break;
  case 4:
    *value = registersOf(f);
    break;
  case 5:
  case 6:
    *value = Settings::get().arch;
    break;
  case 8:
    *value = f->maxDynamicShared;
    break;
  case 9:
    *value = f->carveout;
    break;
  default:
    *value = 0;
  }
  return CUDA_SUCCESS;
}

GPUSIM_EXPORT CUresult cuFuncSetAttribute(CUfunction f, int attribute, int value) {
  NEED_CONTEXT;
  NEED(f, CUDA_ERROR_INVALID_HANDLE);
  if (attribute == 8) {
    const int most = limitsOf(Settings::get().arch).sharedPerBlock - f->kernel->declaredShared;
    NEED(value >= 0 && value <= most, CUDA_ERROR_INVALID_VALUE);
    f->maxDynamicShared = value;
  } else if (attribute == 9) {
    f->carveout = value;
  } else {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuFuncSetCacheConfig(CUfunction, int) {
  NEED_CONTEXT;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuFuncGetModule(CUmodule *out, CUfunction f) {
  NEED_CONTEXT;
  *out = f->module;
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuFuncGetName(const char **name, CUfunction f) {
  NEED_CONTEXT;
  *name = f->kernel->name.c_str();
  return CUDA_SUCCESS;
}

GPUSIM_EXPORT CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction f, int threads,
                                                                   size_t shared) {
  NEED_CONTEXT;
  NEED(blocks && f && threads > 0, CUDA_ERROR_INVALID_VALUE);
  *blocks = blocksPerSM(Settings::get().arch, threads, registersOf(f), f->kernel->declaredShared + shared);
  return CUDA_SUCCESS;
}
GPUSIM_EXPORT CUresult cuOccupancyMaxPotentialBlockSize(int *grid, int *block, CUfunction f, CUoccupancyB2DSize size,
                                                        size_t shared, int limit) {
  NEED_CONTEXT;
  NEED(grid && block && f, CUDA_ERROR_INVALID_VALUE);
  int most = maxThreadsOf(*f->kernel), best = 0;
  if (limit > 0 && limit < most)
    most = limit;
  for (int n = most / 32 * 32; n >= 32; n -= 32) {
    int fit =
        blocksPerSM(Settings::get().arch, n, registersOf(f), f->kernel->declaredShared + (size ? size(n) : shared));
    if (fit * n > best) {
      best = fit * n;
      *block = n;
      *grid = fit * limitsOf(Settings::get().arch).multiprocessors;
    }
  }
  return best ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

//===-- Launches ----------------------------------------------------------===//

static CUresult errorOf(FaultKind k) {
  switch (k) {
  case FaultKind::IllegalAddress:
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  case FaultKind::Misaligned:
    return CUDA_ERROR_MISALIGNED_ADDRESS;
  case FaultKind::Assert:
    return CUDA_ERROR_ASSERT;
  case FaultKind::Illegal:
    return CUDA_ERROR_ILLEGAL_INSTRUCTION;
  case FaultKind::Timeout:
    return CUDA_ERROR_LAUNCH_TIMEOUT;
  default:
    return CUDA_ERROR_LAUNCH_FAILED;
  }
}

/// Parameters come as one pointer each, or as one packed buffer.
static CUresult packParams(const Kernel &k, void **params, void **extra, std::vector<uint8_t> &out) {
  out.assign(k.paramBytes, 0);
  if (params) {
    for (size_t n = 0; n < k.params.size(); ++n) {
      NEED(params[n], CUDA_ERROR_INVALID_VALUE);
      memcpy(&out[k.params[n].first], params[n], k.params[n].second);
    }
    return CUDA_SUCCESS;
  }
  const void *buffer = nullptr;
  size_t bytes = 0;
  for (void **p = extra; p && *p; p += 2) { // CU_LAUNCH_PARAM_*
    if (*p == (void *)1)
      buffer = p[1];
    else if (*p == (void *)2)
      bytes = *(size_t *)p[1];
    else
      return CUDA_ERROR_INVALID_VALUE;
  }
  NEED(bytes >= k.paramBytes, CUDA_ERROR_INVALID_VALUE);
  if (k.paramBytes)
    memcpy(out.data(), buffer, k.paramBytes);
  return CUDA_SUCCESS;
}

static CUresult checkLaunch(CUfunction f, const LaunchConfig &c) {
  const Kernel &k = *f->kernel;
  uint64_t threads = (uint64_t)c.block[0] * c.block[1] * c.block[2];
  NEED(threads && threads <= 1024 && c.block[2] <= 64, CUDA_ERROR_INVALID_VALUE);
  NEED(c.grid[0] && c.grid[1] && c.grid[2] && c.grid[0] <= 0x7fffffff && c.grid[1] <= 65535 && c.grid[2] <= 65535,
       CUDA_ERROR_INVALID_VALUE);
  NEED(threads <= (uint64_t)maxThreadsOf(k), CUDA_ERROR_INVALID_VALUE);
  for (int n = 0; n < 3; ++n)
    NEED(!k.reqThreads[0] || k.reqThreads[n] == c.block[n], CUDA_ERROR_INVALID_VALUE);
  NEED(c.dynamicShared <= (unsigned)f->maxDynamicShared, CUDA_ERROR_INVALID_VALUE);
  NEED(k.declaredShared + c.dynamicShared <= limitsOf(Settings::get().arch).sharedPerBlock, CUDA_ERROR_INVALID_VALUE);
  return CUDA_SUCCESS;
}

static KernelFacts factsOf(CUfunction f, const LaunchConfig &c) {
  KernelFacts facts;
  facts.name = f->kernel->name;
  facts.registers = registersOf(f);
  facts.registersFromPtxas = ptxasFacts(*f->module->module, f->kernel->name) != nullptr;
  facts.staticShared = f->kernel->declaredShared;
  facts.dynamicShared = c.dynamicShared;
  facts.threads = c.block[0] * c.block[1] * c.block[2];
  facts.blocksPerSM =
      blocksPerSM(Settings::get().arch, facts.threads, facts.registers, facts.staticShared + facts.dynamicShared);
  facts.warpsPerSM = facts.blocksPerSM * ((facts.threads + 31) / 32);
  return facts;
}

static CUresult runLaunch(CUfunction f, const LaunchConfig &c, Operation &op) {
  const Settings &s = Settings::get();
  LaunchOptions o;
  o.seed = s.seed * 7919 + op.number + op.stream * 104729;
  o.cores = s.cores;
  o.maxWarpInsts = s.maxBranches;
  o.checkInit = s.checkInit;
  o.checkRaces = s.checkRaces;
  LaunchResult r = runKernel(*f->kernel, c, o);
  op.accesses = std::move(r.accesses);
  op.kernel = f->module->module->kernels.at(f->kernel->name);
  std::copy(c.grid, c.grid + 3, op.grid);
  std::copy(c.block, c.block + 3, op.block);
  addLaunch(factsOf(f, c), c, r.counters);
  if (!r.fault)
    return CUDA_SUCCESS;
  State::get().report(r.fault->describe());
  return errorOf(r.fault->kind);
}

static CUresult launch(CUfunction f, const unsigned *grid, const unsigned *block, unsigned shared, CUstream handle,
                       void **params, void **extra) {
  NEED_CONTEXT;
  NEED_STREAM(handle);
  NEED(f, CUDA_ERROR_INVALID_HANDLE);
  LaunchConfig c;
  std::copy(grid, grid + 3, c.grid);
  std::copy(block, block + 3, c.block);
  c.dynamicShared = shared;
  if (CUresult r = packParams(*f->kernel, params, extra, c.params))
    return r;
  if (CUresult r = checkLaunch(f, c))
    return r;
  return State::get().submit(stream, "kernel '" + f->kernel->name + "'",
                             [f, c](Operation &op) { return runLaunch(f, c, op); });
}

GPUSIM_EXPORT CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                                      unsigned bz, unsigned shared, CUstream s, void **params, void **extra) {
  const unsigned grid[] = {gx, gy, gz}, block[] = {bx, by, bz};
  return launch(f, grid, block, shared, s, params, extra);
}
GPUSIM_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra) {
  NEED(c, CUDA_ERROR_INVALID_VALUE);
  const unsigned grid[] = {c->gridDimX, c->gridDimY, c->gridDimZ}, block[] = {c->blockDimX, c->blockDimY, c->blockDimZ};
  return launch(f, grid, block, c->sharedMemBytes, c->hStream, params, extra);
}
/// Blocks run one after another, so a barrier over the grid cannot complete.
GPUSIM_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                                 unsigned, CUstream, void **) {
  return CUDA_ERROR_NOT_SUPPORTED;
}
