/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Messages and sums between ranks, each as generated code would call them:
 *   ringconv-exchange-test             threads, on meshes of 1 to 8 ranks
 *   mpirun -n N ringconv-exchange-test one rank in each process */
#include "Harness.h"
#include "Ranks.h"

#include <stdlib.h>
#include <unistd.h>

static int64_t extents[2]; /* of the mesh under test; set before ranks run */
static int64_t size_of_mesh(void) { return extents[0] * extents[1]; }
static int64_t position_of(void *const *in) { return *(const int64_t *)in[0]; }

/* A wrong value on a rank. */
enum { WRONG = 99 };
#define EXPECT(condition)                                                                                              \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      fprintf(stderr, "%s:%d: rank %lld: %s\n", __FILE__, __LINE__, (long long)position_of(in), #condition);           \
      return WRONG;                                                                                                    \
    }                                                                                                                  \
  } while (0)
#define TRY(call)                                                                                                      \
  do {                                                                                                                 \
    int32_t code_ = (call);                                                                                            \
    if (code_)                                                                                                         \
      return code_;                                                                                                    \
  } while (0)

/* ---- Rings ---- */

/* Both ends walk their memory backwards, or only one: then the row arrives
 * reversed. Column 1 of a 5x7 box, so that the runs are strided as well. */
static int32_t ring_reversed(ringconv_context *c, void *const *in, void *const *out) {
  (void)out;
  int64_t n = size_of_mesh(), r = position_of(in), next = (r + 1) % n, before = (r + n - 1) % n;
  float data[5][7], both[5] = {0}, one[5] = {0};
  for (int i = 0; i < 35; ++i)
    data[i / 7][i % 7] = (float)(100 * r + i);
  int64_t down[] = {5, 1, -7, 1}, up[] = {5, 1, 1, 1}, back[] = {5, -1};
  TRY(ringconv_rt_group(c, 0));
  TRY(ringconv_rt_send(c, 0, next, &data[4][1], 4, 2, down));
  TRY(ringconv_rt_send(c, 0, next, &data[4][1], 4, 2, down));
  TRY(ringconv_rt_recv(c, 0, before, &both[4], 4, 1, back, 0));
  TRY(ringconv_rt_recv(c, 0, before, one, 4, 2, up, 0));
  TRY(ringconv_rt_post(c, 0));
  TRY(ringconv_rt_wait(c, 0));
  for (int i = 0; i < 5; ++i)
    EXPECT(both[i] == (float)(100 * before + 7 * i + 1) && one[i] == both[4 - i]);
  return 0;
}

/* One element fills a row, a row fills a box, with a gap and backwards. */
static int32_t repeats(ringconv_context *c, void *const *in, void *const *out) {
  (void)out;
  int64_t n = size_of_mesh(), r = position_of(in), next = (r + 1) % n, before = (r + n - 1) % n;
  double corner = (double)r, row[4] = {(double)r, 1, 2, 3}, filled[3][5], cube[2][4][3];
  for (int i = 0; i < 15; ++i)
    filled[i / 5][i % 5] = -1;
  for (int i = 0; i < 24; ++i)
    (&cube[0][0][0])[i] = -1;
  int64_t one[] = {1, 1, 1, 1}, box[] = {3, 4, 5, -1}, line[] = {1, 4, 1, 0, 1, 0}, all[] = {2, 4, 3, 12, 3, 1};
  TRY(ringconv_rt_group(c, 1));
  TRY(ringconv_rt_send(c, 1, next, &corner, 8, 2, one));
  TRY(ringconv_rt_send(c, 1, next, row, 8, 3, line));
  TRY(ringconv_rt_recv(c, 1, before, &filled[0][4], 8, 2, box, 3));
  TRY(ringconv_rt_recv(c, 1, before, cube, 8, 3, all, 5));
  TRY(ringconv_rt_post(c, 1));
  TRY(ringconv_rt_wait(c, 1));
  for (int i = 0; i < 15; ++i)
    EXPECT(filled[i / 5][i % 5] == (i % 5 ? (double)before : -1));
  for (int i = 0; i < 24; ++i)
    EXPECT((&cube[0][0][0])[i] == (i / 3 % 4 ? i / 3 % 4 : (double)before));
  return 0;
}

