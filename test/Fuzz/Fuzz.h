/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What fuzz targets in C share. */
#ifndef RINGCONV_TEST_FUZZ_FUZZ_H
#define RINGCONV_TEST_FUZZ_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* What does not hold ends the program with the line it stands in. Gives 0. */
#define expect(condition) ((condition) ? 0 : fuzz_fail(__FILE__, __LINE__, #condition))
static inline int fuzz_fail(const char *file, int line, const char *condition) {
  fprintf(stderr, "%s:%d: not so: %s\n", file, line, condition);
  abort();
}

/* The bytes alone in memory: what reads beyond them is seen. Free it. */
static inline char *fuzz_copy(const uint8_t *data, size_t size) {
  char *copy = malloc(size ? size : 1);
  expect(copy);
  memcpy(copy, data, size);
  return copy;
}

/* A file of these bytes without a place on a disk; close the descriptor. */
enum { FUZZ_PATH = 64 };
static inline int fuzz_file(const uint8_t *data, size_t size, char path[FUZZ_PATH]) {
  int file = memfd_create("fuzz", MFD_CLOEXEC);
  expect(file >= 0 && write(file, data, size) == (ssize_t)size);
  snprintf(path, FUZZ_PATH, "/proc/self/fd/%d", file);
  return file;
}

/* Reads `count` bytes, all of which must lie in [begin, begin + size). */
static inline void fuzz_read(const void *bytes, size_t count, const char *begin, size_t size) {
  const char *at = bytes;
  expect(at >= begin && count <= size && (size_t)(at - begin) <= size - count);
  volatile char sum = 0;
  for (size_t i = 0; i < count; ++i)
    sum = (char)(sum + at[i]);
}

#endif
