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

#endif
