/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Making communicators, which NCCL does only when all ranks have come, and waits
 * for without end. Here it ends with the session's timeout. */
#ifndef RINGCONV_CUDA_JOIN_H
#define RINGCONV_CUDA_JOIN_H

#include "cuda/Device.h"

/* Collective. The GPU is current. */
int32_t rcrt_join_all(ringconv_context *context, ncclUniqueId id, ncclComm_t *all);
int32_t rcrt_join_split(ringconv_context *context, ncclComm_t all, int color, ncclComm_t *part);

#endif
