/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Transport between ranks that are threads of several MPI processes: rank r is
 * thread r % n of process r / n. Messages within a process go as between
 * threads, the others through MPI, one thread at a time. */
#ifndef RINGCONV_HYBRID_TRANSPORT_H
#define RINGCONV_HYBRID_TRANSPORT_H

#include "common/Context.h"

/* world: MPI, with the team of this process's ranks; the communicator has one
 * process for every team->size ranks. Collective over the processes when the
 * first rank of each comes. Sets context->transport. */
int32_t rcrt_hybrid_open(ringconv_context *context, const ringconv_world *world);

#endif