/* Elements of every width in one message, and a collapsed shape at one end. */
static int32_t widths(ringconv_context *c, void *const *in, void *const *out) {
  (void)out;
  static const int64_t bytes[] = {1, 2, 4, 8, 16, 3};
  int64_t n = size_of_mesh(), r = position_of(in), next = (r + 1) % n, before = (r + n - 1) % n;
  char from[6][400], to[6][400];
  memset(to, 7, sizeof to);
  TRY(ringconv_rt_group(c, 2));
  for (int k = 0; k < 6; ++k) {
    for (int i = 0; i < 400; ++i)
      from[k][i] = (char)(i * 31 + k + 5 * r);
    int64_t shape[] = {4, 6, 6, 1}, flat[] = {24, 1};
    TRY(ringconv_rt_send(c, 2, next, from[k], bytes[k], 2, shape));
    TRY(ringconv_rt_recv(c, 2, before, to[k], bytes[k], k % 2 ? 1 : 2, k % 2 ? flat : shape, 0));
  }
  TRY(ringconv_rt_post(c, 2));
  TRY(ringconv_rt_wait(c, 2));
  for (int k = 0; k < 6; ++k)
    for (int i = 0; i < 400; ++i)
      EXPECT(to[k][i] == (i < 24 * bytes[k] ? (char)(i * 31 + k + 5 * before) : 7));
  return 0;
}

/* Numbers far apart: they need not be small. */
#define NUMBER(g) (INT64_C(1000000007) * ((g) + 1))

/* Three groups in flight, waited for in another order; then again with the same
 * numbers. Every rank sends to every rank, itself included. */
static int32_t in_flight(ringconv_context *c, void *const *in, void *const *out) {
  (void)out;
  int64_t n = size_of_mesh(), r = position_of(in);
  static const int order[] = {2, 0, 1};
  int32_t from[3], to[3][MAX_RANKS];
  int64_t one[] = {1, 1};
  for (int round = 0; round < 20; ++round) {
    for (int g = 0; g < 3; ++g) {
      from[g] = (int32_t)(r * 1000 + g * 100 + round);
      TRY(ringconv_rt_group(c, NUMBER(g)));
      for (int64_t p = 0; p < n; ++p) {
        TRY(ringconv_rt_recv(c, NUMBER(g), p, &to[g][p], 4, 1, one, 0));
        TRY(ringconv_rt_send(c, NUMBER(g), p, &from[g], 4, 1, one));
      }
      TRY(ringconv_rt_post(c, NUMBER(g)));
    }
    for (int k = 0; k < 3; ++k) {
      int g = order[k];
      TRY(ringconv_rt_wait(c, NUMBER(g)));
      for (int64_t p = 0; p < n; ++p)
        EXPECT(to[g][p] == (int32_t)(p * 1000 + g * 100 + round));
    }
  }
  return 0;
}

/* Random boxes of random tensors between random pairs: all ranks draw the same
 * numbers, so that each knows what the others send. */
static int32_t random_boxes(ringconv_context *c, void *const *in, void *const *out) {
  (void)out;
  int64_t n = size_of_mesh(), r = position_of(in);
  static const int64_t tensor[] = {3, 5, 7, 4}, dense[] = {140, 28, 4, 1};
  uint64_t seed = 11 + *(const uint64_t *)in[1];
  int16_t source[420], *to = malloc(8 * 420 * sizeof *to), *expected = malloc(8 * 420 * sizeof *to);
  int32_t code = 0;
  for (int round = 0; round < 30 && !code; ++round) {
    for (int i = 0; i < 420; ++i)
      source[i] = (int16_t)(r * 1000 + i);
    memset(to, 1, 8 * 420 * sizeof *to);
    memset(expected, 1, 8 * 420 * sizeof *to);
    code = ringconv_rt_group(c, round);
    int64_t pieces = random_below(&seed, 9), received = 0;
    for (int64_t k = 0; k < pieces && !code; ++k) {
      int64_t a = random_below(&seed, n), b = random_below(&seed, n), shape[8], count = 1, begin = 0;
      for (int d = 0; d < 4; ++d) {
        int64_t at = random_below(&seed, tensor[d]), flip = random_below(&seed, 2);
        shape[d] = 1 + random_below(&seed, tensor[d] - at);
        shape[4 + d] = flip ? -dense[d] : dense[d];
        begin += (at + (flip ? shape[d] - 1 : 0)) * dense[d];
        count *= shape[d];
      }
      if (a == r)
        code = ringconv_rt_send(c, round, b, source + begin, 2, 4, shape);
      if (b != r || code)
        continue;
      int16_t *target = to + 420 * received, *wanted = expected + 420 * received;
      int64_t packed[] = {shape[0], shape[1], shape[2], shape[3], shape[1] * shape[2] * shape[3], shape[2] * shape[3],
                          shape[3], 1};
      for (int64_t i = 0; i < count; ++i) {
        int64_t rest = i, at = begin;
        for (int d = 3; d >= 0; rest /= shape[d--])
          at += rest % shape[d] * shape[4 + d];
        wanted[i] = (int16_t)(a * 1000 + at);
      }
      code = ringconv_rt_recv(c, round, a, target, 2, 4, packed, 0);
      ++received;
    }
    if (!code)
      code = ringconv_rt_post(c, round);
    if (!code)
      code = ringconv_rt_wait(c, round);
    if (!code && memcmp(to, expected, 8 * 420 * sizeof *to))
      code = WRONG;
  }
  free(to);
  free(expected);
  return code;
}

