/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Threads that begin together: ranks wait for each other, so that none may
 * start where one could not be made. */
#ifndef RINGCONV_HOST_CREW_H
#define RINGCONV_HOST_CREW_H

#include <stddef.h>
#include <stdint.h>

/* More threads than this is a mistake, not a machine. */
enum { RCRT_MAX_THREADS = 4096 };

/* Calls work(&members[i]), members of `size` bytes each, on `count` threads, and
 * returns when all have ended: 0, or the errno of the thread that could not be
 * made, number *failed; then no work was called. */
int rcrt_run_crew(int64_t count, void (*work)(void *member), void *members, size_t size, int64_t *failed);

#endif
