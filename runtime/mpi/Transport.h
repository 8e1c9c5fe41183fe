/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Transport between ranks that are MPI processes. */
#ifndef RINGCONV_MPI_TRANSPORT_H
#define RINGCONV_MPI_TRANSPORT_H

#include "common/Context.h"

/* comm: MPI_Fint of a communicator whose rank r plays the position of the mesh
 * with device_ids r. Collective. Sets context->transport. */
int32_t rcrt_mpi_open(ringconv_context *context, int32_t comm);

#endif
