/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Transport between ranks that are MPI processes. */
#ifndef RINGCONV_MPI_TRANSPORT_H
#define RINGCONV_MPI_TRANSPORT_H

#include "common/Context.h"
#include "mpi/Shim.h"

/* comm: MPI_Fint of a communicator whose rank r plays the position of the mesh
 * with device_ids r. Collective: ranks compare the hashes of their programs.
 * Sets context->transport. */
int32_t rcrt_mpi_open(ringconv_context *context, int32_t comm);

/* The same without comparing, for a context without a program: positions are
 * then ranks of the communicator. */
int32_t rcrt_mpi_connect(ringconv_context *context, const ringconv_mpi_functions *mpi, int32_t comm);

/* ---- For ranks that are threads of several processes ---- */

extern const rcrt_transport rcrt_mpi;

/* Makes the connection of a process one that its ranks join, and takes it out
 * of the context; the last rank to close ends it. */
void *rcrt_mpi_share(ringconv_context *process);
void rcrt_mpi_join(ringconv_context *context, void *far);
/* Looks whether all far messages of the group have come and gone. */
int32_t rcrt_mpi_progress(ringconv_context *context, rcrt_group *group, bool *complete);
/* The peer of a far message that is not complete, or -1, and which way it goes. */
int64_t rcrt_mpi_pending(ringconv_context *context, const rcrt_group *group, bool *receives);
/* rcrt_transport's take. */
int32_t rcrt_mpi_take(ringconv_context *context, rcrt_group *group, rcrt_message *message);
/* Gives the core away, the longer the more. */
void rcrt_mpi_rest(int64_t polls);

#endif
