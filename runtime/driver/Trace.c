/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Chrome trace events (chrome://tracing, Perfetto): one row per rank. */
#include "driver/Driver.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void print_name(FILE *f, const ringconv_program *program, const rcrt_event *e) {
  char text[64];
  if (e->kind == RCRT_EVENT_OP) {
    rcrt_json_string(f, program->ops[e->id].label);
    return;
  }
  snprintf(text, sizeof text, "%s %" PRId64, e->kind == RCRT_EVENT_POST ? "post" : "wait", e->id);
  rcrt_json_string(f, text);
}

/* Times are relative to the driver's epoch, which ranks of one program set at
 * the same agreement: clocks of several machines need not agree. */
char *rcrt_trace_text(const rcrt_rank *r, size_t *size) {
  static const char *const kinds[] = {[RCRT_EVENT_OP] = "op", [RCRT_EVENT_POST] = "post", [RCRT_EVENT_WAIT] = "wait"};
  const rcrt_events *events = &r->session->context.events;
  char *text = NULL;
  FILE *f = open_memstream(&text, size);
  if (!f)
    return NULL;
  fprintf(f,
          "{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 0, \"tid\": %" PRId64
          ", \"args\": {\"name\": \"rank %" PRId64 "\"}}",
          r->position, r->position);
  for (int64_t i = 0; i < events->count; ++i) {
    const rcrt_event *e = &events->events[i];
    fputs(",\n{\"name\": ", f);
    print_name(f, r->driver->program, e);
    fprintf(f, ", \"cat\": \"%s\", \"ph\": \"X\", \"pid\": 0, \"tid\": %" PRId64 ", \"ts\": %.3f, \"dur\": %.3f, "
               "\"args\": {\"id\": %" PRId64 "}}",
            kinds[e->kind], r->position, (double)(e->begin - r->driver->epoch) * 1e-3,
            (double)(e->end - e->begin) * 1e-3, e->id);
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
