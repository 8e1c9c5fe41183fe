/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Who started us, and ranks as threads. */
#include "driver/Driver.h"

#include "common/Shard.h"
#include "host/Crew.h"
#include "host/Threads.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int64_t number_of(const char *name) {
  const char *value = getenv(name);
  return value && *value ? strtoll(value, NULL, 10) : -1;
}

/* "node[03-17,20],other" -> "node03" */
static void first_host(const char *list, char *host, size_t size) {
  size_t n = strcspn(list, ",[");
  int length = (int)n;
  if (list[n] == '[') {
    size_t digits = strcspn(list + n + 1, ",-]");
    snprintf(host, size, "%.*s%.*s", length, list, (int)digits, list + n + 1);
  } else {
    snprintf(host, size, "%.*s", length, list);
  }
}

/* Where rank 0 listens: as torchrun says it, whose agent may listen at that port
 * itself; or on the first node of a step of Slurm, at a port that follows from the
 * job. */
static void find_address(rcrt_launcher *l) {
  const char *host = getenv("MASTER_ADDR"), *agent = getenv("TORCHELASTIC_USE_AGENT_STORE");
  const char *nodes = getenv("SLURM_STEP_NODELIST");
  int64_t port = number_of("MASTER_PORT");
  char first[256];
  if (host && *host && port > 0) {
    bool taken = agent && !strcmp(agent, "True");
    snprintf(l->address, sizeof l->address, "%.255s:%d", host, (int)(port % 65535) + taken);
  } else if (nodes && *nodes) {
    int64_t job = number_of("SLURM_JOB_ID");
    first_host(nodes, first, sizeof first);
    snprintf(l->address, sizeof l->address, "%s:%d", first, (int)(20000 + (job > 0 ? job % 20000 : 0)));
  }
}

/* Only what a launcher sets for each process counts: SLURM_NTASKS alone also
 * stands in the environment of a batch script, which is one process. */
rcrt_launcher rcrt_find_launcher(void) {
  rcrt_launcher l = {0};
  if (getenv("OMPI_COMM_WORLD_SIZE")) {
    l = (rcrt_launcher){number_of("OMPI_COMM_WORLD_RANK"), number_of("OMPI_COMM_WORLD_SIZE"), "openmpi", NULL, ""};
  } else if (getenv("PMI_SIZE") || getenv("PMI_RANK")) {
    /* Hydra and srun --mpi=pmi2 both speak PMI to MPICH. */
    int64_t size = number_of("PMI_SIZE");
    l = (rcrt_launcher){number_of("PMI_RANK"), size > 0 ? size : number_of("SLURM_STEP_NUM_TASKS"), "mpich", NULL, ""};
  } else if (getenv("MPI_LOCALNRANKS")) {
    l = (rcrt_launcher){number_of("MPI_LOCALRANKID"), number_of("MPI_LOCALNRANKS"), "mpich", NULL, ""};
  } else if (getenv("PMIX_RANK")) {
    int64_t size = number_of("PMIX_SIZE");
    l = (rcrt_launcher){number_of("PMIX_RANK"), size > 0 ? size : number_of("SLURM_STEP_NUM_TASKS"), NULL, NULL, ""};
  } else if (number_of("SLURM_STEP_NUM_TASKS") > 1) {
    l.rank = number_of("SLURM_PROCID");
    l.size = number_of("SLURM_STEP_NUM_TASKS");
    l.problem = "srun gives no process management interface: use srun --mpi=pmix or --mpi=pmi2";
    find_address(&l);
  } else if (getenv("TORCHELASTIC_RUN_ID") && number_of("WORLD_SIZE") > 1) {
    l.rank = number_of("RANK");
    l.size = number_of("WORLD_SIZE");
    l.problem = "started by torchrun, but the host target needs mpirun or srun";
    find_address(&l);
  }
  if (l.rank < 0)
    l.rank = 0;
  if (l.size <= 0 && (l.mpi || getenv("PMIX_RANK")))
    l.size = 1; /* the MPI library knows better */
  return l;
}

/* ---- Memory ---- */

