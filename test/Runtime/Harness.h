/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * As much of a test framework as plain C needs. The last line of a test is
 * "N passed, N failed"; its exit code is 1 if any failed. */
#ifndef RINGCONV_TEST_RUNTIME_HARNESS_H
#define RINGCONV_TEST_RUNTIME_HARNESS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct harness {
  int passed, failed, bad; /* bad: checks of the current test */
  int quiet;
} harness;

static harness tests;

static inline int check_that(int ok, const char *what, const char *file, int line) {
  if (!ok && tests.bad++ < 5)
    fprintf(stderr, "%s:%d: %s\n", file, line, what);
  return ok;
}
#define CHECK(condition) check_that(!!(condition), #condition, __FILE__, __LINE__)

static inline int check_text(const char *text, const char *wanted, const char *file, int line) {
  int ok = strstr(text, wanted) != NULL;
  if (!ok && tests.bad++ < 5)
    fprintf(stderr, "%s:%d: '%s' lacks '%s'\n", file, line, text, wanted);
  return ok;
}
#define CHECK_TEXT(text, wanted) check_text(text, wanted, __FILE__, __LINE__)

static inline void end_test(const char *name) {
  if (tests.bad == 0) {
    ++tests.passed;
  } else {
    ++tests.failed;
    fprintf(stderr, "FAILED %s (%d checks)\n", name, tests.bad);
  }
  tests.bad = 0;
}
#define RUN_TEST(function) (function(), end_test(#function))

static inline int report_tests(void) {
  if (!tests.quiet)
    printf("%d passed, %d failed\n", tests.passed, tests.failed);
  return tests.failed != 0;
}

/* The same sequence everywhere: xorshift64*. */
static inline uint64_t next_random(uint64_t *state) {
  uint64_t x = *state;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  *state = x;
  return x * UINT64_C(0x2545f4914f6cdd1d) >> 16;
}
static inline int64_t random_below(uint64_t *state, int64_t bound) {
  return (int64_t)(next_random(state) % (uint64_t)bound);
}

#endif
