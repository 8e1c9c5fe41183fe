/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Ranges in NVIDIA's profilers (NVTX), named by operation and place in the user's
 * program. A profiler announces its library in NVTX_INJECTION64_PATH; without it,
 * nothing is opened and these do nothing. */
#ifndef RINGCONV_CUDA_NVTX_H
#define RINGCONV_CUDA_NVTX_H

#include "common/Context.h"

/* Ranges of a thread nest. */
void rcrt_range_begin(const char *what, const char *label, const char *location);
void rcrt_range_end(void);

/* The range of an exchange, named by the first operation that needs it. */
void rcrt_range_begin_exchange(const ringconv_context *context, const char *what, int64_t exchange);

#endif