/* ---- Sums ---- */

/* What rank p contributes at element i: sums depend on their order. */
static double term(int64_t p, int64_t i) {
  uint64_t seed = (uint64_t)(p * 7919 + i * 104729 + 1);
  return (double)(int64_t)(next_random(&seed) % 2000001 - 1000000) * (p % 2 ? 1e-3 : 1e7);
}

/* The members of position r's group along `axes`, in order. */
static int64_t members_of(int64_t r, uint64_t axes, int64_t *members) {
  int64_t count = 0;
  for (int64_t p = 0; p < size_of_mesh(); ++p) {
    bool same_a = p / extents[1] == r / extents[1], same_b = p % extents[1] == r % extents[1];
    if ((same_a || axes & 1) && (same_b || axes & 2))
      members[count++] = p;
  }
  return count;
}

static int32_t sum_case(ringconv_context *c, void *const *in, uint64_t axes, int64_t rows, int64_t columns,
                        int64_t stride, int32_t dtype) {
  int64_t r = position_of(in), members[MAX_RANKS], count = members_of(r, axes, members);
  int64_t shape[] = {rows, columns, stride, 1}, total = rows * stride;
  double *d = calloc((size_t)total + 1, 8);
  for (int64_t i = 0; i < total; ++i) {
    if (dtype == RINGCONV_F64)
      d[i] = term(r, i);
    else if (dtype == RINGCONV_F32)
      ((float *)d)[i] = (float)term(r, i);
    else
      ((int32_t *)d)[i] = (int32_t)((uint64_t)(int64_t)term(r, i) * 40503);
  }
  int32_t code = ringconv_rt_all_reduce(c, 5, axes, dtype, d, 2, shape);
  for (int64_t i = 0; i < total && !code; ++i) {
    bool outside = i % stride >= columns; /* gaps keep what they have */
    double f64 = 0;
    float f32 = 0;
    uint32_t i32 = 0;
    for (int64_t m = 0; m < (outside ? 1 : count); ++m) {
      double t = term(outside ? r : members[m], i);
      f64 = m ? f64 + t : t;
      f32 = m ? f32 + (float)t : (float)t;
      i32 += (uint32_t)(int32_t)((uint64_t)(int64_t)t * 40503);
    }
    bool same = dtype == RINGCONV_F64   ? d[i] == f64
                : dtype == RINGCONV_F32 ? ((float *)d)[i] == f32
                                        : ((uint32_t *)d)[i] == i32;
    if (!same) {
      fprintf(stderr, "rank %lld: sum over axes %llu of %lldx%lld: element %lld\n", (long long)r,
              (unsigned long long)axes, (long long)rows, (long long)columns, (long long)i);
      code = WRONG;
    }
  }
  free(d);
  return code;
}

static int32_t all_reduces(ringconv_context *c, void *const *in, void *const *out) {
  (void)out;
  static const int64_t shapes[][3] = {{1, 1, 1}, {3, 5, 5}, {3, 5, 9}, {40, 129, 129}, {40, 129, 131}, {0, 4, 4}};
  for (uint64_t axes = 0; axes < 4; ++axes)
    for (int s = 0; s < 6; ++s)
      for (int32_t t = 0; t < 3; ++t) {
        static const int32_t types[] = {RINGCONV_F64, RINGCONV_F32, RINGCONV_I32};
        TRY(sum_case(c, in, axes, shapes[s][0], shapes[s][1], shapes[s][2], types[t]));
      }
  return 0;
}

/* A tensor of a sum: its terms begin at number `base`, its rows have gaps. */
typedef struct tensor {
  int64_t base, rows, columns, stride;
  double *data;
} tensor;

