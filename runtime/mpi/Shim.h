/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Between the runtime and the one small library per MPI implementation, which
 * alone is compiled against mpi.h: MPI implementations agree on no binary
 * interface. The runtime loads the library when it needs it.
 *
 * Before it loads a file the runtime looks for the mark in its bytes, so that
 * code of a foreign library never runs:
 *   RINGCONV_MPI_MARK "2 for openmpi."
 */
#ifndef RINGCONV_MPI_SHIM_H
#define RINGCONV_MPI_SHIM_H

#include <stdint.h>

#define RINGCONV_MPI_ABI 2
#define RINGCONV_MPI_MARK "ringconv MPI transport, ABI "
#define RINGCONV_MPI_SYMBOL "ringconv_mpi_table"

/* Texts of errors are written to buffers of this size. */
enum { RINGCONV_MPI_TEXT = 320 };

typedef struct ringconv_mpi_link ringconv_mpi_link;

/* A box; strides in elements, of any sign. */
typedef struct ringconv_mpi_piece {
  void *data;
  int64_t element_size, rank;
  const int64_t *sizes, *strides;
} ringconv_mpi_piece;

typedef struct ringconv_mpi_message {
  int32_t peer, num_pieces; /* peer: rank in the communicator */
  int64_t position;         /* of the peer in the mesh, for the caller's messages */
  int64_t lane;             /* below the batch's `lanes`: messages of different lanes never meet */
  const ringconv_mpi_piece *pieces;
  int64_t bytes;
  int64_t got; /* receives, once done: bytes that came; -1: not done */
} ringconv_mpi_message;

/* Receives come first. `state` belongs to the library: zero before the first
 * post, kept from one post to the next, given back by release. */
typedef struct ringconv_mpi_batch {
  int64_t tag;   /* any number; the library fits it to MPI's range */
  int64_t lanes; /* at least 1 */
  int64_t num_receives, num_messages;
  ringconv_mpi_message *messages;
  void *state;
} ringconv_mpi_batch;

/* Functions that return int give 0, or an error and its text. None blocks but
 * init, finalize and close. */
typedef struct ringconv_mpi_functions {
  uint32_t abi_version;
  const char *implementation; /* "openmpi", "mpich", "other" */
  /* For the driver. */
  int (*init)(char *text);
  void (*world)(int32_t *comm, int64_t *rank, int64_t *size);
  void (*finalize)(void);
  void (*abort_all)(int code);
  /* Whether several threads may call MPI, one at a time. */
  int (*serialized)(void);
  /* A private duplicate of a communicator. *link is set at once, and may be
   * used after open_test has said done. */
  int (*open)(int32_t comm, ringconv_mpi_link **link, int64_t *rank, int64_t *size, char *text);
  int (*open_test)(ringconv_mpi_link *link, int *done, char *text);
  int (*post)(ringconv_mpi_link *link, ringconv_mpi_batch *batch, char *text);
  int (*test)(ringconv_mpi_link *link, ringconv_mpi_batch *batch, int *done, char *text);
  /* Number of a message of the batch that is not complete, -1 if none. */
  int64_t (*pending)(ringconv_mpi_link *link, ringconv_mpi_batch *batch);
  /* Takes back receives; sends that have begun cannot be taken back. */
  void (*abandon)(ringconv_mpi_link *link, ringconv_mpi_batch *batch);
  void (*release)(ringconv_mpi_batch *batch);
  /* Tells all others that `number` failed; whether one of them has told. */
  void (*tell)(ringconv_mpi_link *link, int32_t number);
  int (*told)(ringconv_mpi_link *link, int32_t *number);
  void (*close)(ringconv_mpi_link *link, int failed);
} ringconv_mpi_functions;

#endif
