/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One rank in this process, the others in processes of the same launcher. */
#include "driver/Driver.h"

#include "common/Shard.h"
#include "host/Crew.h"
#include "mpi/Loader.h"
#include "mpi/Transport.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct place {
  const ringconv_mpi_functions *mpi;
  int32_t comm;
  int64_t rank, size;
} place;

/* What processes must agree on before they can be ranks of one mesh. */
typedef struct identity {
  uint64_t hash;
  int64_t mesh_size;
  char token[40];
} identity;

/* A launcher that is told of an end may drop what it has not passed on yet. */
static void let_launcher_read(void) { nanosleep(&(struct timespec){0, 600000000}, NULL); }

/* Ends all processes: nothing collective can be counted on any more. The alarm
 * ends this one where even MPI_Abort waits for a peer that is gone. */
static int give_up(rcrt_driver *d, const place *p, int32_t code) {
  rcrt_outputs_discard(d);
  fflush(stdout);
  if (code == RCRT_ERR_PEER) /* the rank that failed says why, and ends us */
    sleep(3);
  let_launcher_read();
  alarm(5);
  p->mpi->abort_all(1);
  _exit(1);
}

/* Returns when all have come here, or after the timeout. */
static bool exchange_identities(rcrt_driver *d, const place *p, identity *all) {
  ringconv_context context = {.position = p->rank, .size = p->size, .timeout = d->flags.timeout};
  identity mine = {.hash = d->program->hash, .mesh_size = d->size};
  snprintf(mine.token, sizeof mine.token, "%s", d->token);
  int32_t code = rcrt_mpi_connect(&context, p->mpi, p->comm);
  if (!code)
    code = rcrt_gather_all(&context, &mine, sizeof mine, all);
  if (code) {
    rcrt_print_error(d, "%s", context.text);
    give_up(d, p, code);
  }
  rcrt_free_groups(&context);
  context.transport->close(&context);
  return true;
}

/* All processes come to the same verdict; the first one tells it. */
static bool agree_on_program(rcrt_driver *d, const place *p) {
  identity *all = calloc((size_t)p->size, sizeof *all);
  bool ok = all && exchange_identities(d, p, all);
  for (int64_t r = 1; ok && r < p->size; ++r)
    if (all[r].hash != all[0].hash) {
      ok = false;
      if (p->rank == 0)
        rcrt_print_error(d, "rank %" PRId64 " runs another program (hash %016" PRIx64 ") than rank 0 (%016" PRIx64 ")",
                         r, all[r].hash, all[0].hash);
    }
  if (ok && d->size != p->size * d->flags.ranks_per_process) {
    char mesh[256], each[64] = "";
    rcrt_mesh_text(&d->program->mesh, mesh, sizeof mesh);
    if (d->flags.ranks_per_process > 1)
      snprintf(each, sizeof each, ", each with %" PRId64 " ranks", d->flags.ranks_per_process);
    ok = false;
    if (p->rank == 0)
      rcrt_print_error(d, "mesh <[%s]> has size %" PRId64 ", but the number of MPI processes is %" PRId64 "%s", mesh,
                       d->size, p->size, each);
  }
  if (ok)
    memcpy(d->token, all[0].token, sizeof d->token);
  free(all);
  return ok;
}

/* ---- The ranks of this process ---- */

/* A rank with a driver of its own, as if it were a process. */
typedef struct seat {
  rcrt_driver driver;
  rcrt_rank rank;
} seat;

