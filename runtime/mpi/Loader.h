/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Finds and loads the transport library of an MPI implementation. */
#ifndef RINGCONV_MPI_LOADER_H
#define RINGCONV_MPI_LOADER_H

#include "common/Base.h"
#include "mpi/Shim.h"

/* implementation: "openmpi", "mpich", or NULL for the one that this process
 * has loaded already, else any. NULL: `text` (RCRT_TEXT) says why. The library
 * stays loaded: MPI cannot be begun twice. */
const ringconv_mpi_functions *rcrt_mpi_load(const char *implementation, char *text);

#endif
