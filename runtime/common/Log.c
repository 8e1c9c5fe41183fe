/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "common/Log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words[] = {"none", "error", "info", "debug"};

static int read_level(void) {
  const char *word = getenv("RINGCONV_LOG");
  if (!word || !*word)
    return RCRT_LOG_NONE;
  for (int level = RCRT_LOG_ERROR; level <= RCRT_LOG_DEBUG; ++level)
    if (!strcmp(word, words[level]))
      return level;
  return -1;
}

rcrt_log_level rcrt_log_wanted(void) {
  static _Atomic int known; /* level + 1 */
  int level = atomic_load_explicit(&known, memory_order_relaxed);
  if (!level) {
    int read = read_level(), mine = (read < 0 ? RCRT_LOG_ERROR : read) + 1;
    if (atomic_compare_exchange_strong(&known, &level, mine)) {
      level = mine;
      if (read < 0) /* the first of several threads says it */
        fprintf(stderr, "ringconv: error: RINGCONV_LOG=%s, expected error, info or debug\n", getenv("RINGCONV_LOG"));
    }
  }
  return (rcrt_log_level)(level - 1);
}

void rcrt_log_line(const ringconv_context *context, rcrt_log_level level, const char *format, ...) {
  char line[1024];
  int used = snprintf(line, sizeof line, "ringconv: %s: rank %" PRId64 ": ", words[level], context->position);
  va_list args;
  va_start(args, format);
  vsnprintf(line + used, sizeof line - (size_t)used, format, args);
  va_end(args);
  fprintf(stderr, "%s\n", line);
}

void rcrt_log_group(const ringconv_context *context, const rcrt_group *group) {
  if (rcrt_log_wanted() < RCRT_LOG_DEBUG)
    return;
  const rcrt_side *sides[] = {&group->receive, &group->send};
  for (int s = 0; s < 2; ++s)
    for (int64_t m = 0; m < sides[s]->num_messages; ++m) {
      const rcrt_message *message = &sides[s]->messages[m];
      rcrt_log_line(context, RCRT_LOG_DEBUG,
                    "exchange %" PRId64 ": %s rank %" PRId64 ", %" PRId64 " bytes in %d pieces", group->exchange,
                    s ? "to" : "from", message->peer, message->bytes, message->num_pieces);
    }
}
