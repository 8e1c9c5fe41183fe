/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "driver/Driver.h"

#include "common/DType.h"
#include "common/Shard.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

bool rcrt_rank_error(rcrt_rank *r, const char *format, ...) {
  if (r->code)
    return false;
  r->code = RCRT_ERR_ARGUMENT;
  int used = snprintf(r->text, sizeof r->text, "rank %" PRId64 ": ", r->position);
  va_list args;
  va_start(args, format);
  vsnprintf(r->text + used, sizeof r->text - (size_t)used, format, args);
  va_end(args);
  return false;
}

/* The error of a call on the session, which names the rank itself. */
static bool session_error(rcrt_rank *r, int32_t code) {
  if (!r->code) {
    r->code = code;
    snprintf(r->text, sizeof r->text, "%s", ringconv_session_error(r->session));
  }
  return false;
}

/* ---- Agreement ---- */

/* Threads: the last one to come publishes the verdict of its round. Two slots
 * are enough: nobody reaches the next but one round before all have read. */
static bool agree_threads(rcrt_driver *d, bool ok) {
  pthread_mutex_lock(&d->lock);
  int64_t round = d->round;
  d->bad |= !ok;
  if (++d->arrived == d->size) {
    d->verdicts[round & 1] = !d->bad;
    d->arrived = 0;
    ++d->round;
    pthread_cond_broadcast(&d->turn);
  }
  while (d->round == round)
    pthread_cond_wait(&d->turn, &d->lock);
  bool verdict = d->verdicts[round & 1];
  pthread_mutex_unlock(&d->lock);
  return verdict;
}

/* Others may need as long as this rank did, and then the timeout more. */
bool rcrt_gather(rcrt_rank *r, const void *mine, int64_t bytes, void *all) {
  ringconv_context *context = &r->session->context;
  double timeout = context->timeout;
  context->timeout += (double)(rcrt_now() - r->agreed_at) * 1e-9;
  int32_t code = rcrt_gather_all(context, mine, bytes, all);
  context->timeout = timeout;
  r->agreed_at = rcrt_now();
  if (!code)
    return true;
  rcrt_session_fail(r->session);
  r->fatal = true;
  return session_error(r, code);
}

bool rcrt_agree(rcrt_rank *r, bool ok) {
  rcrt_driver *d = r->driver;
  if (d->transport == RINGCONV_TRANSPORT_THREADS)
    return agree_threads(d, ok);
  if (r->fatal)
    return false;
  char *all = malloc((size_t)d->size), mine = ok;
  if (!all) {
    r->fatal = true;
    return rcrt_rank_error(r, "out of memory");
  }
  bool agreed = rcrt_gather(r, &mine, 1, all);
  for (int64_t p = 0; agreed && p < d->size; ++p)
    if (!all[p]) {
      agreed = false;
      r->speaks = p == r->position;
    }
  free(all);
  return agreed;
}

/* ---- Steps ---- */

static bool allocate_shards(rcrt_rank *r) {
  const ringconv_program *program = r->driver->program;
  bool twice = r->driver->flags.repeat > 1;
  r->in = calloc((size_t)program->num_inputs + 1, sizeof *r->in);
  r->out = calloc((size_t)program->num_outputs + 1, sizeof *r->out);
  r->other = calloc((size_t)program->num_outputs + 1, sizeof *r->other);
  r->in_data = calloc((size_t)program->num_inputs + 1, sizeof *r->in_data);
  r->parameters = calloc((size_t)program->num_inputs + 1, sizeof *r->parameters);
  if (!r->in || !r->out || !r->other || !r->in_data || !r->parameters)
    return rcrt_rank_error(r, "out of memory");
  const rcrt_driver *d = r->driver;
  char text[RCRT_TEXT];
  int64_t here = d->transport == RINGCONV_TRANSPORT_THREADS ? d->size : d->flags.ranks_per_process;
  if (!rcrt_shards_fit(d, r->position, here > 0 ? here : 1, text))
    return rcrt_rank_error(r, "%s", text);
  for (int32_t i = 0; i < program->num_inputs + program->num_outputs; ++i) {
    const ringconv_operand *operand = rcrt_operand(program, i);
    int64_t offsets[RCRT_MAX_RANK], sizes[RCRT_MAX_RANK];
    int32_t o = i - program->num_inputs;
    rcrt_box(&program->mesh, operand, r->position, offsets, sizes);
    if (o < 0 && !program->cuda && rcrt_input_in_place(r->driver, i, sizes))
      continue;
    void **data[] = {o < 0 ? &r->in[i] : &r->out[o], o >= 0 && twice ? &r->other[o] : NULL};
    for (int k = 0; k < 2 && data[k]; ++k)
      if (program->cuda ? !rcrt_device_allocate_host(r, i, data[k]) : !rcrt_allocate_box(operand, sizes, data[k], text))
        return program->cuda ? false : rcrt_rank_error(r, "%s", text);
  }
  return true;
}

