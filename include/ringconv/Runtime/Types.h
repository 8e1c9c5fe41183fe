/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The types that callers of compiled programs use. Headers of emitted
 * libraries hold a copy of this file.
 */
#ifndef RINGCONV_RUNTIME_TYPES_H
#define RINGCONV_RUNTIME_TYPES_H

#include <stdint.h>

/* Changes whenever a structure or a call of ringconv/Runtime changes. */
#define RINGCONV_ABI_VERSION 1u

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ringconv_session ringconv_session;

/* What all ranks that are threads of one process share. Made by one thread,
 * for `size` ranks; lives until after the last session on it is destroyed. */
typedef struct ringconv_team ringconv_team;

enum { RINGCONV_TRANSPORT_THREADS = 0, RINGCONV_TRANSPORT_MPI = 1 };

/* rank: this caller's number among `size` threads or processes (the mesh's
 * device_ids say which position in the mesh it plays). */
typedef struct ringconv_world {
  int64_t rank, size;
  int32_t transport;
  ringconv_team *team; /* threads: shared by all; NULL is right for size 1 */
  int32_t mpi_comm;    /* MPI: the MPI_Fint of a communicator of `size` processes */
} ringconv_world;

typedef struct ringconv_options {
  uint32_t abi_version; /* RINGCONV_ABI_VERSION of the header the caller was compiled with */
  double timeout;       /* seconds that a wait may take; 0: 60 */
} ringconv_options;

/* Totals of this rank since create. */
typedef struct ringconv_counters {
  int64_t messages_sent, bytes_sent, messages_received, bytes_received, reductions, multiply_adds;
} ringconv_counters;

#ifdef __cplusplus
}
#endif
#endif
