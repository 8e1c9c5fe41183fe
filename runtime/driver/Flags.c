/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "driver/Driver.h"

#include "common/DType.h"
#include "common/Shard.h"
#include "host/Crew.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
  FLAG_INPUT = 1000,
  FLAG_OUTPUT,
  FLAG_CHECK,
  FLAG_RTOL,
  FLAG_SEED,
  FLAG_REPEAT,
  FLAG_TIMEOUT,
  FLAG_TRANSPORT,
  FLAG_JSON,
  FLAG_TRACE,
  FLAG_REPORT,
  FLAG_HELP,
  FLAG_VERSION,
  FLAG_PARAMS,
  FLAG_GRAPH,
  FLAG_SIMULATE,
  FLAG_DETERMINISTIC,
  FLAG_RANKS_PER_PROCESS
};

static const struct option options[] = {{"input", required_argument, NULL, FLAG_INPUT},
                                        {"output", required_argument, NULL, FLAG_OUTPUT},
                                        {"check", no_argument, NULL, FLAG_CHECK},
                                        {"rtol", required_argument, NULL, FLAG_RTOL},
                                        {"seed", required_argument, NULL, FLAG_SEED},
                                        {"repeat", required_argument, NULL, FLAG_REPEAT},
                                        {"timeout", required_argument, NULL, FLAG_TIMEOUT},
                                        {"transport", required_argument, NULL, FLAG_TRANSPORT},
                                        {"ranks-per-process", required_argument, NULL, FLAG_RANKS_PER_PROCESS},
                                        {"json", required_argument, NULL, FLAG_JSON},
                                        {"trace", required_argument, NULL, FLAG_TRACE},
                                        {"report", no_argument, NULL, FLAG_REPORT},
                                        {"help", no_argument, NULL, FLAG_HELP},
                                        {"version", no_argument, NULL, FLAG_VERSION},
                                        {"params", required_argument, NULL, FLAG_PARAMS},
                                        {"graph", no_argument, NULL, FLAG_GRAPH},
                                        {"simulate", no_argument, NULL, FLAG_SIMULATE},
                                        {"deterministic", no_argument, NULL, FLAG_DETERMINISTIC},
                                        {NULL, 0, NULL, 0}};

typedef struct parser {
  const ringconv_program *program;
  rcrt_flags *flags;
  char *text;
  char **seen; /* left sides of --input and --output, where no program is known */
  int num_seen;
} parser;

static bool RCRT_PRINTF(2, 3) bad(parser *p, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(p->text, RCRT_TEXT, format, args);
  va_end(args);
  return false;
}

static bool is_number(const char *word, size_t length) {
  for (size_t i = 0; i < length; ++i)
    if (!isdigit((unsigned char)word[i]))
      return false;
  return length > 0;
}

/* A plain decimal number: no sign, no space, nothing after it. */
static bool read_unsigned(parser *p, const char *flag, const char *word, uint64_t *value) {
  errno = 0;
  *value = strtoull(word, NULL, 10);
  if (!is_number(word, strlen(word)) || errno)
    return bad(p, "--%s: '%s' is no number from 0 to %" PRIu64, flag, word, UINT64_MAX);
  return true;
}

static bool read_double(parser *p, const char *flag, const char *word, double *value) {
  char *end;
  *value = strtod(word, &end);
  if (end == word || *end || isspace((unsigned char)*word) || !isfinite(*value))
    return bad(p, "--%s: '%s' is no number", flag, word);
  return true;
}

/* Number of the operand called by name or number, among `count`; -1. */
static int32_t find_operand(parser *p, bool output, const char *word, size_t length) {
  const ringconv_operand *operands = output ? p->program->outputs : p->program->inputs;
  int32_t count = output ? p->program->num_outputs : p->program->num_inputs;
  const char *kind = output ? "output" : "input";
  if (is_number(word, length)) {
    errno = 0;
    unsigned long long number = strtoull(word, NULL, 10);
    if (!errno && number < (unsigned long long)count)
      return (int32_t)number;
    bad(p, "--%s: no %s %.*s, the program has %d", kind, kind, (int)length, word, count);
    return -1;
  }
  for (int32_t i = 0; i < count; ++i)
    if (operands[i].name && strlen(operands[i].name) == length && !memcmp(operands[i].name, word, length))
      return i;
  char names[256] = "";
  size_t used = 0;
  for (int32_t i = 0; i < count && used < sizeof names; ++i)
    if (operands[i].name)
      used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", operands[i].name);
  if (used)
    bad(p, "--%s: no %s is called '%.*s', the names are: %s", kind, kind, (int)length, word, names);
  else
    bad(p, "--%s: no %s is called '%.*s', none has a name: use its number", kind, kind, (int)length, word);
  return -1;
}