static bool load_inputs(rcrt_rank *r) {
  const ringconv_program *program = r->driver->program;
  int32_t data = 0, parameters = 0;
  for (int32_t i = 0; i < program->num_inputs; ++i) {
    int64_t offsets[RCRT_MAX_RANK], sizes[RCRT_MAX_RANK];
    char text[RCRT_TEXT];
    rcrt_box(&program->mesh, &program->inputs[i], r->position, offsets, sizes);
    const void *shared = rcrt_input_in_place(r->driver, i, sizes);
    if (!shared && !rcrt_load_input(r->driver, i, offsets, sizes, r->in[i], text)) {
      if (!r->code) { /* the file is at fault, whichever rank reads it */
        r->code = RCRT_ERR_ARGUMENT;
        snprintf(r->text, sizeof r->text, "%s", text);
      }
      return false;
    }
    if (program->inputs[i].flags & RINGCONV_PARAMETER)
      r->parameters[parameters++] = shared ? shared : r->in[i];
    else
      r->in_data[data++] = r->in[i];
  }
  if (program->cuda && !rcrt_device_prepare(r))
    return false;
  int32_t code = ringconv_session_set_parameters(r->session, r->parameters);
  return code ? session_error(r, code) : true;
}

static bool prepare(rcrt_rank *r) {
  char text[RCRT_TEXT];
  if (!allocate_shards(r) || !load_inputs(r))
    return false;
  if (r->position == 0 && !rcrt_outputs_possible(r->driver, text)) {
    r->code = RCRT_ERR_ARGUMENT;
    snprintf(r->text, sizeof r->text, "%s", text);
    return false;
  }
  return true;
}

/* The runs of one program on the same inputs give the same bits. */
static bool same_outputs(rcrt_rank *r, int64_t run) {
  const ringconv_program *program = r->driver->program;
  for (int32_t o = 0; o < program->num_outputs; ++o) {
    int64_t offsets[RCRT_MAX_RANK], sizes[RCRT_MAX_RANK], elements = 0;
    rcrt_box(&program->mesh, &program->outputs[o], r->position, offsets, sizes);
    rcrt_product(sizes, program->outputs[o].rank, &elements);
    if (memcmp(r->out[o], r->other[o], (size_t)(elements * rcrt_dtype_size(program->outputs[o].dtype))))
      return rcrt_rank_error(r, "run %" PRId64 " gives other bits in output %d than run 0", run, o);
  }
  return true;
}

static bool run_all(rcrt_rank *r) {
  rcrt_driver *d = r->driver;
  double *seconds = rcrt_seconds_of(d, r->position);
  r->session->context.events.enabled = d->flags.trace != NULL;
  if (d->program->cuda && !rcrt_device_time(r))
    return false;
  bool same = true;
  for (int64_t run = 0; run < d->flags.repeat; ++run) {
    int64_t begin = rcrt_now();
    void **out = run ? r->other : r->out;
    int32_t code = d->program->cuda ? rcrt_device_run(r) : ringconv_session_run(r->session, NULL, r->in_data, out);
    seconds[run] = (double)(rcrt_now() - begin) * 1e-9;
    if (!code && d->program->cuda)
      code = rcrt_device_download(r, out);
    if (code) {
      r->fatal = d->transport != RINGCONV_TRANSPORT_THREADS;
      return session_error(r, code);
    }
    /* The others go on: a difference ends the work at the agreement. */
    same = same && (run == 0 || same_outputs(r, run));
  }
  return same;
}

static bool check(rcrt_rank *r) {
  rcrt_driver *d = r->driver;
  bool shared = d->transport == RINGCONV_TRANSPORT_THREADS, ok = true;
  char text[RCRT_TEXT];
  if (!shared || r->position == 0)
    ok = rcrt_evaluate_reference(d, text) || rcrt_rank_error(r, "%s", text);
  if (!rcrt_agree(r, ok))
    return false;
  rcrt_compare_rank(r, rcrt_compared_of(d, r->position));
  return true;
}

/* All ranks, and the files exist only from here on. */
static bool write_outputs(rcrt_rank *r) {
  rcrt_driver *d = r->driver;
  char text[RCRT_TEXT];
  bool first = r->position == 0, any = false;
  for (int32_t o = 0; o < d->program->num_outputs; ++o)
    any |= d->flags.outputs[o] != NULL;
  if (!any)
    return true;
  bool ok = !first || rcrt_outputs_create(d, text);
  if (rcrt_agree(r, ok || rcrt_rank_error(r, "%s", text))) {
    ok = rcrt_outputs_write(d, r->position, r->out, text);
    if (rcrt_agree(r, ok || rcrt_rank_error(r, "%s", text))) {
      ok = !first || rcrt_outputs_finish(d, text);
      if (rcrt_agree(r, ok || rcrt_rank_error(r, "%s", text)))
        return true;
    }
  }
  if (first || r->fatal)
    rcrt_outputs_discard(d);
  return false;
}

