/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * One rank in this process, the others in processes of a launcher that gives
 * numbers and an address but no MPI: torchrun, or a plain srun. NCCL makes them
 * meet at the address. */
#include "driver/Driver.h"

#include "common/Shard.h"
#include "cuda/Device.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* All ranks name temporary files as the first one does. */
static bool share_token(rcrt_rank *r) {
  rcrt_driver *d = r->driver;
  char *all = malloc((size_t)d->size * sizeof d->token);
  if (!all)
    return rcrt_rank_error(r, "out of memory");
  bool ok = rcrt_gather(r, d->token, sizeof d->token, all);
  if (ok)
    memcpy(d->token, all, sizeof d->token);
  free(all);
  return ok;
}

static int run_here(rcrt_driver *d, const rcrt_launcher *launcher) {
  ringconv_options options = {.abi_version = RINGCONV_ABI_VERSION, .timeout = d->flags.timeout};
  ringconv_world world = {.rank = launcher->rank,
                          .size = launcher->size,
                          .transport = RINGCONV_TRANSPORT_NCCL,
                          .device = RINGCONV_DEVICE_AUTO};
  rcrt_rank r = {.driver = d,
                 .rank = launcher->rank,
                 .position = rcrt_mesh_position(&d->program->mesh, launcher->rank),
                 .agreed_at = rcrt_now()};
  if (ringconv_session_create(d->program, &r.session, &world, &options)) {
    rcrt_print_error(d, "%s", ringconv_session_error(r.session));
    ringconv_session_destroy(r.session);
    return 1;
  }
  if (share_token(&r))
    rcrt_run_rank(&r);
  if (!r.done && r.text[0] && (r.speaks || r.fatal || r.code == RCRT_ERR_PEER))
    rcrt_print_error(d, "%s", r.text);
  if (r.fatal)
    rcrt_outputs_discard(d);
  bool done = r.done;
  rcrt_free_rank(&r);
  return done ? 0 : 1;
}

int rcrt_launch_nccl(rcrt_driver *d, const rcrt_launcher *launcher) {
  char text[RCRT_TEXT], mesh[256];
  d->transport = RINGCONV_TRANSPORT_NCCL;
  if (d->size != launcher->size) {
    rcrt_mesh_text(&d->program->mesh, mesh, sizeof mesh);
    snprintf(text, sizeof text, "mesh <[%s]> has size %" PRId64 ", but the number of processes is %" PRId64, mesh,
             d->size, launcher->size);
    return rcrt_refuse(d, launcher, text);
  }
  if (!rcrt_allocate_driver(d, text))
    return rcrt_refuse(d, launcher, text);
  setenv("NCCL_COMM_ID", launcher->address, /*overwrite=*/0);
  rcrt_outputs_guard(d, launcher->rank == 0, /*launched=*/true);
  return run_here(d, launcher);
}
