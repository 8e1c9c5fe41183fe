/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a run says about itself: a table for people, JSON for programs. */
#include "driver/Driver.h"

#include "common/DType.h"
#include "common/Shard.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median_of(const double *values, int64_t count) {
  double *sorted = malloc((size_t)count * sizeof *sorted);
  if (!sorted)
    return values[0];
  memcpy(sorted, values, (size_t)count * sizeof *sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, by_size);
  double median = count % 2 ? sorted[count / 2] : (sorted[count / 2 - 1] + sorted[count / 2]) / 2;
  free(sorted);
  return median;
}

/* getrusage would count what the process was before it became this program. */
static int64_t process_memory(void) {
  char line[256];
  long long kib = 0;
  FILE *f = fopen("/proc/self/status", "r");
  while (f && !kib && fgets(line, sizeof line, f))
    sscanf(line, "VmHWM: %lld kB", &kib);
  if (f)
    fclose(f);
  return kib * 1024;
}

void rcrt_fill_summary(rcrt_rank *r) {
  rcrt_driver *d = r->driver;
  const ringconv_context *context = &r->session->context;
  rcrt_summary *summary = rcrt_summary_of(d, r->position);
  rcrt_op_report *ops = rcrt_ops_of(d, r->position);
  double runs = (double)d->flags.repeat;
  summary->median = median_of(rcrt_seconds_of(d, r->position), d->flags.repeat);
  summary->counters = context->counters;
  summary->process_memory = process_memory();
  for (int32_t i = 0; i < d->program->num_ops; ++i) {
    const rcrt_group *group = rcrt_find_group(context, d->program->ops[i].exchange);
    ops[i] = (rcrt_op_report){.seconds = (double)context->op_times[i].total_ns * 1e-9 / runs};
    if (d->program->ops[i].exchange < 0 || !group)
      continue;
    ops[i].wait_seconds = (double)group->wait_ns * 1e-9 / runs;
    ops[i].messages_sent = (double)group->messages_sent / runs;
    ops[i].bytes_sent = (double)group->bytes_sent / runs;
    ops[i].messages_received = (double)group->messages_received / runs;
    ops[i].bytes_received = (double)group->bytes_received / runs;
  }
}

/* The slowest rank decides how long a run takes. */
static double slowest(const rcrt_driver *d) {
  double time = 0;
  for (int64_t p = 0; p < d->size; ++p)
    time = fmax(time, rcrt_summary_of(d, p)->median);
  return time;
}

typedef struct intervals {
  int64_t own_begin, own_end, need_begin, need_end;
} intervals;

static intervals intervals_of(const rcrt_driver *d, const ringconv_op_dim *dim, int64_t position) {
  int64_t part = rcrt_mesh_part(&d->program->mesh, position, dim->num_axes, dim->axes);
  return (intervals){rcrt_table_at(&dim->own_begin, part), rcrt_table_at(&dim->own_end, part),
                     rcrt_table_at(&dim->need_begin, part), rcrt_table_at(&dim->need_end, part)};
}

/* ---- The table ---- */

static void print_row(const rcrt_driver *d, const ringconv_op *op, const rcrt_op_report *o, int64_t position) {
  char owned[32] = "-", needed[32] = "-", dim[16] = "-";
  for (int32_t k = 0; k < op->num_dims || k == 0; ++k) {
    if (k < op->num_dims) {
      intervals v = intervals_of(d, &op->dims[k], position);
      snprintf(dim, sizeof dim, "%d", op->dims[k].dim);
      snprintf(owned, sizeof owned, "[%" PRId64 ", %" PRId64 ")", v.own_begin, v.own_end);
      snprintf(needed, sizeof needed, "[%" PRId64 ", %" PRId64 ")", v.need_begin, v.need_end);
    }
    if (k == 0)
      printf("  %5" PRId64 "  %3s  %-16s %-16s %5.4g %11.10g %5.4g %11.10g %11.3f %10.3f\n", position, dim, owned,
             needed, o->messages_sent, o->bytes_sent, o->messages_received, o->bytes_received, o->seconds * 1e3,
             o->wait_seconds * 1e3);
    else
      printf("  %5s  %3s  %-16s %-16s\n", "", dim, owned, needed);
  }
}

