/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A program as the compiler would emit it, written by hand: a 3x3 stencil on a
 * torus, cut in both dimensions, and the sum of its result over all ranks.
 *
 *   x: tensor<13x17xf32> cut by "y", "x"    k: tensor<3x3xf32>, a parameter
 *   y: the same cut                         s: tensor<1xf64>, replicated
 *
 * RINGCONV_TEST_MESH=YxX sets the mesh (default 1x1), RINGCONV_TEST_FAULT=
 * KIND:RANK lets one rank misbehave: silent (never posts), size (sends a column
 * too many), wrong (one element differs), unsteady (other bits in every run),
 * program (another hash); KIND:RANK:MOMENT before, inside or after its exchange
 * (default: before): error, crash (SIGKILL), stop (SIGSTOP), delay (half a
 * second). */
#include "ringconv/Runtime/Calls.h"
#include "ringconv/Runtime/Session.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { H = 13, W = 17 };

static int64_t extents[2] = {1, 1};
static char fault[32] = "", moment[32] = "before";
static int64_t fault_rank = -1;
static int unsteady;

static int faulty(int64_t rank, const char *kind) { return rank == fault_rank && !strcmp(fault, kind); }

/* Balanced cuts: the first `size % parts` parts are one longer. */
static int64_t cut(int64_t size, int64_t parts, int64_t c) {
  int64_t rest = size % parts;
  return size / parts * c + (c < rest ? c : rest);
}

/* ---- One rank ---- */

typedef struct local {
  ringconv_context *context;
  int64_t py, px, h, w, rank;
  float *padded; /* (h + 2) x (w + 2), the shard in its middle */
} local;

/* A box of `padded`, odd directions described from their last element. */
static float *box(const local *l, int64_t row, int64_t column, int64_t rows, int64_t columns, int reversed,
                  int64_t shape[4]) {
  int64_t stride = l->w + 2, sign = reversed ? -1 : 1;
  shape[0] = rows;
  shape[1] = columns;
  shape[2] = sign * stride;
  shape[3] = sign;
  return l->padded + row * stride + column + (reversed ? (rows - 1) * stride + columns - 1 : 0);
}

/* What travels in direction (dy, dx): my last row or column on that side goes
 * to the neighbour there, and the opposite neighbour's fills my halo. */
static int32_t exchange(const local *l, int dy, int dx, int number) {
  int64_t shape[4], rows = dy ? 1 : l->h, columns = dx ? 1 : l->w;
  int64_t to_y = (l->py + dy + extents[0]) % extents[0], to_x = (l->px + dx + extents[1]) % extents[1];
  int64_t from_y = (l->py - dy + extents[0]) % extents[0], from_x = (l->px - dx + extents[1]) % extents[1];
  int64_t row = dy > 0 ? l->h : 1, column = dx > 0 ? l->w : 1;
  int64_t extra = faulty(l->rank, "size") && number == 0 && l->w > 1;
  float *data = box(l, row, column, rows, columns + extra, number & 1, shape);
  int32_t code = ringconv_rt_send(l->context, 3, to_y * extents[1] + to_x, data, 4, 2, shape);
  if (code)
    return code;
  row = dy ? (dy > 0 ? 0 : l->h + 1) : 1;
  column = dx ? (dx > 0 ? 0 : l->w + 1) : 1;
  data = box(l, row, column, rows, columns, number & 1, shape);
  return ringconv_rt_recv(l->context, 3, from_y * extents[1] + from_x, data, 4, 2, shape, 0);
}

static int32_t exchange_all(const local *l) {
  int32_t code = ringconv_rt_group(l->context, 3);
  int number = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      if (!code && (dy || dx))
        code = exchange(l, dy, dx, number++);
  return code ? code : ringconv_rt_post(l->context, 3);
}

static double stencil(const local *l, const float *k, float *y) {
  double sum = 0;
  for (int64_t i = 0; i < l->h; ++i)
    for (int64_t j = 0; j < l->w; ++j) {
      double acc = 0;
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b)
          acc += (double)k[a * 3 + b] * l->padded[(i + a) * (l->w + 2) + j + b];
      y[i * l->w + j] = (float)acc;
      sum += (float)acc;
    }
  return sum;
}

/* Where the rank is in its exchange; the code that it fails with. */
static int32_t misbehave(const local *l, const char *now) {
  if (strcmp(now, moment))
    return 0;
  if (faulty(l->rank, "crash"))
    raise(SIGKILL);
  if (faulty(l->rank, "stop"))
    raise(SIGSTOP);
  if (faulty(l->rank, "delay"))
    usleep(500000);
  return faulty(l->rank, "error") ? 7 : 0;
}

static int32_t run_local(local *l, void *const *in, void *const *out) {
  const float *x = in[0];
  for (int64_t i = 0; i < l->h; ++i)
    memcpy(l->padded + (i + 1) * (l->w + 2) + 1, x + i * l->w, (size_t)l->w * sizeof *x);
  ringconv_rt_op_begin(l->context, 0);
  int32_t code = misbehave(l, "before");
  if (!code && !faulty(l->rank, "silent"))
    code = exchange_all(l);
  if (faulty(l->rank, "silent"))
    sleep(8); /* far longer than the timeout of the others */
  if (!code)
    code = misbehave(l, "inside");
  if (!code)
    code = ringconv_rt_wait(l->context, 3);
  if (!code)
    code = misbehave(l, "after");
  if (code)
    return code;
  double *sum = out[1];
  int64_t shape[2] = {1, 1};
  *sum = stencil(l, in[1], out[0]);
  ringconv_rt_count(l->context, 9 * l->h * l->w);
  ringconv_rt_op_end(l->context, 0);
  if (faulty(l->rank, "wrong"))
    ((float *)out[0])[0] += 1;
  if (faulty(l->rank, "unsteady"))
    ((float *)out[0])[0] += (float)unsteady++;
  return ringconv_rt_all_reduce(l->context, 4, 3, RINGCONV_F64, sum, 1, shape);
}

