/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Parameters hold over many runs and may be set anew: results follow the last
 * ones set, also where filters are packed once. One feature per row in and out,
 * 1x1: y[o] = sum over i of w[o][i] x[i]. */
#include "libscale.h"

#include <stdio.h>

enum { FEATURES = 16, PIXELS = 24 };

static float x[FEATURES][PIXELS], w[FEATURES][FEATURES], y[FEATURES][PIXELS];

static int run_and_check(ringconv_session *session, const char *what) {
  const void *in[] = {x};
  void *out[] = {y};
  for (int o = 0; o < FEATURES; ++o)
    for (int p = 0; p < PIXELS; ++p)
      y[o][p] = -1;
  if (scale_run(session, NULL, in, out))
    return fprintf(stderr, "%s: %s\n", what, scale_error(session)), 1;
  for (int o = 0; o < FEATURES; ++o)
    for (int p = 0; p < PIXELS; ++p) {
      float sum = 0;
      for (int i = 0; i < FEATURES; ++i)
        sum += w[o][i] * x[i][p];
      if (y[o][p] != sum + 3)
        return fprintf(stderr, "%s: feature %d, pixel %d: %g, expected %g\n", what, o, p, y[o][p], sum + 3), 1;
    }
  return 0;
}

static int set(ringconv_session *session, int seed) {
  for (int o = 0; o < FEATURES; ++o)
    for (int i = 0; i < FEATURES; ++i)
      w[o][i] = (float)((o * 5 + i * 3 + seed * 11) % 7 - 3);
  const void *parameters[] = {w};
  return scale_set_parameters(session, parameters);
}

int main(void) {
  for (int i = 0; i < FEATURES; ++i)
    for (int p = 0; p < PIXELS; ++p)
      x[i][p] = (float)((i * 13 + p * 7) % 9 - 4);
  ringconv_session *session = NULL;
  ringconv_world world = {0, 1, RINGCONV_TRANSPORT_THREADS, NULL, 0};
  ringconv_options options = {RINGCONV_ABI_VERSION, 10};
  int failed = scale_create(&session, &world, &options) || set(session, 1) || run_and_check(session, "first run") ||
               run_and_check(session, "second run") || set(session, 2) || run_and_check(session, "new parameters") ||
               set(session, 3) || set(session, 4) || run_and_check(session, "set twice");
  scale_destroy(session);
  if (!failed)
    puts("results follow the parameters");
  return failed;
}
