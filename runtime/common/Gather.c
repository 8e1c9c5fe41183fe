/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What all ranks tell each other, by the messages of one more group. */
#include "common/Context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* No program's exchange has this number. */
#define AGREEMENT INT64_MIN

static int32_t build(ringconv_context *context, rcrt_group *group, const void *mine, int64_t bytes, char *all) {
  const int64_t stride = 1;
  int32_t code = RCRT_OK;
  for (int64_t p = 0; p < context->size && !code; ++p) {
    rcrt_piece_args args = {
        .peer = p, .data = all + p * bytes, .element_size = 1, .rank = 1, .sizes = &bytes, .strides = &stride};
    code = rcrt_add_piece(context, group, &group->receive, &args);
    args.data = (void *)(uintptr_t)mine;
    if (!code)
      code = rcrt_add_piece(context, group, &group->send, &args);
  }
  return code;
}

int32_t rcrt_gather_all(ringconv_context *context, const void *mine, int64_t bytes, void *all) {
  if (context->transport->gather)
    return context->transport->gather(context, mine, bytes, all);
  ringconv_counters counters = context->counters; /* of the program's messages only */
  bool enabled = context->events.enabled;
  rcrt_group *group;
  int32_t code = rcrt_open_group(context, AGREEMENT, &group);
  context->events.enabled = false;
  if (!code)
    code = build(context, group, mine, bytes, all);
  if (!code)
    code = rcrt_post_group(context, group);
  if (!code)
    code = rcrt_wait_group(context, group);
  context->counters = counters;
  context->events.enabled = enabled;
  if (code) { /* nobody knows an exchange of this number */
    char number[48], text[RCRT_TEXT];
    snprintf(number, sizeof number, "exchange %lld", (long long)AGREEMENT);
    const char *at = strstr(context->text, number);
    if (at) {
      snprintf(text, sizeof text, "%.*sagreement%s", (int)(at - context->text), context->text, at + strlen(number));
      memcpy(context->text, text, sizeof text);
    }
  }
  return code;
}
