/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Calls a compiled library: two ranks as threads, each with its own shard.
 *
 *   ringconv-compile blur.mlir --emit=lib -o libblur.so      (also writes libblur.h)
 *   cc main.c -I. -L. -lblur -lpthread -Wl,-rpath,. -o blur && ./blur
 */
#include "libblur.h"

#include <pthread.h>
#include <stdio.h>

enum { CHANNELS = 2, ROWS = 6, COLUMNS = 5, RANKS = 2 };

static float image[CHANNELS][ROWS][COLUMNS], kernel[CHANNELS][3][3];
static float result[CHANNELS][ROWS][COLUMNS];
static ringconv_team *team;

static int fail(ringconv_session *session, const char *what) {
  fprintf(stderr, "%s: %s\n", what, session ? blur_error(session) : "out of memory");
  if (session)
    blur_destroy(session);
  return 1;
}

/* Copies a rank's rows between the whole array and its dense shard. */
static void copy_rows(float whole[CHANNELS][ROWS][COLUMNS], float *shard, int64_t first, int64_t rows, int into_shard) {
  for (int c = 0; c < CHANNELS; ++c)
    for (int64_t r = 0; r < rows; ++r)
      for (int x = 0; x < COLUMNS; ++x) {
        float *w = &whole[c][first + r][x], *s = &shard[(c * rows + r) * COLUMNS + x];
        if (into_shard)
          *s = *w;
        else
          *w = *s;
      }
}

static int run_rank(int64_t rank) {
  ringconv_world world = {rank, RANKS, RINGCONV_TRANSPORT_THREADS, team, 0};
  int64_t offsets[4], sizes[4];
  if (blur_shard(&world, 0, offsets, sizes))
    return fail(NULL, "shard");
  float in[CHANNELS * ROWS * COLUMNS], out[CHANNELS * ROWS * COLUMNS];
  copy_rows(image, in, offsets[2], sizes[2], 1);

  ringconv_session *session = NULL;
  ringconv_options options = {RINGCONV_ABI_VERSION, 10};
  if (blur_create(&session, &world, &options))
    return fail(session, "create");
  const void *parameters[] = {kernel};
  const void *inputs[] = {in};
  void *outputs[] = {out};
  if (blur_set_parameters(session, parameters))
    return fail(session, "set_parameters");
  if (blur_run(session, NULL, inputs, outputs))
    return fail(session, "run");
  copy_rows(result, out, offsets[2], sizes[2], 0);
  blur_destroy(session);
  return 0;
}

static void *thread(void *rank) { return (void *)(intptr_t)run_rank((intptr_t)rank); }

/* The sum of the 3x3 elements around one, by the definition. */
static float expected(int c, int y, int x) {
  float sum = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      if (y + dy >= 0 && y + dy < ROWS && x + dx >= 0 && x + dx < COLUMNS)
        sum += image[c][y + dy][x + dx];
  return sum;
}

int main(void) {
  for (int c = 0; c < CHANNELS; ++c) {
    for (int y = 0; y < ROWS; ++y)
      for (int x = 0; x < COLUMNS; ++x)
        image[c][y][x] = (float)(c * 31 + y * 7 + x * x % 5);
    for (int k = 0; k < 9; ++k)
      kernel[c][k / 3][k % 3] = 1;
  }
  team = blur_team_create(RANKS);
  pthread_t threads[RANKS];
  for (intptr_t r = 0; r < RANKS; ++r)
    pthread_create(&threads[r], NULL, thread, (void *)r);
  int failed = 0;
  for (int r = 0; r < RANKS; ++r) {
    void *code;
    pthread_join(threads[r], &code);
    failed |= code != NULL;
  }
  blur_team_destroy(team);
  for (int c = 0; c < CHANNELS && !failed; ++c)
    for (int y = 0; y < ROWS; ++y)
      for (int x = 0; x < COLUMNS; ++x)
        if (result[c][y][x] != expected(c, y, x)) {
          fprintf(stderr, "channel %d, row %d, column %d: %g, expected %g\n", c, y, x, result[c][y][x],
                  expected(c, y, x));
          return 1;
        }
  if (!failed)
    printf("two ranks agree with the uncut sum at all %d elements\n", CHANNELS * ROWS * COLUMNS);
  return failed;
}