static int32_t run(ringconv_context *context, void *const *in, void *const *out) {
  local l = {.context = context, .py = ringconv_rt_coord(context, 0), .px = ringconv_rt_coord(context, 1)};
  l.rank = l.py * extents[1] + l.px;
  l.h = cut(H, extents[0], l.py + 1) - cut(H, extents[0], l.py);
  l.w = cut(W, extents[1], l.px + 1) - cut(W, extents[1], l.px);
  l.padded = malloc((size_t)((l.h + 2) * (l.w + 2)) * sizeof *l.padded);
  if (!l.padded)
    return 2;
  int32_t code = run_local(&l, in, out);
  free(l.padded);
  return code;
}

/* ---- The uncut program ---- */

static int32_t reference(void *const *in, void *const *out) {
  const float *x = in[0], *k = in[1];
  float *y = out[0];
  double *sum = out[1];
  *sum = 0;
  for (int64_t i = 0; i < H; ++i)
    for (int64_t j = 0; j < W; ++j) {
      double acc = 0;
      for (int a = 0; a < 3; ++a)
        for (int b = 0; b < 3; ++b)
          acc += (double)k[a * 3 + b] * x[(i + a - 1 + H) % H * W + (j + b - 1 + W) % W];
      y[i * W + j] = (float)acc;
      *sum += (float)acc;
    }
  return 0;
}

/* ---- Tables ---- */

static ringconv_table table(ringconv_run runs[2], int64_t size, int64_t parts, int64_t shift, int64_t add) {
  int64_t rest = size % parts, q = size / parts;
  runs[0] = (ringconv_run){0, add + shift * (q + (rest > 0)), q + (rest > 0)};
  runs[1] = (ringconv_run){rest - shift, add + rest * (q + 1), q};
  if (rest == 0 || rest - shift <= 0) { /* one run is enough */
    runs[0] = (ringconv_run){0, add + cut(size, parts, shift), q};
    return (ringconv_table){1, runs};
  }
  return (ringconv_table){2, runs};
}

static void read_settings(void) {
  const char *mesh = getenv("RINGCONV_TEST_MESH"), *kind = getenv("RINGCONV_TEST_FAULT");
  long long a, b;
  if (mesh && sscanf(mesh, "%lldx%lld", &a, &b) == 2) {
    extents[0] = a;
    extents[1] = b;
  }
  if (kind && sscanf(kind, "%31[a-z]:%lld:%31[a-z]", fault, &a, moment) >= 2)
    fault_rank = a;
}

/* Under a launcher each process can be told apart before MPI begins. */
static int is_process(int64_t rank) {
  const char *value = getenv("OMPI_COMM_WORLD_RANK") ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
  return value && atoll(value) == rank;
}

int main(int argc, char **argv) {
  read_settings();
  static const int32_t axis_y = 0, axis_x = 1;
  static const char *const names[2] = {"y", "x"};
  static const int64_t x_sizes[2] = {H, W}, k_sizes[2] = {3, 3}, s_sizes[1] = {1};
  ringconv_run runs[10][2];
  ringconv_cut cuts[2] = {{1, &axis_y, table(runs[0], H, extents[0], 0, 0)},
                          {1, &axis_x, table(runs[1], W, extents[1], 0, 0)}};
  ringconv_cut whole[2] = {{0}, {0}};
  ringconv_operand inputs[2] = {{"x", RINGCONV_F32, 2, x_sizes, cuts, 0},
                                {"k", RINGCONV_F32, 2, k_sizes, whole, RINGCONV_PARAMETER}};
  ringconv_operand outputs[2] = {{"y", RINGCONV_F32, 2, x_sizes, cuts, 0}, {"s", RINGCONV_F64, 1, s_sizes, whole, 0}};
  ringconv_op_dim dims[2] = {{0, 1, &axis_y, table(runs[2], H, extents[0], 0, 0), table(runs[3], H, extents[0], 1, 0),
                              table(runs[4], H, extents[0], 0, -1), table(runs[5], H, extents[0], 1, 1)},
                             {1, 1, &axis_x, table(runs[6], W, extents[1], 0, 0), table(runs[7], W, extents[1], 1, 0),
                              table(runs[8], W, extents[1], 0, -1), table(runs[9], W, extents[1], 1, 1)}};
  ringconv_op op = {"conv 3x3 stride 1", "stencil.mlir:3:8", 3, 2, dims};
  const char *features = getenv("RINGCONV_TEST_FEATURES");
  ringconv_program program = {.abi_version = RINGCONV_ABI_VERSION,
                              .entry = "main",
                              .hash = 0x1234,
                              .target = "host",
                              .cpu_features = features ? features : "",
                              .mesh = {2, names, extents, NULL},
                              .num_inputs = 2,
                              .num_outputs = 2,
                              .num_ops = 1,
                              .num_exchanges = 2,
                              .inputs = inputs,
                              .outputs = outputs,
                              .ops = &op,
                              .run = run,
                              .reference = reference};
  if (extents[0] == 4) /* a compiled program's hash covers its mesh */
    program.hash = 0x1234 + 4;
  if (!strcmp(fault, "program") && is_process(fault_rank))
    program.hash = 0x4321;
  return ringconv_main(argc, argv, &program);
}
