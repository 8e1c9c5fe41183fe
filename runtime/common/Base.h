/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What every file of the runtime shares: visibility, error codes, checked
 * arithmetic and the clock.
 */
#ifndef RINGCONV_COMMON_BASE_H
#define RINGCONV_COMMON_BASE_H

#include "ringconv/Runtime/Program.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* The library is compiled with hidden visibility; only the functions of
 * include/ringconv/Runtime are seen from outside. */
#define RCRT_API __attribute__((visibility("default")))
#define RCRT_PRINTF(text, first) __attribute__((__format__(__printf__, text, first)))

/* Dimensions of a piece: `repeat` of ringconv_rt_recv has one bit for each. */
enum { RCRT_MAX_RANK = 64 };

/* Longest text of an error, with its end. */
enum { RCRT_TEXT = 640 };

enum {
  RCRT_OK = 0,
  RCRT_ERR_ARGUMENT = 1, /* the caller's mistake; nothing was sent */
  RCRT_ERR_MEMORY = RINGCONV_RT_NO_MEMORY,
  RCRT_ERR_PEER = 3, /* another rank failed; this one is its victim */
  RCRT_ERR_TIMEOUT = 4,
  RCRT_ERR_MISMATCH = 5, /* the two ends of a message, or two programs, differ */
  RCRT_ERR_TRANSPORT = 6,
  RCRT_ERR_PROGRAM = 7
};

/* Sizes of tensors are never negative; false where the product overflows. */
static inline bool rcrt_product(const int64_t *sizes, int64_t rank, int64_t *product) {
  /* A zero anywhere makes the product zero, whatever the other sizes are. */
  for (int64_t d = 0; d < rank; ++d)
    if (sizes[d] == 0) {
      *product = 0;
      return true;
    }
  int64_t p = 1;
  for (int64_t d = 0; d < rank; ++d)
    if (sizes[d] < 0 || __builtin_mul_overflow(p, sizes[d], &p))
      return false;
  *product = p;
  return true;
}

static inline int64_t rcrt_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A point `seconds` from `begin`, without overflow for absurd timeouts. */
static inline int64_t rcrt_deadline(int64_t begin, double seconds) {
  return seconds > 1e9 ? INT64_MAX : begin + (int64_t)(seconds * 1e9);
}

#endif
