/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A driver of CUDA 11.8 that has every function, of which none may be called but
 * the one that gives the version. */
#include <stdlib.h>
#include <string.h>

static int answer(const char *name, int *version) {
  if (strcmp(name, "cuDriverGetVersion"))
    abort();
  *version = 11080;
  return 0;
}

#define CUDA(name, parameters, arguments)                                                                              \
  int name(int *first) { return answer(#name, first); }
#define NCCL(name, parameters, arguments)
#include "cuda/EntryPoints.def"