static int32_t open_seat(rcrt_driver *d, const place *p, ringconv_team *team, seat *s, int64_t number) {
  ringconv_options options = {.abi_version = RINGCONV_ABI_VERSION, .timeout = d->flags.timeout};
  ringconv_world world = {.rank = p->rank * d->flags.ranks_per_process + number,
                          .size = d->size,
                          .transport = RINGCONV_TRANSPORT_MPI,
                          .team = team,
                          .mpi_comm = p->comm,
                          .device = RINGCONV_DEVICE_AUTO};
  char text[RCRT_TEXT];
  s->driver = *d;
  if (!rcrt_allocate_driver(&s->driver, text)) {
    rcrt_print_error(d, "%s", text);
    return RCRT_ERR_MEMORY;
  }
  s->rank = (rcrt_rank){.driver = &s->driver,
                        .rank = world.rank,
                        .position = rcrt_mesh_position(&d->program->mesh, world.rank),
                        .agreed_at = rcrt_now()};
  int32_t code = ringconv_session_create(d->program, &s->rank.session, &world, &options);
  if (code)
    rcrt_print_error(d, "%s", ringconv_session_error(s->rank.session));
  return code;
}

static void run_seat(void *member) { rcrt_run_rank(&((seat *)member)->rank); }

static int32_t run_seats(rcrt_driver *d, seat *seats) {
  int64_t count = d->flags.ranks_per_process, failed;
  if (count == 1)
    return run_seat(seats), RCRT_OK;
  int error = rcrt_run_crew(count, run_seat, seats, sizeof *seats, &failed);
  if (!error)
    return RCRT_OK;
  rcrt_print_error(d, "no thread for rank %" PRId64 " of this process: %s", failed, strerror(error));
  return RCRT_ERR_MEMORY;
}

/* The rank that failed itself, before those that ended because of it. */
static const rcrt_rank *fatal_rank(const seat *seats, int64_t count) {
  const rcrt_rank *chosen = NULL;
  for (int64_t i = 0; i < count; ++i) {
    const rcrt_rank *r = &seats[i].rank;
    if (r->fatal && (!chosen || (chosen->code == RCRT_ERR_PEER && r->code != RCRT_ERR_PEER)))
      chosen = r;
  }
  return chosen;
}

static int run_here(rcrt_driver *d, const place *p) {
  int64_t count = d->flags.ranks_per_process;
  ringconv_team *team = count > 1 ? ringconv_team_create(count) : NULL;
  seat *seats = calloc((size_t)count, sizeof *seats);
  int32_t code = seats && (count == 1 || team) ? RCRT_OK : RCRT_ERR_MEMORY;
  rcrt_outputs_guard(d, p->rank == 0, /*launched=*/true);
  for (int64_t i = 0; i < count && !code; ++i)
    code = open_seat(d, p, team, &seats[i], i);
  if (!code)
    code = run_seats(d, seats);
  if (code)
    return give_up(d, p, code);
  const rcrt_rank *fatal = fatal_rank(seats, count);
  if (fatal) {
    if (fatal->code != RCRT_ERR_PEER)
      rcrt_print_error(d, "%s", fatal->text);
    return give_up(d, p, fatal->code);
  }
  bool done = true;
  for (int64_t i = 0; i < count; ++i) {
    rcrt_rank *r = &seats[i].rank;
    if (!r->done && r->speaks && r->text[0])
      rcrt_print_error(d, "%s", r->text);
    done &= r->done;
    rcrt_free_rank(r);
    rcrt_free_driver(&seats[i].driver);
  }
  free(seats);
  ringconv_team_destroy(team);
  return done ? 0 : 1;
}

int rcrt_launch_mpi(rcrt_driver *d, const rcrt_launcher *launcher) {
  char text[RCRT_TEXT];
  place p = {.mpi = rcrt_mpi_load(launcher->mpi, text)};
  d->transport = RINGCONV_TRANSPORT_MPI;
  if (!p.mpi || p.mpi->init(text)) {
    if (launcher->rank > 0) /* the first process says it; give it the time */
      let_launcher_read();
    else
      rcrt_print_error(d, "%s", text);
    return 1;
  }
  p.mpi->world(&p.comm, &p.rank, &p.size);
  int code = 1;
  if (agree_on_program(d, &p))
    code = run_here(d, &p);
  /* A peer that dies now must not keep this one for ever. */
  fflush(stdout);
  alarm((unsigned)(d->flags.timeout < 1e6 ? d->flags.timeout : 1e6) + 5);
  p.mpi->finalize();
  alarm(0);
  return code;
}
