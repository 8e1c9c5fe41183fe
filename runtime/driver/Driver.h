/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The main function of executables, in parts:
 *   Flags    words of the command line
 *   Launch   threads of this process, or one rank under a launcher
 *   Rank     what each rank does: inputs, runs, check, outputs
 *   Arrays   local shards: memory, files, generated values;  Device: on a GPU
 *   Outputs  files that appear when complete
 *   Check    comparison with the uncut program
 *   Report   table and JSON;  Trace: Chrome trace events
 */
#ifndef RINGCONV_DRIVER_DRIVER_H
#define RINGCONV_DRIVER_DRIVER_H

#include "common/Safetensors.h"
#include "common/SessionState.h"

#include <pthread.h>
#include <stdio.h>

/* ---- Flags ---- */
enum { RCRT_TRANSPORT_AUTO = -1 };

typedef struct rcrt_flags {
  const char **inputs, **outputs; /* files by number, NULL where none is given */
  bool check, report, help, version, has_rtol, graph, simulate, deterministic;
  double rtol, timeout;
  uint64_t seed;
  int64_t repeat, ranks_per_process;
  int32_t transport;
  const char *json, *trace, *params;
} rcrt_flags;

/* program NULL: inputs and outputs are checked as words only. false: `text`. */
bool rcrt_parse_flags(int argc, char **argv, const ringconv_program *program, rcrt_flags *flags, char *text);
void rcrt_free_flags(rcrt_flags *flags);
void rcrt_print_help(const char *name, const ringconv_program *program);

/* ---- What ranks know of each other ---- */
typedef struct rcrt_compared {
  double max_error, bound;
  int64_t elements, bad, first_bad; /* first_bad: global linear index, -1 for none */
  int64_t identical;
} rcrt_compared;

typedef struct rcrt_op_report {
  double seconds, wait_seconds; /* per run */
  double messages_sent, bytes_sent, messages_received, bytes_received;
} rcrt_op_report;

/* One rank's part of the report, in one piece of memory so that it can travel:
 * the header, then compared[outputs], ops[ops], seconds[repeat]. */
typedef struct rcrt_summary {
  double median;
  ringconv_counters counters;
  int64_t process_memory; /* most bytes that this rank's process had resident; 0: not known */
} rcrt_summary;

typedef struct rcrt_driver {
  const char *name; /* for messages */
  const ringconv_program *program;
  rcrt_flags flags;
  int32_t transport;
  int64_t size;
  ringconv_team *team;
  rcrt_safetensors params; /* mapped for the life of the driver; nothing without --params */
  int64_t summary_bytes;
  char *summaries; /* of all positions */
  char token[40];  /* of temporary files, the same on all ranks */
  int64_t epoch;   /* time 0 of the trace */
  char **traces;   /* texts of all positions */
  size_t *trace_sizes;
  void **reference; /* global outputs of the uncut program */
  /* Agreement of threads; see rcrt_agree. */
  pthread_mutex_t lock;
  pthread_cond_t turn;
  int64_t arrived, round;
  bool bad, verdicts[2];
} rcrt_driver;

typedef struct rcrt_device_shards rcrt_device_shards;

typedef struct rcrt_rank {
  rcrt_driver *driver;
  int64_t rank, position;
  ringconv_session *session;
  void **in, **out, **other; /* shards; other: outputs of later runs */
  const void **in_data, **parameters; /* what a run gets: of the device, if there is one */
  rcrt_device_shards *shards;         /* NULL on host */
  bool done;         /* everything succeeded, on all ranks */
  bool fatal;        /* MPI: peers may be gone, nothing collective is left to do */
  bool speaks;       /* MPI: the first of the ranks that failed together */
  int64_t agreed_at; /* time of the last agreement */
  int32_t code;
  char text[RCRT_TEXT];
} rcrt_rank;

static inline rcrt_summary *rcrt_summary_of(const rcrt_driver *d, int64_t position) {
  return (rcrt_summary *)(d->summaries + position * d->summary_bytes);
}
static inline rcrt_compared *rcrt_compared_of(const rcrt_driver *d, int64_t position) {
  return (rcrt_compared *)(rcrt_summary_of(d, position) + 1);
}
static inline rcrt_op_report *rcrt_ops_of(const rcrt_driver *d, int64_t position) {
  return (rcrt_op_report *)(rcrt_compared_of(d, position) + d->program->num_outputs);
}
static inline double *rcrt_seconds_of(const rcrt_driver *d, int64_t position) {
  return (double *)(rcrt_ops_of(d, position) + d->program->num_ops);
}

/* "input 0 (x)" */
void rcrt_operand_text(const ringconv_program *program, int32_t operand, char *text, size_t size);
/* "rank R: ..." of a rank's first error; false. */
bool rcrt_rank_error(rcrt_rank *r, const char *format, ...) RCRT_PRINTF(2, 3);
void rcrt_print_error(const rcrt_driver *d, const char *format, ...) RCRT_PRINTF(2, 3);