static void fill_tensor(tensor *t, int64_t r) {
  t->data = malloc((size_t)(t->rows * t->stride) * 8);
  for (int64_t i = 0; i < t->rows * t->stride; ++i)
    t->data[i] = term(r, t->base + i);
}

static bool is_sum(const tensor *t, int64_t r, const int64_t *members, int64_t count) {
  for (int64_t i = 0; i < t->rows * t->stride; ++i) {
    bool outside = i % t->stride >= t->columns;
    double sum = term(outside ? r : members[0], t->base + i);
    for (int64_t m = 1; m < (outside ? 1 : count); ++m)
      sum += term(members[m], t->base + i);
    if (t->data[i] != sum)
      return false;
  }
  return true;
}

static int32_t start_sum(ringconv_context *c, int64_t exchange, uint64_t axes, const tensor *tensors, int64_t count) {
  TRY(ringconv_rt_sum(c, exchange, axes, RINGCONV_F64));
  for (int64_t i = 0; i < count; ++i) {
    int64_t shape[] = {tensors[i].rows, tensors[i].columns, tensors[i].stride, 1};
    TRY(ringconv_rt_sum_tensor(c, exchange, tensors[i].data, 2, shape));
  }
  return ringconv_rt_sum_start(c, exchange);
}

/* Several tensors in a sum, two sums in flight, of one round and of two, another
 * sum and other messages between. */
static int32_t sums_in_flight_over(ringconv_context *c, void *const *in, uint64_t axes) {
  int64_t r = position_of(in), members[MAX_RANKS], count = members_of(r, axes, members);
  tensor small[] = {{0, 3, 5, 9, NULL}, {100, 1, 7, 7, NULL}, {200, 0, 4, 4, NULL}};
  tensor large[] = {{300, 40, 129, 131, NULL}, {9000, 1, 1000, 1000, NULL}}, between = {20000, 30, 40, 40, NULL};
  int64_t shape[] = {between.rows, between.columns, between.stride, 1};
  for (int i = 0; i < 3; ++i)
    fill_tensor(&small[i], r);
  for (int i = 0; i < 2; ++i)
    fill_tensor(&large[i], r);
  fill_tensor(&between, r);
  int32_t code = start_sum(c, 7, axes, small, 3);
  if (!code)
    code = start_sum(c, 8, axes, large, 2);
  if (!code)
    code = ring_reversed(c, in, NULL);
  if (!code)
    code = ringconv_rt_all_reduce(c, 9, axes, RINGCONV_F64, between.data, 2, shape);
  if (!code)
    code = ringconv_rt_sum_wait(c, 8);
  if (!code)
    code = ringconv_rt_sum_wait(c, 7);
  bool right = is_sum(&between, r, members, count);
  for (int i = 0; i < 3; ++i)
    right &= is_sum(&small[i], r, members, count);
  for (int i = 0; i < 2; ++i)
    right &= is_sum(&large[i], r, members, count);
  for (int i = 0; i < 3; ++i)
    free(small[i].data);
  for (int i = 0; i < 2; ++i)
    free(large[i].data);
  free(between.data);
  return code || right ? code : WRONG;
}

static int32_t sums_in_flight(ringconv_context *c, void *const *in, void *const *out) {
  (void)out;
  for (uint64_t axes = 0; axes < 4; ++axes)
    TRY(sums_in_flight_over(c, in, axes));
  return 0;
}

/* Uneven parts of the columns, the second member's is empty; the source has a
 * gap between rows, the result lies backwards. */
static int32_t scatter_case(ringconv_context *c, void *const *in, uint64_t axes) {
  int64_t r = position_of(in), members[MAX_RANKS], count = members_of(r, axes, members), own = 0;
  int64_t boxes[MAX_RANKS * 4], columns = 0;
  for (int64_t m = 0; m < count; ++m) {
    int64_t width = m == 1 ? 0 : 2 + m;
    own = members[m] == r ? m : own;
    int64_t box[] = {0, columns, 3, width};
    memcpy(boxes + 4 * m, box, sizeof box);
    columns += width;
  }
  int64_t stride = columns + 2, width = boxes[4 * own + 3], source_shape[] = {3, columns, stride, 1};
  int64_t result_shape[] = {3, width, -width, -1};
  double *source = malloc((size_t)(3 * stride) * 8), *result = malloc((size_t)(3 * width + 1) * 8);
  for (int64_t i = 0; i < 3 * stride; ++i)
    source[i] = term(r, i);
  int32_t code = ringconv_rt_reduce_scatter(c, 6, axes, RINGCONV_F64, source, source_shape, result + 3 * width - 1,
                                            result_shape, 2, boxes);
  for (int64_t i = 0; i < 3 * width && !code; ++i) {
    int64_t at = i / width * stride + boxes[4 * own + 1] + i % width;
    double sum = term(members[0], at);
    for (int64_t m = 1; m < count; ++m)
      sum += term(members[m], at);
    if (result[3 * width - 1 - i] != sum)
      code = WRONG;
  }
  free(source);
  free(result);
  return code;
}