/* Device memory that a rank's session takes, besides the caller's shards. */
static int64_t constant_bytes(const ringconv_cuda_program *cuda) {
  int64_t bytes = 0;
  for (int32_t i = 0; i < cuda->num_constants; ++i)
    bytes += cuda->constants[i].bytes;
  return bytes;
}

void rcrt_print_report(const rcrt_driver *d) {
  const ringconv_cuda_program *cuda = d->program->cuda;
  if (d->flags.report && cuda)
    printf("device memory: %" PRId64 " bytes per rank for the program, %" PRId64 " for constants\n", cuda->arena_bytes,
           constant_bytes(cuda));
  if (d->flags.repeat > 1 || d->flags.report)
    printf("time: median %.3f ms of %" PRId64 " run%s, %" PRId64 " rank%s\n", slowest(d) * 1e3, d->flags.repeat,
           d->flags.repeat > 1 ? "s" : "", d->size, d->size > 1 ? "s" : "");
  for (int32_t i = 0; d->flags.report && i < d->program->num_ops; ++i) {
    const ringconv_op *op = &d->program->ops[i];
    printf("%s  (%s)\n", op->label ? op->label : "op", op->location ? op->location : "?");
    printf("  %5s  %3s  %-16s %-16s %5s %11s %5s %11s %11s %10s\n", "rank", "dim", "owned", "needed", "sent", "bytes",
           "recv", "bytes", "time ms", "wait ms");
    for (int64_t p = 0; p < d->size; ++p)
      print_row(d, op, &rcrt_ops_of(d, p)[i], p);
  }
  fflush(stdout);
}

/* ---- JSON ---- */

void rcrt_json_string(FILE *f, const char *text) {
  fputc('"', f);
  for (const unsigned char *c = (const unsigned char *)(text ? text : ""); *c; ++c)
    if (*c == '"' || *c == '\\')
      fprintf(f, "\\%c", *c);
    else if (*c < ' ')
      fprintf(f, "\\u%04x", *c);
    else
      fputc(*c, f);
  fputc('"', f);
}

/* JSON has no infinity. */
static void json_number(FILE *f, double value) {
  if (isfinite(value))
    fprintf(f, "%.17g", value);
  else
    fputs("null", f);
}

static void json_dims(FILE *f, const rcrt_driver *d, const ringconv_op *op, int64_t position) {
  fputs("\"dims\": [", f);
  for (int32_t k = 0; k < op->num_dims; ++k) {
    intervals v = intervals_of(d, &op->dims[k], position);
    fprintf(f, "%s{\"dim\": %d, \"owned\": [%" PRId64 ", %" PRId64 "], \"needed\": [%" PRId64 ", %" PRId64 "]}",
            k ? ", " : "", op->dims[k].dim, v.own_begin, v.own_end, v.need_begin, v.need_end);
  }
  fputs("]", f);
}

static void json_ops(FILE *f, const rcrt_driver *d) {
  for (int32_t i = 0; i < d->program->num_ops; ++i) {
    const ringconv_op *op = &d->program->ops[i];
    fprintf(f, "%s\n    {\"label\": ", i ? "," : "");
    rcrt_json_string(f, op->label);
    fputs(", \"location\": ", f);
    rcrt_json_string(f, op->location);
    fprintf(f, ", \"exchange\": %d, \"ranks\": [", op->exchange);
    for (int64_t p = 0; p < d->size; ++p) {
      const rcrt_op_report *o = &rcrt_ops_of(d, p)[i];
      fprintf(f, "%s\n      {\"rank\": %" PRId64 ", ", p ? "," : "", p);
      json_dims(f, d, op, p);
      fprintf(f,
              ", \"messages_sent\": %.17g, \"bytes_sent\": %.17g, \"messages_received\": %.17g, "
              "\"bytes_received\": %.17g, \"seconds\": %.9g, \"wait_seconds\": %.9g}",
              o->messages_sent, o->bytes_sent, o->messages_received, o->bytes_received, o->seconds, o->wait_seconds);
    }
    fputs("]}", f);
  }
}

