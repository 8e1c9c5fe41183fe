/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Memory on the GPU of a rank, for callers whose arrays are the host's. All of
 * it is on the session's own stream: in the order of runs, complete after
 * ringconv_session_synchronize. */
#ifndef RINGCONV_CUDA_STAGING_H
#define RINGCONV_CUDA_STAGING_H

#include "common/Context.h"

/* At least one byte; NULL with the context's error. */
void *rcrt_stage_allocate(ringconv_context *context, int64_t bytes);
void rcrt_stage_release(ringconv_context *context, void *data);
int32_t rcrt_stage_upload(ringconv_context *context, void *device, const void *host, int64_t bytes);
int32_t rcrt_stage_download(ringconv_context *context, void *host, const void *device, int64_t bytes);

#endif