static int32_t reduce_scatters(ringconv_context *c, void *const *in, void *const *out) {
  (void)out;
  for (uint64_t axes = 0; axes < 4; ++axes)
    TRY(scatter_case(c, in, axes));
  return 0;
}

/* ---- Coordinates and counters ---- */

static int32_t coordinates(ringconv_context *c, void *const *in, void *const *out) {
  (void)out;
  EXPECT(ringconv_rt_coord(c, 0) == position_of(in) / extents[1]);
  EXPECT(ringconv_rt_coord(c, 1) == position_of(in) % extents[1]);
  return 0;
}

/* ---- Running them ---- */

static void on_mesh(const char *name, ringconv_rank_fn run, int sessions, int runs) {
  static outcome o;
  job j = {.run = run,
           .extents = {extents[0], extents[1]},
           .timeout = 60,
           .sessions = sessions,
           .runs = runs,
           .other_program = -1};
  run_job(&j, &o);
  CHECK(all_succeeded(&j, &o));
  char text[96];
  snprintf(text, sizeof text, "%s on %lldx%lld", name, (long long)extents[0], (long long)extents[1]);
  end_test(text);
}

static void check_counters(void) {
  static outcome o;
  job j = {.run = ring_reversed,
           .extents = {extents[0], extents[1]},
           .timeout = 60,
           .sessions = 1,
           .runs = 3,
           .other_program = -1};
  run_job(&j, &o);
  for (int64_t r = 0; r < size_of_mesh(); ++r)
    if (o.counters[r].messages_sent || o.counters[r].messages_received) { /* two pieces, one message */
      CHECK(o.counters[r].messages_sent == 3 && o.counters[r].bytes_sent == 120);
      CHECK(o.counters[r].messages_received == 3 && o.counters[r].bytes_received == 120);
    } else if (!getenv("OMPI_COMM_WORLD_SIZE") && !getenv("PMI_SIZE")) {
      CHECK(size_of_mesh() == 1);
    }
  end_test("counters");
}

/* Positions played by other ranks than their own numbers. */
static void permuted(void) {
  static outcome o;
  int64_t ids[MAX_RANKS], n = size_of_mesh();
  for (int64_t p = 0; p < n; ++p)
    ids[p] = (n + 1 - p) % n;
  job j = {.run = in_flight,
           .extents = {extents[0], extents[1]},
           .device_ids = ids,
           .timeout = 60,
           .sessions = 1,
           .runs = 1,
           .other_program = -1};
  run_job(&j, &o);
  CHECK(all_succeeded(&j, &o));
  j.run = all_reduces;
  run_job(&j, &o);
  CHECK(all_succeeded(&j, &o));
  end_test("device ids");
}

static void all_on_mesh(int64_t a, int64_t b) {
  extents[0] = a;
  extents[1] = b;
  on_mesh("coordinates", coordinates, 1, 1);
  on_mesh("ring_reversed", ring_reversed, 1, 10);
  on_mesh("repeats", repeats, 1, 10);
  on_mesh("widths", widths, 1, 10);
  on_mesh("in_flight", in_flight, 3, 3); /* sessions that follow each other on one team */
  on_mesh("random_boxes", random_boxes, 1, 10);
  on_mesh("all_reduces", all_reduces, 1, 2);
  on_mesh("sums_in_flight", sums_in_flight, 2, 3);
  on_mesh("reduce_scatters", reduce_scatters, 1, 5);
  check_counters();
  permuted();
}

int main(void) {
  int64_t size, rank;
  if (!begin_ranks(&size, &rank))
    return 1;
  tests.quiet = rank != 0;
  if (size) {
    all_on_mesh(1, size);
    if (size % 2 == 0)
      all_on_mesh(2, size / 2);
  } else {
    static const int64_t meshes[][2] = {{1, 1}, {1, 2}, {2, 1}, {2, 2}, {1, 3}, {4, 1}, {2, 4}, {4, 2}, {1, 8}};
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes; ++i)
      all_on_mesh(meshes[i][0], meshes[i][1]);
  }
  int code = report_tests();
  end_ranks();
  return code;
}
