/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Chrome trace events (chrome://tracing, Perfetto): one row per rank, or per
 * stream of its GPU. */
#include "driver/Driver.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = {[RCRT_EVENT_OP] = "op",
                                    [RCRT_EVENT_POST] = "post",
                                    [RCRT_EVENT_WAIT] = "wait",
                                    [RCRT_EVENT_TRANSFER] = "transfer"};

static void print_name(FILE *f, const ringconv_program *program, const rcrt_event *e) {
  char text[64];
  if (e->kind == RCRT_EVENT_OP) {
    rcrt_json_string(f, program->ops[e->id].label);
    return;
  }
  snprintf(text, sizeof text, "%s %" PRId64, kinds[e->kind], e->id);
  rcrt_json_string(f, text);
}

/* A rank has a row; on GPUs one for each stream. */
static int64_t row_of(const rcrt_rank *r, rcrt_event_kind kind) {
  return r->driver->program->cuda ? 2 * r->position + (kind == RCRT_EVENT_TRANSFER) : r->position;
}

static void print_row(FILE *f, int64_t row, int64_t position, const char *stream) {
  fprintf(f,
          "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 0, \"tid\": %" PRId64
          ", \"args\": {\"name\": \"rank %" PRId64 "%s\"}}",
          row, position, stream);
}

/* Times are relative to the driver's epoch, which ranks of one program set at
 * the same agreement: clocks of several machines need not agree. */
char *rcrt_trace_text(const rcrt_rank *r, size_t *size) {
  const rcrt_events *events = &r->session->context.events;
  char *text = NULL;
  FILE *f = open_memstream(&text, size);
  if (!f)
    return NULL;
  bool streams = r->driver->program->cuda != NULL;
  print_row(f, row_of(r, RCRT_EVENT_OP), r->position, streams ? " compute" : "");
  if (streams) {
    fputs(",\n", f);
    print_row(f, row_of(r, RCRT_EVENT_TRANSFER), r->position, " communication");
  }
  for (int64_t i = 0; i < events->count; ++i) {
    const rcrt_event *e = &events->events[i];
    fputs(",\n{\"name\": ", f);
    print_name(f, r->driver->program, e);
    fprintf(f, ", \"cat\": \"%s\", \"ph\": \"X\", \"pid\": 0, \"tid\": %" PRId64 ", \"ts\": %.3f, \"dur\": %.3f}",
            kinds[e->kind], row_of(r, e->kind), (double)(e->begin - r->driver->epoch) * 1e-3,
            (double)(e->end - e->begin) * 1e-3);
  }
  if (fclose(f)) {
    free(text);
    return NULL;
  }
  return text;
}

bool rcrt_write_trace(const rcrt_driver *d, char *const *parts, const size_t *sizes, char *text) {
  char *bytes = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&bytes, &size);
  if (f) {
    fputs("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [\n", f);
    for (int64_t p = 0; p < d->size; ++p) {
      fputs(p ? ",\n" : "", f);
      fwrite(parts[p], 1, sizes[p], f);
    }
    fputs("\n]}\n", f);
  }
  if (!f || fclose(f)) {
    free(bytes);
    snprintf(text, RCRT_TEXT, "%s: out of memory", d->flags.trace);
    return false;
  }
  bool ok = rcrt_write_text(d, d->flags.trace, bytes, size, text);
  free(bytes);
  return ok;
}