/* Without a program only words can be compared. */
static bool add_seen(parser *p, bool output, const char *word, size_t length) {
  for (int i = 0; i < p->num_seen; ++i)
    if (p->seen[i][0] == (output ? 'o' : 'i') && strlen(p->seen[i] + 1) == length &&
        !memcmp(p->seen[i] + 1, word, length))
      return bad(p, "--%s: '%.*s' is given twice", output ? "output" : "input", (int)length, word);
  char *copy = malloc(length + 2);
  if (!copy)
    return bad(p, "out of memory");
  copy[0] = output ? 'o' : 'i';
  memcpy(copy + 1, word, length);
  copy[length + 1] = 0;
  p->seen[p->num_seen++] = copy;
  return true;
}

static bool read_file_flag(parser *p, bool output, const char *word) {
  const char *flag = output ? "output" : "input", *equals = strchr(word, '=');
  if (!equals || equals == word || !equals[1])
    return bad(p, "--%s: '%s', expected %s=FILE.npy", flag, word, output ? "NUMBER" : "NAME");
  size_t length = (size_t)(equals - word);
  if (!p->program)
    return add_seen(p, output, word, length);
  int32_t i = find_operand(p, output, word, length);
  if (i < 0)
    return false;
  const char **file = output ? &p->flags->outputs[i] : &p->flags->inputs[i];
  if (*file)
    return bad(p, "--%s: %s %d is given twice", flag, flag, i);
  *file = equals + 1;
  for (int32_t k = 0; output && k < p->program->num_outputs; ++k)
    if (k != i && p->flags->outputs[k] && !strcmp(p->flags->outputs[k], *file))
      return bad(p, "--output: outputs %d and %d go to the same file '%s'", k, i, *file);
  return true;
}

static bool read_transport(parser *p, const char *word) {
  static const char *const words[] = {"auto", "threads", "mpi"};
  static const int32_t values[] = {RCRT_TRANSPORT_AUTO, RINGCONV_TRANSPORT_THREADS, RINGCONV_TRANSPORT_MPI};
  for (int i = 0; i < 3; ++i)
    if (!strcmp(word, words[i])) {
      p->flags->transport = values[i];
      return true;
    }
  return bad(p, "--transport: '%s', expected auto, threads or mpi", word);
}

static bool read_flag(parser *p, int flag, const char *word) {
  rcrt_flags *f = p->flags;
  uint64_t number;
  switch (flag) {
  case FLAG_INPUT:
    return read_file_flag(p, false, word);
  case FLAG_OUTPUT:
    return read_file_flag(p, true, word);
  case FLAG_CHECK:
    return f->check = true;
  case FLAG_RTOL:
    f->has_rtol = true;
    if (!read_double(p, "rtol", word, &f->rtol))
      return false;
    return f->rtol >= 0 || bad(p, "--rtol: '%s' is negative", word);
  case FLAG_SEED:
    return read_unsigned(p, "seed", word, &f->seed);
  case FLAG_REPEAT:
    if (!read_unsigned(p, "repeat", word, &number))
      return false;
    f->repeat = (int64_t)number;
    return (number >= 1 && number <= 1000000000) || bad(p, "--repeat: %s runs, expected 1 to 1000000000", word);
  case FLAG_TIMEOUT:
    if (!read_double(p, "timeout", word, &f->timeout))
      return false;
    return f->timeout > 0 || bad(p, "--timeout: '%s' is no time", word);
  case FLAG_TRANSPORT:
    return read_transport(p, word);
  case FLAG_RANKS_PER_PROCESS:
    if (!read_unsigned(p, "ranks-per-process", word, &number))
      return false;
    f->ranks_per_process = (int64_t)number;
    return (number >= 1 && number <= RCRT_MAX_THREADS) ||
           bad(p, "--ranks-per-process: %s ranks, expected 1 to %d", word, RCRT_MAX_THREADS);
  case FLAG_JSON:
    f->json = word;
    break;
  case FLAG_TRACE:
    f->trace = word;
    break;
  case FLAG_REPORT:
    return f->report = true;
  case FLAG_HELP:
    return f->help = true;
  case FLAG_VERSION:
    return f->version = true;
  case FLAG_PARAMS:
    f->params = word;
    return *word || bad(p, "--params: no file is named");
  case FLAG_GRAPH:
    return f->graph = true;
  case FLAG_SIMULATE:
    return f->simulate = true;
  case FLAG_DETERMINISTIC:
    return f->deterministic = true;
  }
  return *word || bad(p, "--%s: no file is named", flag == FLAG_JSON ? "json" : "trace");
}