static bool share_summaries(rcrt_rank *r) {
  rcrt_driver *d = r->driver;
  rcrt_fill_summary(r);
  if (d->transport == RINGCONV_TRANSPORT_THREADS)
    return rcrt_agree(r, true);
  char *mine = malloc((size_t)d->summary_bytes);
  if (!rcrt_agree(r, mine != NULL || rcrt_rank_error(r, "out of memory"))) {
    free(mine);
    return false;
  }
  memcpy(mine, rcrt_summary_of(d, r->position), (size_t)d->summary_bytes);
  bool ok = rcrt_gather(r, mine, d->summary_bytes, d->summaries);
  free(mine);
  return ok;
}

/* Rank 0 gets the trace texts of all; those of other processes come in one
 * gather, filled up to the longest. */
static bool collect_traces(rcrt_rank *r, char *mine, size_t size) {
  rcrt_driver *d = r->driver;
  d->traces[r->position] = mine;
  d->trace_sizes[r->position] = size;
  if (d->transport == RINGCONV_TRANSPORT_THREADS)
    return rcrt_agree(r, mine != NULL || rcrt_rank_error(r, "no memory for the trace"));
  size_t longest = 1;
  if (!rcrt_gather(r, &size, sizeof size, d->trace_sizes))
    return false;
  for (int64_t p = 0; p < d->size; ++p)
    longest = d->trace_sizes[p] > longest ? d->trace_sizes[p] : longest;
  char *padded = calloc(longest, 1), *all = malloc(longest * (size_t)d->size);
  bool ok = rcrt_agree(r, (mine && padded && all) || rcrt_rank_error(r, "no memory for the trace"));
  if (ok) {
    memcpy(padded, mine, size);
    ok = rcrt_gather(r, padded, (int64_t)longest, all);
  }
  for (int64_t p = 0; ok && p < d->size; ++p)
    if (p != r->position && (d->traces[p] = malloc(longest)))
      memcpy(d->traces[p], all + (size_t)p * longest, longest);
  free(padded);
  free(all);
  return ok;
}

/* Figures and events are of use also where the check fails. */
static bool write_figures(rcrt_rank *r) {
  rcrt_driver *d = r->driver;
  char text[RCRT_TEXT];
  if (d->flags.trace) {
    size_t size = 0;
    char *mine = rcrt_trace_text(r, &size);
    if (!collect_traces(r, mine, size))
      return false;
  }
  bool ok = true;
  if (r->position == 0 && d->flags.trace)
    ok = rcrt_write_trace(d, d->traces, d->trace_sizes, text);
  if (r->position == 0 && d->flags.json && ok)
    ok = rcrt_write_json(d, text);
  return rcrt_agree(r, ok || rcrt_rank_error(r, "%s", text));
}

/* Position 0 prints; the verdict is everybody's. */
static bool judge(rcrt_rank *r) {
  rcrt_driver *d = r->driver;
  bool ok = true;
  if (r->position == 0 && d->flags.check && !rcrt_print_check(d)) {
    r->code = RCRT_ERR_MISMATCH; /* what is wrong stands in the lines printed */
    r->text[0] = 0;
    ok = false;
  }
  return rcrt_agree(r, ok);
}

void rcrt_run_rank(rcrt_rank *r) {
  rcrt_driver *d = r->driver;
  if (!rcrt_agree(r, prepare(r)))
    return;
  if (d->transport != RINGCONV_TRANSPORT_THREADS)
    d->epoch = rcrt_now();
  if (d->program->cuda && !rcrt_agree(r, rcrt_device_connect(r)))
    return;
  if (!rcrt_agree(r, run_all(r)))
    return;
  if (d->flags.check && !check(r))
    return;
  if (!share_summaries(r) || !write_figures(r) || !judge(r) || !write_outputs(r))
    return;
  if (r->position == 0)
    rcrt_print_report(d);
  if (d->program->cuda)
    rcrt_device_disconnect(r);
  r->done = true;
}

static void free_all(void **data, int32_t count) {
  for (int32_t i = 0; data && i < count; ++i)
    free(data[i]);
  free(data);
}

void rcrt_free_rank(rcrt_rank *r) {
  const ringconv_program *program = r->driver->program;
  if (program->cuda) {
    rcrt_device_free(r);
    rcrt_device_free_host(r, r->in, program->num_inputs);
    rcrt_device_free_host(r, r->out, program->num_outputs);
    rcrt_device_free_host(r, r->other, program->num_outputs);
  } else {
    free_all(r->in, program->num_inputs);
    free_all(r->out, program->num_outputs);
    free_all(r->other, program->num_outputs);
  }
  ringconv_session_destroy(r->session);
  free(r->in_data);
  free(r->parameters);
}
