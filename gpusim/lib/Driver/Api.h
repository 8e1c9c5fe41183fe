// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks that nearly every entry point makes first.
#ifndef GPUSIM_DRIVER_API_H
#define GPUSIM_DRIVER_API_H

#include "State.h"

#define GPUSIM_EXPORT extern "C" __attribute__((visibility("default")))

/// Fails unless the driver is initialised.
#define NEED_INIT                                                                                                      \
  if (!gpusim::State::get().ready())                                                                                   \
  return CUDA_ERROR_NOT_INITIALIZED

/// Defines `context`, the current one; reports its sticky error.
#define NEED_CONTEXT                                                                                                   \
  NEED_INIT;                                                                                                           \
  CUctx_st *context = gpusim::State::current();                                                                        \
  if (!context)                                                                                                        \
    return CUDA_ERROR_INVALID_CONTEXT;                                                                                 \
  if (int stickyError = context->sticky)                                                                               \
  return stickyError

/// Defines `stream` from a handle.
#define NEED_STREAM(handle)                                                                                            \
  CUstream stream = gpusim::State::get().stream(handle);                                                               \
  if (!stream)                                                                                                         \
  return CUDA_ERROR_INVALID_HANDLE

#define NEED(condition, error)                                                                                         \
  if (!(condition))                                                                                                    \
  return error

#endif // GPUSIM_DRIVER_API_H
