/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The types that callers of compiled programs use. Headers of emitted
 * libraries hold a copy of this file.
 */
#ifndef RINGCONV_RUNTIME_TYPES_H
#define RINGCONV_RUNTIME_TYPES_H

#include <stdint.h>

/* Changes whenever a structure or a call of ringconv/Runtime changes. */
#define RINGCONV_ABI_VERSION 2u

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ringconv_session ringconv_session;

/* What all ranks that are threads of one process share. Made by one thread,
 * for `size` ranks; lives until after the last session on it is destroyed. */
typedef struct ringconv_team ringconv_team;

/* How ranks find each other. NCCL (target cuda only): through the caller's
 * communicator, or without one through the address in NCCL_COMM_ID. */
enum { RINGCONV_TRANSPORT_THREADS = 0, RINGCONV_TRANSPORT_MPI = 1, RINGCONV_TRANSPORT_NCCL = 2 };

/* The rank's number among threads, its number on this machine for processes, or
 * the only GPU that is visible. */
enum { RINGCONV_DEVICE_AUTO = -1 };

/* rank: this caller's number among `size` threads or processes (the mesh's
 * device_ids say which position in the mesh it plays). */
typedef struct ringconv_world {
  int64_t rank, size;
  int32_t transport;
  ringconv_team *team; /* threads: shared by all; NULL is right for size 1 */
  /* MPI: the MPI_Fint of a communicator of `size` processes; with a team of n
   * ranks, of size / n processes: rank r is thread r % n of process r / n. */
  int32_t mpi_comm;
  int32_t device;      /* target cuda: number of the GPU among the visible ones, or RINGCONV_DEVICE_AUTO */
  void *nccl_comm;     /* NCCL: an ncclComm_t of `size` ranks, of which the caller is `rank`; stays the caller's */
} ringconv_world;

typedef struct ringconv_options {
  uint32_t abi_version; /* RINGCONV_ABI_VERSION of the header the caller was compiled with */
  double timeout;       /* seconds that a wait may take; 0: 60 */
  /* Target cuda: device memory, aligned to 256 bytes, from the caller; NULL: from
   * the driver. `release` gets what `allocate` gave. */
  void *(*allocate)(void *allocator, int64_t bytes);
  void (*release)(void *allocator, void *data);
  void *allocator;
} ringconv_options;

/* Totals of this rank since create. */
typedef struct ringconv_counters {
  int64_t messages_sent, bytes_sent, messages_received, bytes_received, reductions, multiply_adds;
} ringconv_counters;

#ifdef __cplusplus
}
#endif
#endif