static void json_ranks(FILE *f, const rcrt_driver *d) {
  for (int64_t p = 0; p < d->size; ++p) {
    const rcrt_summary *s = rcrt_summary_of(d, p);
    const ringconv_counters *c = &s->counters;
    fprintf(f,
            "%s\n    {\"rank\": %" PRId64 ", \"median_seconds\": %.9g, \"messages_sent\": %" PRId64
            ", \"bytes_sent\": %" PRId64 ", \"messages_received\": %" PRId64 ", \"bytes_received\": %" PRId64
            ", \"reductions\": %" PRId64 ", \"multiply_adds\": %" PRId64 ", \"process_memory\": %" PRId64
            ", \"seconds\": [",
            p ? "," : "", p, s->median, c->messages_sent, c->bytes_sent, c->messages_received, c->bytes_received,
            c->reductions, c->multiply_adds, s->process_memory);
    for (int64_t i = 0; i < d->flags.repeat; ++i)
      fprintf(f, "%s%.9g", i ? ", " : "", rcrt_seconds_of(d, p)[i]);
    fputs("]}", f);
  }
}

static void json_outputs(FILE *f, const rcrt_driver *d) {
  for (int32_t o = 0; o < d->program->num_outputs; ++o) {
    const ringconv_operand *operand = &d->program->outputs[o];
    fprintf(f, "%s\n    {\"output\": %d, \"name\": ", o ? "," : "", o);
    rcrt_json_string(f, operand->name);
    fprintf(f, ", \"dtype\": \"%s\"", rcrt_dtype_name(operand->dtype));
    if (d->flags.check) {
      rcrt_compared all = {.identical = 1};
      for (int64_t p = 0; p < d->size; ++p) {
        const rcrt_compared *c = &rcrt_compared_of(d, p)[o];
        all.max_error = fmax(all.max_error, c->max_error);
        all.bound = c->bound;
        all.bad += c->bad;
        all.identical &= c->identical;
      }
      fputs(", \"max_error\": ", f);
      json_number(f, all.max_error);
      fputs(", \"bound\": ", f);
      json_number(f, all.bound);
      fprintf(f, ", \"beyond\": %" PRId64 ", \"bit_identical\": %s", all.bad, all.identical ? "true" : "false");
    }
    fputs("}", f);
  }
}

static const char *transport_name(int32_t transport) {
  return transport == RINGCONV_TRANSPORT_MPI ? "mpi" : transport == RINGCONV_TRANSPORT_NCCL ? "nccl" : "threads";
}

static void json_document(FILE *f, const rcrt_driver *d) {
  const ringconv_program *program = d->program;
  fputs("{\n  \"entry\": ", f);
  rcrt_json_string(f, program->entry);
  fprintf(f, ",\n  \"hash\": \"%016" PRIx64 "\",\n  \"target\": ", program->hash);
  rcrt_json_string(f, program->target);
  fputs(",\n  \"mesh\": {", f);
  for (int32_t a = 0; a < program->mesh.num_axes; ++a) {
    fputs(a ? ", " : "", f);
    rcrt_json_string(f, program->mesh.names[a]);
    fprintf(f, ": %" PRId64, program->mesh.extents[a]);
  }
  if (program->cuda)
    fprintf(f, "},\n  \"device_memory\": {\"program\": %" PRId64 ", \"constants\": %" PRId64,
            program->cuda->arena_bytes, constant_bytes(program->cuda));
  fprintf(f,
          "},\n  \"num_ranks\": %" PRId64 ",\n  \"transport\": \"%s\",\n  \"repeat\": %" PRId64
          ",\n  \"median_seconds\": %.9g,\n  \"checked\": %s,\n  \"ops\": [",
          d->size, transport_name(d->transport), d->flags.repeat, slowest(d),
          d->flags.check ? "true" : "false");
  json_ops(f, d);
  fputs("],\n  \"ranks\": [", f);
  json_ranks(f, d);
  fputs("],\n  \"outputs\": [", f);
  json_outputs(f, d);
  fputs("]\n}\n", f);
}

bool rcrt_write_json(const rcrt_driver *d, char *text) {
  char *bytes = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&bytes, &size);
  if (f)
    json_document(f, d);
  if (!f || fclose(f)) {
    free(bytes);
    snprintf(text, RCRT_TEXT, "%s: out of memory", d->flags.json);
    return false;
  }
  bool ok = rcrt_write_text(d, d->flags.json, bytes, size, text);
  free(bytes);
  return ok;
}
