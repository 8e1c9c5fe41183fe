/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "driver/Driver.h"

#include "common/DType.h"
#include "common/Shard.h"
#include "cuda/Driver.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef RINGCONV_VERSION
#define RINGCONV_VERSION "unknown"
#endif

void rcrt_print_error(const rcrt_driver *d, const char *format, ...) {
  char text[2 * RCRT_TEXT];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  fflush(stdout);
  /* One call, so that lines of several processes do not mix. */
  fprintf(stderr, "%s: error: %s\n", d->name, text);
}

static void print_version(const char *name, const ringconv_program *program) {
  printf("%s: ringconv runtime " RINGCONV_VERSION ", ABI %u\n", name, RINGCONV_ABI_VERSION);
  if (program)
    printf("entry %s, hash %016" PRIx64 ", target %s, processor features: %s\n", program->entry, program->hash,
           program->target, program->cpu_features && *program->cpu_features ? program->cpu_features : "none");
}

/* What the driver itself relies on before any rank starts. */
static bool check_program(const rcrt_driver *d) {
  const ringconv_program *program = d->program;
  if (program->abi_version != RINGCONV_ABI_VERSION) {
    rcrt_print_error(d, "the program was compiled for ABI version %u, the runtime has %u", program->abi_version,
                     RINGCONV_ABI_VERSION);
    return false;
  }
  if (d->size <= 0) {
    rcrt_print_error(d, "the mesh has more ranks than can be counted");
    return false;
  }
  for (int32_t i = 0; i < program->num_inputs + program->num_outputs; ++i) {
    const ringconv_operand *o = rcrt_operand(program, i);
    if (o->rank > RCRT_MAX_RANK || !rcrt_dtype_valid(o->dtype)) {
      char what[128];
      rcrt_operand_text(program, i, what, sizeof what);
      rcrt_print_error(d, "%s: %d dimensions of element type %d", what, o->rank, o->dtype);
      return false;
    }
  }
  if (d->flags.check && !program->reference) {
    rcrt_print_error(d, "--check: the program was compiled without its reference");
    return false;
  }
  return true;
}

/* Every rank of a launcher finds the same mistake in the flags: the first says
 * so, and the others give it the time, since a launcher may end all when one
 * process has failed. */
int rcrt_refuse(const rcrt_driver *d, const rcrt_launcher *launcher, const char *text) {
  if (launcher->size > 1 && launcher->rank > 0)
    nanosleep(&(struct timespec){0, 300000000}, NULL);
  else
    rcrt_print_error(d, "%s", text);
  return 1;
}

/* Flags that only programs for GPUs know; the simulated machine has a GPU for
 * each rank unless the user says otherwise. */
static bool prepare_target(const rcrt_driver *d, char *text) {
  if (!d->program->cuda && (d->flags.graph || d->flags.simulate)) {
    snprintf(text, RCRT_TEXT, "--%s needs a program for GPUs: --target=cuda", d->flags.graph ? "graph" : "simulate");
    return false;
  }
  if (d->program->cuda && d->flags.ranks_per_process > 1) {
    snprintf(text, RCRT_TEXT, "--ranks-per-process needs a program for the host: a process has one GPU");
    return false;
  }
  if (d->flags.deterministic && d->program->cuda && d->program->cuda->num_sums > 0) {
    snprintf(text, RCRT_TEXT, "--deterministic: on GPUs the order of sums over ranks is NCCL's choice");
    return false;
  }
  if (!d->flags.simulate)
    return true;
  char count[32];
  snprintf(count, sizeof count, "%" PRId64, d->size);
  setenv("GPUSIM_DEVICES", count, /*overwrite=*/0);
  return rcrt_cuda_simulate(text);
}

static int start(rcrt_driver *d, const rcrt_launcher *launcher) {
  char text[RCRT_TEXT];
  if (!prepare_target(d, text))
    return rcrt_refuse(d, launcher, text);
  if (d->flags.params && !rcrt_safetensors_open(&d->params, d->flags.params, text))
    return rcrt_refuse(d, launcher, text);
  snprintf(d->token, sizeof d->token, "%lx-%llx", (long)getpid(), (unsigned long long)rcrt_now());
  bool automatic = d->flags.transport == RCRT_TRANSPORT_AUTO;
  if (d->program->cuda && automatic && !launcher->mpi && *launcher->address)
    return rcrt_launch_nccl(d, launcher);
  bool mpi = d->flags.transport == RINGCONV_TRANSPORT_MPI || (automatic && launcher->size > 0);
  if (mpi && launcher->problem)
    return rcrt_refuse(d, launcher, launcher->problem);
  if (!mpi && d->flags.ranks_per_process > 1 && d->flags.ranks_per_process != d->size) {
    snprintf(text, sizeof text, "one process with %" PRId64 " ranks, but the mesh has size %" PRId64,
             d->flags.ranks_per_process, d->size);
    return rcrt_refuse(d, launcher, text);
  }
  return mpi ? rcrt_launch_mpi(d, launcher) : rcrt_launch_threads(d);
}

static int run(rcrt_driver *d, const rcrt_launcher *launcher) {
  if (!d->program)
    return 0;
  if (d->flags.help || d->flags.version) {
    if (launcher->rank == 0 && d->flags.help)
      rcrt_print_help(d->name, d->program);
    else if (launcher->rank == 0)
      print_version(d->name, d->program);
    return 0;
  }
  d->size = d->program->abi_version == RINGCONV_ABI_VERSION ? rcrt_mesh_size(&d->program->mesh) : 1;
  if (!check_program(d))
    return 1;
  return start(d, launcher);
}

RCRT_API int ringconv_main(int argc, char **argv, const ringconv_program *program) {
  const char *path = argc > 0 && argv[0] ? argv[0] : "ringconv", *slash = strrchr(path, '/');
  rcrt_driver d = {.name = slash ? slash + 1 : path, .program = program};
  rcrt_launcher launcher = rcrt_find_launcher();
  char text[RCRT_TEXT];
  /* getopt looks at a copy: the caller's words stay as they are. */
  char **words = calloc((size_t)(argc > 0 ? argc : 0) + 2, sizeof *words);
  if (!words)
    return rcrt_refuse(&d, &launcher, "out of memory");
  words[0] = argv[0];
  for (int i = 1; i < argc; ++i)
    words[i] = argv[i];
  pthread_mutex_init(&d.lock, NULL);
  pthread_cond_init(&d.turn, NULL);
  /* Operands of a program of another version cannot be looked at. */
  bool known = program && program->abi_version == RINGCONV_ABI_VERSION;
  int code;
  if (rcrt_parse_flags(argc > 0 ? argc : 1, words, known ? program : NULL, &d.flags, text))
    code = run(&d, &launcher);
  else
    code = rcrt_refuse(&d, &launcher, text);
  if (fflush(stdout) && !code) {
    rcrt_print_error(&d, "standard output cannot be written");
    code = 1;
  }
  rcrt_free_driver(&d);
  rcrt_free_flags(&d.flags);
  pthread_cond_destroy(&d.turn);
  pthread_mutex_destroy(&d.lock);
  free(words);
  return code;
}
