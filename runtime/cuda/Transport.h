/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Ranks that know each other through NCCL alone: by a communicator of the
 * caller, or by the address in NCCL_COMM_ID. Messages of the host, of which only
 * agreements are left, go through device memory. */
#ifndef RINGCONV_CUDA_TRANSPORT_H
#define RINGCONV_CUDA_TRANSPORT_H

#include "common/Context.h"

/* After rcrt_cuda_open. Collective: ranks compare the hashes of their programs.
 * Sets context->transport. */
int32_t rcrt_nccl_open(ringconv_context *context, const ringconv_world *world);

#endif
