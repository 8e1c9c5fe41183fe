/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "cuda/Driver.h"

#include "ringconv/Runtime/CudaCalls.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where gpusim's libraries are, besides lib/gpusim beside the program. */
#ifndef RINGCONV_GPUSIM_FOLDER
#define RINGCONV_GPUSIM_FOLDER ""
#endif

/* What a stub gives whose library was never opened; the numbers are the driver's
 * and NCCL's own for that. */
enum { CUDA_NOT_INITIALIZED = 3, NCCL_SYSTEM_ERROR = 2 };

static struct {
#define CUDA(name, parameters, arguments) CUresult(*name) parameters;
#define NCCL(name, parameters, arguments) ncclResult_t(*name) parameters;
#include "cuda/EntryPoints.def"
#undef CUDA
#undef NCCL
  const char *(*ncclGetErrorString)(ncclResult_t);
} bound;

#define CUDA(name, parameters, arguments)                                                                              \
  CUresult name parameters { return bound.name ? bound.name arguments : CUDA_NOT_INITIALIZED; }
#define NCCL(name, parameters, arguments)                                                                              \
  ncclResult_t name parameters { return bound.name ? bound.name arguments : NCCL_SYSTEM_ERROR; }
#include "cuda/EntryPoints.def"
#undef CUDA
#undef NCCL

const char *rcrt_nccl_text(ncclResult_t status) {
  return bound.ncclGetErrorString ? bound.ncclGetErrorString(status) : "NCCL is not loaded";
}

static const rcrt_entry cuda_entries[] = {
#define CUDA(name, parameters, arguments) {#name, (void **)&bound.name},
#define NCCL(name, parameters, arguments)
#include "cuda/EntryPoints.def"
#undef CUDA
#undef NCCL
};

static const rcrt_entry nccl_entries[] = {
#define CUDA(name, parameters, arguments)
#define NCCL(name, parameters, arguments) {#name, (void **)&bound.name},
#include "cuda/EntryPoints.def"
#undef CUDA
#undef NCCL
    {"ncclGetErrorString", (void **)&bound.ncclGetErrorString},
};

static const ringconv_cuda_symbol symbols[] = {
#define CUDA(name, parameters, arguments) {#name, (void *)(uintptr_t)name},
#define NCCL(name, parameters, arguments) {#name, (void *)(uintptr_t)name},
#include "cuda/EntryPoints.def"
#undef CUDA
#undef NCCL
};

RCRT_API const ringconv_cuda_symbol *ringconv_cuda_symbols(int64_t *count) {
  *count = (int64_t)(sizeof symbols / sizeof *symbols);
  return symbols;
}

/* ---- Opening ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char folder[PATH_MAX]; /* "" : wherever the system finds them */
static bool cuda_open, nccl_open;

bool rcrt_bind(const char *library, const rcrt_entry *entries, size_t count, const char *what, char *text) {
  char path[PATH_MAX + 32];
  bool beside = *folder && !strchr(library, '/');
  snprintf(path, sizeof path, "%s%s%s", beside ? folder : "", beside ? "/" : "", library);
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    snprintf(text, RCRT_TEXT, "no %s: %s", what, dlerror());
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    *entries[i].target = dlsym(handle, entries[i].name);
    if (!*entries[i].target) {
      snprintf(text, RCRT_TEXT, "the %s in %s is too old: it lacks %s", what, library, entries[i].name);
      return false;
    }
  }
  return true;
}

bool rcrt_cuda_load(char *text) {
  pthread_mutex_lock(&lock);
  if (!cuda_open)
    cuda_open =
        rcrt_bind("libcuda.so.1", cuda_entries, sizeof cuda_entries / sizeof *cuda_entries, "CUDA driver", text);
  bool ok = cuda_open;
  pthread_mutex_unlock(&lock);
  return ok;
}

bool rcrt_nccl_load(char *text) {
  pthread_mutex_lock(&lock);
  if (!nccl_open)
    nccl_open = rcrt_bind("libnccl.so.2", nccl_entries, sizeof nccl_entries / sizeof *nccl_entries, "NCCL", text);
  bool ok = nccl_open;
  pthread_mutex_unlock(&lock);
  return ok;
}

static bool has_library(const char *path) {
  char file[PATH_MAX + 32];
  snprintf(file, sizeof file, "%s/libcuda.so.1", path);
  return *path && access(file, R_OK) == 0;
}

/* lib/gpusim beside the folder of the running program. */
static void beside_program(char *path, size_t size) {
  char self[PATH_MAX];
  ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  *path = 0;
  for (int up = 0; length > 0 && up < 2; ++up) {
    self[length] = 0;
    char *slash = strrchr(self, '/');
    length = slash ? slash - self : 0;
  }
  if (length > 0)
    snprintf(path, size, "%.*s/lib/gpusim", (int)length, self);
}

bool rcrt_cuda_simulate(char *text) {
  const char *given = getenv("GPUSIM_LIBRARY_DIR");
  char beside[PATH_MAX];
  beside_program(beside, sizeof beside);
  const char *places[] = {given ? given : "", beside, RINGCONV_GPUSIM_FOLDER};
  for (size_t i = 0; i < 3; ++i)
    if (has_library(places[i])) {
      snprintf(folder, sizeof folder, "%s", places[i]);
      return true;
    }
  snprintf(text, RCRT_TEXT, "--simulate: gpusim's libcuda.so.1 is neither in %s nor where GPUSIM_LIBRARY_DIR says",
           *beside ? beside : "lib/gpusim");
  return false;
}