/* ---- Rank ---- */
/* All that one rank does, to the last agreement. */
void rcrt_run_rank(rcrt_rank *r);
void rcrt_free_rank(rcrt_rank *r);
/* Whether every rank says `ok`; all ranks call it equally often. */
bool rcrt_agree(rcrt_rank *r, bool ok);
bool rcrt_gather(rcrt_rank *r, const void *mine, int64_t bytes, void *all);

/* ---- Arrays ---- */
/* Memory for a dense box; false: `text`. Never NULL, even without elements. */
bool rcrt_allocate_box(const ringconv_operand *operand, const int64_t *sizes, void **data, char *text);
/* Whether the machine has the memory for the shards of `ranks` ranks like the one
 * at `position`; false: `text`. A system that promises more than it has would
 * end the process later, without a word. */
bool rcrt_shards_fit(const rcrt_driver *d, int64_t position, int64_t ranks, char *text);
/* The address of input `i` in the parameters' file, if it can be used there as
 * it is: a whole tensor that is neither given by another file nor cut. */
const void *rcrt_input_in_place(const rcrt_driver *d, int32_t i, const int64_t *sizes);
/* The box of input `i` from its file, or generated. */
bool rcrt_load_input(const rcrt_driver *d, int32_t i, const int64_t *offsets, const int64_t *sizes, void *data,
                     char *text);

/* ---- Device ---- */
/* Pinned memory for a shard. */
bool rcrt_device_allocate_host(rcrt_rank *r, int32_t operand, void **data);
void rcrt_device_free_host(rcrt_rank *r, void **data, int32_t count);
/* Shards on the device; those of inputs get their values. Sets what runs get. */
bool rcrt_device_prepare(rcrt_rank *r);
/* Communicators. Collective. */
bool rcrt_device_connect(rcrt_rank *r);
/* Ends them: each rank in its own thread. Collective. */
void rcrt_device_disconnect(rcrt_rank *r);
/* Operations are timed where flags want to know it, but not inside of a graph. */
bool rcrt_device_time(rcrt_rank *r);
/* One run to its end; the outputs to the host. An error's text is the session's. */
int32_t rcrt_device_run(rcrt_rank *r);
int32_t rcrt_device_download(rcrt_rank *r, void *const *out);
void rcrt_device_free(rcrt_rank *r);

/* ---- Outputs ---- */
/* Whether files can appear where the flags want them. */
bool rcrt_outputs_possible(const rcrt_driver *d, char *text);
/* Rank at position 0: makes the temporary files, whole but empty. */
bool rcrt_outputs_create(const rcrt_driver *d, char *text);
bool rcrt_outputs_write(const rcrt_driver *d, int64_t position, void *const *out, char *text);
/* Position 0: gives the files their names. */
bool rcrt_outputs_finish(const rcrt_driver *d, char *text);
void rcrt_outputs_discard(const rcrt_driver *d);
/* Writes a small text file completely or not at all. */
bool rcrt_write_text(const rcrt_driver *d, const char *path, const char *bytes, size_t size, char *text);
/* From here on SIGINT and SIGTERM remove temporary files; a process that `speaks`
 * says so, of SIGTERM only where no launcher sends it. */
void rcrt_outputs_guard(const rcrt_driver *d, bool speaks, bool launched);

/* ---- Check ---- */
/* Evaluates the uncut program into d->reference. */
bool rcrt_evaluate_reference(rcrt_driver *d, char *text);
void rcrt_free_reference(rcrt_driver *d);
void rcrt_compare_rank(rcrt_rank *r, rcrt_compared *compared);
/* Prints a line per output; false where one is beyond its bound. */
bool rcrt_print_check(const rcrt_driver *d);

/* ---- Report and Trace ---- */
void rcrt_fill_summary(rcrt_rank *r);
void rcrt_print_report(const rcrt_driver *d);
bool rcrt_write_json(const rcrt_driver *d, char *text);
/* This rank's events as JSON, without brackets; NULL: out of memory. */
char *rcrt_trace_text(const rcrt_rank *r, size_t *size);
bool rcrt_write_trace(const rcrt_driver *d, char *const *parts, const size_t *sizes, char *text);
/* A string with what JSON wants escaped. */
void rcrt_json_string(FILE *f, const char *text);

/* ---- Launch ---- */
typedef struct rcrt_launcher {
  int64_t rank, size;  /* size 0: started alone */
  const char *mpi;     /* "openmpi", "mpich", or NULL: any */
  const char *problem; /* a launcher that gives no ranks, with the remedy */
  char address[280];   /* host:port where NCCL may meet, of a launcher without MPI; "": none */
} rcrt_launcher;
rcrt_launcher rcrt_find_launcher(void);
/* Run all ranks as threads, or this process's rank; the exit code. */
int rcrt_launch_threads(rcrt_driver *d);
int rcrt_launch_mpi(rcrt_driver *d, const rcrt_launcher *launcher);
int rcrt_launch_nccl(rcrt_driver *d, const rcrt_launcher *launcher);
/* An error that every rank of a launcher finds: the first one says it. 1. */
int rcrt_refuse(const rcrt_driver *d, const rcrt_launcher *launcher, const char *text);
/* Memory for what ranks know of each other; false: `text`. */
bool rcrt_allocate_driver(rcrt_driver *d, char *text);
void rcrt_free_driver(rcrt_driver *d);

#endif