static bool read_words(parser *p, int argc, char **argv) {
  opterr = 0;
  optind = 0; /* glibc: begins anew */
  for (int flag; (flag = getopt_long(argc, argv, "+:", options, NULL)) != -1;) {
    if (flag == ':')
      return bad(p, "%s needs a value", argv[optind - 1]);
    if (flag == '?')
      return bad(p, "unknown, ambiguous or misused flag '%s'", argv[optind - 1]);
    if (!read_flag(p, flag, optarg))
      return false;
  }
  return optind >= argc || bad(p, "unexpected word '%s'", argv[optind]);
}

bool rcrt_parse_flags(int argc, char **argv, const ringconv_program *program, rcrt_flags *flags, char *text) {
  *flags = (rcrt_flags){.timeout = 60, .repeat = 1, .transport = RCRT_TRANSPORT_AUTO, .ranks_per_process = 1};
  parser p = {.program = program, .flags = flags, .text = text};
  flags->inputs = calloc(program ? (size_t)program->num_inputs + 1 : 1, sizeof *flags->inputs);
  flags->outputs = calloc(program ? (size_t)program->num_outputs + 1 : 1, sizeof *flags->outputs);
  p.seen = calloc((size_t)argc + 1, sizeof *p.seen);
  bool ok = (flags->inputs && flags->outputs && p.seen) || bad(&p, "out of memory");
  ok = ok && read_words(&p, argc, argv);
  for (int i = 0; i < p.num_seen; ++i)
    free(p.seen[i]);
  free(p.seen);
  return ok;
}

void rcrt_free_flags(rcrt_flags *flags) {
  free(flags->inputs);
  free(flags->outputs);
}

void rcrt_print_help(const char *name, const ringconv_program *program) {
  printf("usage: %s [FLAGS]\n"
         "  --input=NAME|I=FILE.npy  an input from a file; the others are generated from the seed\n"
         "  --params=FILE            parameters by name from a safetensors file, where no --input gives one\n"
         "  --output=I=FILE.npy      writes output I\n"
         "  --seed=N                 of generated inputs (0)\n"
         "  --check                  compares with the uncut program by plain loops in f64\n"
         "  --rtol=R                 its bound (f64 1e-12, f32 1e-5, f16 2e-3, bf16 2e-2)\n"
         "  --repeat=N               runs N times, prints the median time\n"
         "  --timeout=S              seconds that a rank waits for another (60)\n"
         "  --transport=auto|threads|mpi\n"
         "  --ranks-per-process=N    under a launcher: N threads in each process (1)\n"
         "  --graph                  GPUs: captures a run in a CUDA graph, and launches that\n"
         "  --simulate               GPUs: without one, on gpusim\n"
         "  --deterministic          an error where sums over ranks have no fixed order: NCCL's\n"
         "  --report                 a table of intervals, messages and times\n"
         "  --json=FILE --trace=FILE the same for machines; Chrome trace events\n"
         "  --help --version\n",
         name);
  for (int32_t i = 0; program && i < program->num_inputs + program->num_outputs; ++i) {
    char what[128], shape[160];
    const ringconv_operand *o = rcrt_operand(program, i);
    rcrt_operand_text(program, i, what, sizeof what);
    size_t used = 0;
    shape[0] = 0;
    for (int32_t d = 0; d < o->rank && used < sizeof shape; ++d)
      used += (size_t)snprintf(shape + used, sizeof shape - used, "%" PRId64 "x", o->sizes[d]);
    printf("%s: tensor<%s%s>%s\n", what, shape, rcrt_dtype_name(o->dtype),
           o->flags & RINGCONV_PARAMETER ? ", a parameter" : "");
  }
}