bool rcrt_allocate_driver(rcrt_driver *d, char *text) {
  const ringconv_program *program = d->program;
  int64_t values, bytes;
  d->summary_bytes = (int64_t)sizeof(rcrt_summary) + program->num_outputs * (int64_t)sizeof(rcrt_compared) +
                     program->num_ops * (int64_t)sizeof(rcrt_op_report);
  bool counted = !__builtin_mul_overflow(d->flags.repeat, (int64_t)sizeof(double), &values) &&
                 !__builtin_add_overflow(d->summary_bytes, values, &d->summary_bytes) &&
                 !__builtin_mul_overflow(d->summary_bytes, d->size, &bytes);
  d->summaries = counted ? calloc(1, (size_t)bytes) : NULL;
  d->traces = calloc((size_t)d->size, sizeof *d->traces);
  d->trace_sizes = calloc((size_t)d->size, sizeof *d->trace_sizes);
  if (d->summaries && d->traces && d->trace_sizes)
    return true;
  snprintf(text, RCRT_TEXT, "no memory for the figures of %" PRId64 " ranks and %" PRId64 " runs", d->size,
           d->flags.repeat);
  return false;
}

void rcrt_free_driver(rcrt_driver *d) {
  rcrt_free_reference(d);
  for (int64_t p = 0; d->traces && p < d->size; ++p)
    free(d->traces[p]);
  free(d->traces);
  free(d->trace_sizes);
  free(d->summaries);
}

/* ---- Threads ---- */

static void run_member(void *rank) { rcrt_run_rank(rank); }

static bool run_threads(rcrt_driver *d, rcrt_rank *ranks) {
  int64_t failed;
  int error = rcrt_run_crew(d->size, run_member, ranks, sizeof *ranks, &failed);
  if (error)
    rcrt_print_error(d, "no thread for rank %" PRId64 " of %" PRId64 ": %s", failed, d->size, strerror(error));
  return !error;
}

static bool create_sessions(rcrt_driver *d, rcrt_rank *ranks) {
  ringconv_options options = {.abi_version = RINGCONV_ABI_VERSION, .timeout = d->flags.timeout};
  for (int64_t i = 0; i < d->size; ++i) {
    ringconv_world world = {.rank = i, .size = d->size, .transport = RINGCONV_TRANSPORT_THREADS, .team = d->team,
                            .device = RINGCONV_DEVICE_AUTO};
    ranks[i] = (rcrt_rank){.driver = d, .rank = i, .position = rcrt_mesh_position(&d->program->mesh, i)};
    if (ringconv_session_create(d->program, &ranks[i].session, &world, &options)) {
      rcrt_print_error(d, "%s", ringconv_session_error(ranks[i].session));
      return false;
    }
  }
  return true;
}

/* One line: the rank that failed first, not those that ended because of it. */
static void print_failure(const rcrt_driver *d, const rcrt_rank *ranks) {
  const rcrt_rank *chosen = NULL;
  int64_t first = rcrt_threads_first_failed(&ranks[0].session->context);
  for (int64_t i = 0; i < d->size; ++i)
    if (ranks[i].code && (!chosen || ranks[i].position == first))
      chosen = &ranks[i];
  if (chosen && chosen->text[0])
    rcrt_print_error(d, "%s", chosen->text);
}

int rcrt_launch_threads(rcrt_driver *d) {
  char text[RCRT_TEXT];
  d->transport = RINGCONV_TRANSPORT_THREADS;
  if (d->size > RCRT_MAX_THREADS) {
    rcrt_print_error(d, "the mesh has %" PRId64 " ranks, at most %d can be threads", d->size, RCRT_MAX_THREADS);
    return 1;
  }
  if (!rcrt_allocate_driver(d, text)) {
    rcrt_print_error(d, "%s", text);
    return 1;
  }
  rcrt_outputs_guard(d, /*speaks=*/true, /*launched=*/false);
  d->epoch = rcrt_now();
  d->team = ringconv_team_create(d->size);
  rcrt_rank *ranks = calloc((size_t)d->size, sizeof *ranks);
  bool done = false;
  if (!d->team || !ranks)
    rcrt_print_error(d, "out of memory");
  else if (create_sessions(d, ranks) && run_threads(d, ranks)) {
    done = true;
    for (int64_t i = 0; i < d->size; ++i)
      done &= ranks[i].done;
    if (!done)
      print_failure(d, ranks);
  }
  for (int64_t i = 0; ranks && i < d->size; ++i)
    if (ranks[i].driver)
      rcrt_free_rank(&ranks[i]);
  free(ranks);
  ringconv_team_destroy(d->team);
  return done ? 0 : 1;
}
