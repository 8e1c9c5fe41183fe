/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * RINGCONV_LOG=error|info|debug: lines on standard error, each with its rank.
 *   error   every rank's own error, which its caller may or may not print
 *   info    sessions: mesh, transport; runs: time, messages, bytes
 *   debug   every message as it is posted, every wait */
#ifndef RINGCONV_COMMON_LOG_H
#define RINGCONV_COMMON_LOG_H

#include "common/Context.h"

typedef enum rcrt_log_level { RCRT_LOG_NONE, RCRT_LOG_ERROR, RCRT_LOG_INFO, RCRT_LOG_DEBUG } rcrt_log_level;

/* What the environment asks for, read once. */
rcrt_log_level rcrt_log_wanted(void);

/* Writes "ringconv: LEVEL: rank R: TEXT" as one line. */
void rcrt_log_line(const ringconv_context *context, rcrt_log_level level, const char *format, ...) RCRT_PRINTF(3, 4);

/* The arguments are looked at only where the line is wanted. */
#define RCRT_LOG(context, level, ...)                                                                                  \
  do {                                                                                                                 \
    if (rcrt_log_wanted() >= (level))                                                                                  \
      rcrt_log_line(context, level, __VA_ARGS__);                                                                      \
  } while (0)

void rcrt_log_group(const ringconv_context *context, const rcrt_group *group);

#endif
