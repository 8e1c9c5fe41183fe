/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Element types, copies, tables, .npy files, generated inputs, output files:
 * what one rank does alone. */
#include "Harness.h"

#include "common/Copy.h"
#include "common/DType.h"
#include "common/Fill.h"
#include "common/Npy.h"
#include "common/SessionState.h"
#include "common/Shard.h"
#include "driver/Driver.h"
#include "mpi/Loader.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Element types ---- */

/* All finite values of a 16-bit type in ascending order, by their definition. */
static int64_t list_values(int mantissa, int exponent_bits, double *values) {
  int64_t n = 0;
  int bias = (1 << (exponent_bits - 1)) - 1;
  for (int e = 0; e < (1 << exponent_bits) - 1; ++e)
    for (int f = 0; f < 1 << mantissa; ++f) {
      double fraction = (double)f / (1 << mantissa);
      values[n++] = e ? (1 + fraction) * pow(2, e - bias) : fraction * pow(2, 1 - bias);
    }
  return n;
}

/* The nearest value by search; at a tie the one with even bits. */
static uint16_t nearest(const double *values, int64_t n, double x) {
  int64_t low = 0, high = n - 1;
  while (high - low > 1) {
    int64_t middle = (low + high) / 2;
    if (values[middle] <= x)
      low = middle;
    else
      high = middle;
  }
  double step = values[n - 1] - values[n - 2];
  if (x >= values[n - 1]) /* infinity is one step further */
    return (uint16_t)(x - values[n - 1] >= step / 2 ? n : n - 1);
  double below = x - values[low], above = values[high] - x;
  if (below == above)
    return (uint16_t)(low % 2 ? high : low);
  return (uint16_t)(below < above ? low : high);
}

static void check_small_float(int mantissa, int exponent_bits, double (*widen)(uint16_t), uint16_t (*narrow)(double)) {
  static double values[65536];
  int64_t n = list_values(mantissa, exponent_bits, values);
  for (int64_t i = 0; i < n; ++i) {
    CHECK(widen((uint16_t)i) == values[i]);
    CHECK(widen((uint16_t)(i | 0x8000)) == -values[i]);
    CHECK(narrow(values[i]) == i);
    if (i + 1 < n) { /* ties, and the doubles beside them */
      double tie = values[i] + (values[i + 1] - values[i]) / 2;
      CHECK(narrow(tie) == nearest(values, n, tie));
      CHECK(narrow(nextafter(tie, 0)) == i);
      CHECK(narrow(-nextafter(tie, INFINITY)) == (uint16_t)((i + 1) | 0x8000));
    }
  }
  uint64_t seed = 1;
  for (int i = 0; i < 100000; ++i) {
    double x = ldexp((double)next_random(&seed), -(int)random_below(&seed, 200) + 60);
    CHECK(narrow(x) == nearest(values, n, x));
  }
  CHECK(narrow(INFINITY) == n && widen((uint16_t)n) == INFINITY);
  CHECK(narrow(-INFINITY) == (n | 0x8000) && widen((uint16_t)(n | 0x8000)) == -INFINITY);
  CHECK(isnan(widen(narrow(NAN))) && isnan(widen(narrow(-NAN))));
  CHECK(narrow(-0.0) == 0x8000 && narrow(1e300) == n && narrow(5e-324) == 0);
}

static void test_f16(void) { check_small_float(10, 5, rcrt_f16_to_double, rcrt_double_to_f16); }
static void test_bf16(void) { check_small_float(7, 8, rcrt_bf16_to_double, rcrt_double_to_bf16); }

/* ---- Copies ---- */

enum { BUFFER = 4096 };

/* A random box inside BUFFER elements with strides of both signs, no two
 * elements at one place. */
static int64_t random_box(uint64_t *seed, int64_t rank, const int64_t *sizes, int64_t *strides) {
  int64_t order[8], extent = 1 + random_below(seed, 2), base = 0;
  for (int64_t d = 0; d < rank; ++d)
    order[d] = d;
  for (int64_t d = rank - 1; d > 0; --d) {
    int64_t other = random_below(seed, d + 1), t = order[d];
    order[d] = order[other];
    order[other] = t;
  }
  if (random_below(seed, 2))
    for (int64_t d = 0; d < rank; ++d) /* the usual case: row-major */
      order[d] = rank - 1 - d;
  for (int64_t d = 0; d < rank; ++d) {
    int64_t stride = extent;
    extent = stride * sizes[order[d]] + (random_below(seed, 3) == 0);
    bool back = random_below(seed, 3) == 0;
    strides[order[d]] = back ? -stride : stride;
    base += back ? stride * (sizes[order[d]] - 1) : 0;
  }
  return base;
}

static void copy_plainly(char *to, const int64_t *ts, const char *from, const int64_t *fs, int64_t width, int64_t rank,
                         const int64_t *sizes) {
  if (rank == 0) {
    memcpy(to, from, (size_t)width);
    return;
  }
  for (int64_t i = 0; i < sizes[0]; ++i)
    copy_plainly(to + i * ts[0] * width, ts + 1, from + i * fs[0] * width, fs + 1, width, rank - 1, sizes + 1);
}

static void test_copy(void) {
  static const int64_t widths[] = {1, 2, 4, 8, 16, 3};
  static char from[BUFFER * 16], to[BUFFER * 16], expected[BUFFER * 16];
  uint64_t seed = 7;
  for (int i = 0; i < 20000; ++i) {
    int64_t rank = random_below(&seed, 6), sizes[8], ts[8], fs[8], width = widths[random_below(&seed, 6)];
    for (int64_t d = 0; d < rank; ++d)
      sizes[d] = 1 + random_below(&seed, rank > 3 ? 3 : 7);
    int64_t t = random_box(&seed, rank, sizes, ts), f = random_box(&seed, rank, sizes, fs);
    for (size_t k = 0; k < sizeof from; k += 997)
      from[k] = (char)next_random(&seed);
    for (size_t k = 0; k < 4096; ++k)
      from[k] = (char)next_random(&seed);
    memset(to, 1, sizeof to);
    memset(expected, 1, sizeof expected);
    copy_plainly(expected + t * width, ts, from + f * width, fs, width, rank, sizes);
    rcrt_copy((rcrt_view){to + t * width, ts}, (rcrt_view){from + f * width, fs}, width, rank, sizes);
    if (!CHECK(!memcmp(to, expected, sizeof to)))
      return;
  }
}

static void test_add(void) {
  static int32_t a[BUFFER], b[BUFFER], expected[BUFFER];
  uint64_t seed = 9;
  for (int i = 0; i < 5000; ++i) {
    int64_t rank = random_below(&seed, 5), sizes[8], ts[8], fs[8];
    for (int64_t d = 0; d < rank; ++d)
      sizes[d] = 1 + random_below(&seed, 5);
    int64_t t = random_box(&seed, rank, sizes, ts), f = random_box(&seed, rank, sizes, fs);
    for (int k = 0; k < BUFFER; ++k) {
      expected[k] = a[k] = (int32_t)next_random(&seed);
      b[k] = (int32_t)next_random(&seed);
    }
    int64_t total = 1;
    for (int64_t d = 0; d < rank; ++d)
      total *= sizes[d];
    for (int64_t k = 0; k < total; ++k) {
      int64_t rest = k, at = t, of = f;
      for (int64_t d = rank - 1; d >= 0; rest /= sizes[d--]) {
        at += rest % sizes[d] * ts[d];
        of += rest % sizes[d] * fs[d];
      }
      expected[at] = (int32_t)((uint32_t)a[at] + (uint32_t)b[of]);
    }
    rcrt_add((rcrt_view){(char *)(a + t), ts}, (rcrt_view){(char *)(b + f), fs}, RINGCONV_I32, rank, sizes);
    if (!CHECK(!memcmp(a, expected, sizeof a)))
      return;
  }
}

/* ---- Tables and boxes ---- */

static void test_tables(void) {
  static const ringconv_run runs[] = {{0, 0, 3}, {2, 6, 2}, {5, 12, 0}, {9, 40, -1}};
  static const int64_t expected[] = {0, 3, 6, 8, 10, 12, 12, 12, 12, 40, 39};
  ringconv_table table = {4, runs};
  for (int64_t c = 0; c < 11; ++c)
    CHECK(rcrt_table_at(&table, c) == expected[c]);
}

/* mesh 2 x 3 x 2, device ids permuted; dim 0 cut by (axis 2, axis 0), dim 1
 * whole, dim 2 by axis 1 at explicit cuts. */
static void test_boxes(void) {
  static const char *const names[] = {"a", "b", "c"};
  static const int64_t extents[] = {2, 3, 2}, ids[] = {5, 4, 3, 2, 1, 0, 6, 7, 8, 9, 10, 11}, sizes[] = {10, 4, 9};
  static const int32_t axes0[] = {2, 0}, axes2[] = {1};
  static const ringconv_run runs0[] = {{0, 0, 3}, {2, 6, 2}}, runs2[] = {{0, 0, 0}, {1, 0, 7}, {2, 7, 2}};
  static const int64_t begin0[] = {0, 3, 6, 8, 10}, begin2[] = {0, 0, 7, 9};
  ringconv_cut cuts[] = {{2, axes0, {2, runs0}}, {0}, {1, axes2, {3, runs2}}};
  ringconv_operand x = {"x", RINGCONV_F32, 3, sizes, cuts, 0};
  ringconv_program program = {
      .abi_version = RINGCONV_ABI_VERSION, .mesh = {3, names, extents, ids}, .num_inputs = 1, .inputs = &x};
  for (int64_t rank = 0; rank < 12; ++rank) {
    int64_t offsets[3], box[3], position = rank < 6 ? 5 - rank : rank;
    int64_t a = position / 6, b = position / 2 % 3, c = position % 2, part = c * 2 + a;
    ringconv_world world = {.rank = rank, .size = 12};
    CHECK(ringconv_shard(&program, &world, 0, offsets, box) == 0);
    CHECK(offsets[0] == begin0[part] && box[0] == begin0[part + 1] - begin0[part]);
    CHECK(offsets[1] == 0 && box[1] == 4);
    CHECK(offsets[2] == begin2[b] && box[2] == begin2[b + 1] - begin2[b]);
    CHECK(rcrt_is_first_replica(&program.mesh, &x, position));
    CHECK(rcrt_mesh_rank(&program.mesh, position) == rank);
  }
  ringconv_cut whole[3] = {{0}, {0}, cuts[2]};
  ringconv_operand y = {"y", RINGCONV_F32, 3, sizes, whole, 0};
  for (int64_t p = 0; p < 12; ++p)
    CHECK(rcrt_is_first_replica(&program.mesh, &y, p) == (p / 6 == 0 && p % 2 == 0));
  int64_t o[3], s[3];
  CHECK(ringconv_shard(&program, &(ringconv_world){.rank = 0, .size = 11}, 0, o, s) != 0);
  CHECK(ringconv_shard(&program, &(ringconv_world){.rank = 12, .size = 12}, 0, o, s) != 0);
  CHECK(ringconv_shard(&program, &(ringconv_world){.rank = 0, .size = 12}, 1, o, s) != 0);
  CHECK(ringconv_shard(&program, &(ringconv_world){.rank = 0, .size = 12}, -1, o, s) != 0);
}

static void test_sizes(void) {
  int64_t p, big[] = {INT64_C(1) << 40, INT64_C(1) << 40, 0}, zero[] = {0, INT64_MAX, INT64_MAX};
  CHECK(!rcrt_product(big, 2, &p));
  CHECK(rcrt_product(big, 3, &p) && p == 0);
  CHECK(rcrt_product(zero, 3, &p) && p == 0);
  CHECK(rcrt_product(NULL, 0, &p) && p == 1);
  const int64_t many[] = {INT64_C(1) << 32, INT64_C(1) << 32};
  CHECK(rcrt_mesh_size(&(ringconv_mesh){.num_axes = 2, .extents = many}) == -1);
}

/* Tensors that no machine holds end in a text, before and after the count. */
static void test_too_large(void) {
  const int64_t overflows[] = {INT64_C(1) << 40, INT64_C(1) << 40}, huge[] = {INT64_C(1) << 48, 16};
  ringconv_operand x = {"x", RINGCONV_F64, 2, overflows, NULL, 0};
  char text[RCRT_TEXT];
  void *data;
  CHECK(!rcrt_allocate_box(&x, overflows, &data, text));
  CHECK_TEXT(text, "a tensor of shape [1099511627776, 1099511627776] has more bytes than can be counted");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) /* they end the process */
  CHECK(!rcrt_allocate_box(&x, huge, &data, text));
  CHECK_TEXT(text, "no memory for 36028797018963968 bytes of a tensor of shape [281474976710656, 16]");
#else
  (void)huge;
#endif
}

/* ---- .npy ---- */

static const char *parse(const char *version, const char *dict, rcrt_npy_header *h) {
  static char bytes[1024];
  size_t n = strlen(dict), begin = version[0] == 1 ? 10 : 12;
  memcpy(bytes, "\x93NUMPY", 6);
  bytes[6] = version[0];
  bytes[7] = 0;
  memset(bytes + 8, 0, 4);
  bytes[8] = (char)(n & 255);
  bytes[9] = (char)(n >> 8);
  memcpy(bytes + begin, dict, n);
  return rcrt_npy_parse(bytes, begin + n, h);
}

static void test_npy_headers(void) {
  rcrt_npy_header h = {0};
  CHECK(!parse("\1", "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }  \n", &h));
  CHECK(h.rank == 2 && h.sizes[0] == 3 && h.sizes[1] == 4 && !h.fortran && !strcmp(h.descr, "<f4"));
  CHECK(!parse("\2", "{'shape': (), 'fortran_order': True, \"descr\": \"|V2\"}", &h) && h.rank == 0 && h.fortran);
  CHECK(!parse("\3", "{'descr': '<f4', 'fortran_order': False, 'shape': (7,)}", &h) && h.rank == 1);
  static const char *const bad[] = {
      "",
      "{",
      "{}",
      "[1]",
      "{'descr': '<f4'}",
      "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}",
      "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3,",
      "{'descr': '<f4",
      "{'x': 1}",
      "{'descr': '<f4' 'fortran_order': False, 'shape': ()}",
      "{'descr': 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'fortran_order': False, 'shape': ()}"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i)
    CHECK(parse("\1", bad[i], &h) != NULL);
  CHECK(parse("\4", "{'descr': '<f4', 'fortran_order': False, 'shape': (7,)}", &h) != NULL);
  CHECK(rcrt_npy_parse("\x93NUMPY\1", 7, &h) != NULL);
}

/* Flipped bits and cut ends never read outside (ASan) and never crash. */
static void test_npy_mutations(void) {
  int64_t sizes[] = {3, 4};
  ringconv_operand x = {"x", RINGCONV_F32, 2, sizes, NULL, 0};
  char text[RCRT_NPY_HEADER];
  size_t n = rcrt_npy_header_text(&x, text);
  CHECK(n == 128);
  uint64_t seed = 3;
  for (int i = 0; i < 200000; ++i) {
    size_t size = 1 + (size_t)random_below(&seed, (int64_t)n);
    char *copy = malloc(size);
    memcpy(copy, text, size);
    for (int64_t k = random_below(&seed, 4); k > 0; --k)
      copy[random_below(&seed, (int64_t)size)] = (char)next_random(&seed);
    rcrt_npy_header h = {0};
    rcrt_npy_parse(copy, size, &h);
    free(copy);
  }
}

static void test_npy_round_trip(void) {
  static const int64_t many[] = {1, 2, 3, 1, 2, 1, 1, 1, 2};
  for (int32_t rank = 0; rank <= 9; ++rank) {
    ringconv_operand x = {"x", RINGCONV_BF16, rank, many, NULL, 0};
    char text[RCRT_NPY_HEADER];
    size_t n = rcrt_npy_header_text(&x, text);
    rcrt_npy_header h = {0};
    CHECK(n % 64 == 0 && !rcrt_npy_parse(text, n, &h) && h.data == (int64_t)n && h.rank == rank);
    CHECK(!strcmp(h.descr, "<u2") && (rank == 0 || !memcmp(h.sizes, many, (size_t)rank * 8)));
  }
}

/* ---- Generated inputs ---- */

static void test_fill(void) {
  static const int64_t sizes[] = {6, 5, 7};
  for (int32_t dtype = 0; dtype <= RINGCONV_I1; ++dtype) {
    ringconv_operand x = {"x", dtype, 3, sizes, NULL, 0};
    char whole[210 * 8], part[210 * 8], other[210 * 8];
    int64_t zero[3] = {0}, offsets[3] = {2, 1, 3}, box[3] = {3, 4, 2}, width = rcrt_dtype_size(dtype);
    rcrt_fill(&x, 1, 42, zero, sizes, whole);
    rcrt_fill(&x, 1, 42, offsets, box, part);
    rcrt_fill(&x, 2, 42, zero, sizes, other);
    for (int64_t i = 0; i < 24; ++i) {
      int64_t global = ((2 + i / 8) * 5 + 1 + i / 2 % 4) * 7 + 3 + i % 2;
      CHECK(!memcmp(part + i * width, whole + global * width, (size_t)width));
    }
    double least = 9, most = -9;
    for (int64_t i = 0; i < 210; ++i) {
      double v = rcrt_load(dtype, whole, i);
      least = fmin(least, v);
      most = fmax(most, v);
    }
    if (rcrt_dtype_is_float(dtype))
      CHECK(least >= -1 && least < -0.9 && most < 1 && most > 0.9);
    else if (dtype == RINGCONV_I1)
      CHECK(least == 0 && most == 1);
    else
      CHECK(least == -4 && most == 4);
    CHECK(memcmp(whole, other, (size_t)(210 * width)));
    rcrt_fill(&x, 1, 43, zero, sizes, other);
    CHECK(memcmp(whole, other, (size_t)(210 * width)));
  }
}

/* ---- The processor, the MPI loader, output files ---- */

static void test_cpu_features(void) {
  char name[64];
  CHECK(!rcrt_missing_cpu_feature("", name, sizeof name));
  CHECK(!rcrt_missing_cpu_feature("no-such-feature,-avx512f", name, sizeof name));
#if defined(__x86_64__)
  CHECK(!rcrt_missing_cpu_feature("sse3,+popcnt", name, sizeof name));
  if (!__builtin_cpu_supports("avx512vbmi2"))
    CHECK(rcrt_missing_cpu_feature("sse3,avx512vbmi2", name, sizeof name) && !strcmp(name, "avx512vbmi2"));
#endif
}

static void test_mpi_loader_refuses(void) {
  char text[RCRT_TEXT];
  setenv("RINGCONV_MPI", "/proc/self/exe", 1); /* holds the words that are looked for, but not as a mark of ours */
  CHECK(!rcrt_mpi_load(NULL, text));
  CHECK_TEXT(text, "RINGCONV_MPI: /proc/self/exe: ");
  setenv("RINGCONV_MPI", "/nowhere/lib.so", 1);
  CHECK(!rcrt_mpi_load(NULL, text));
  CHECK_TEXT(text, "/nowhere/lib.so: No such file");
  unsetenv("RINGCONV_MPI");
}

static rcrt_driver output_driver(const ringconv_program *program, const char **outputs) {
  rcrt_driver d = {.name = "test", .program = program, .size = 1};
  d.flags.outputs = outputs;
  snprintf(d.token, sizeof d.token, "token");
  return d;
}

/* A process that is ended while its output grows leaves nothing behind. */
static void test_signal_removes_outputs(void) {
  static const int64_t sizes[] = {4};
  static const ringconv_cut cuts[] = {{0}};
  ringconv_operand y = {"y", RINGCONV_F32, 1, sizes, cuts, 0};
  ringconv_program program = {.num_outputs = 1, .outputs = &y};
  char folder[] = "/tmp/ringconv-test-XXXXXX", target[64], part[96], text[RCRT_TEXT];
  if (!CHECK(mkdtemp(folder)))
    return;
  snprintf(target, sizeof target, "%s/y.npy", folder);
  snprintf(part, sizeof part, "%s.part-token", target);
  const char *outputs[] = {target};
  for (int round = 0; round < 2; ++round) {
    pid_t child = fork();
    if (child == 0) {
      rcrt_driver d = output_driver(&program, outputs);
      rcrt_outputs_guard(&d, false, false);
      if (!rcrt_outputs_create(&d, text) || access(part, F_OK))
        _exit(9);
      raise(round ? SIGTERM : SIGINT);
      _exit(8);
    }
    int status = 0;
    waitpid(child, &status, 0);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == (round ? SIGTERM : SIGINT));
    CHECK(access(part, F_OK) && access(target, F_OK));
  }
  rmdir(folder);
}

/* The file has its name only when finished; its mode follows the umask. */
static void test_output_appears_when_finished(void) {
  static const int64_t sizes[] = {2, 3};
  static const ringconv_cut cuts[] = {{0}, {0}};
  ringconv_operand y = {"y", RINGCONV_I8, 2, sizes, cuts, 0};
  ringconv_program program = {.num_outputs = 1, .outputs = &y};
  char folder[] = "/tmp/ringconv-test-XXXXXX", target[64], text[RCRT_TEXT];
  int8_t values[] = {1, 2, 3, 4, 5, 6};
  void *out[] = {values};
  if (!CHECK(mkdtemp(folder)))
    return;
  snprintf(target, sizeof target, "%s/y.npy", folder);
  const char *outputs[] = {target};
  for (int32_t transport = 0; transport < 2; ++transport) {
    rcrt_driver d = output_driver(&program, outputs);
    d.transport = transport;
    CHECK(rcrt_outputs_possible(&d, text) && rcrt_outputs_create(&d, text));
    CHECK(rcrt_outputs_write(&d, 0, out, text));
    CHECK(access(target, F_OK));
    CHECK(!rcrt_outputs_create(&d, text)); /* never somebody else's file */
    CHECK(rcrt_outputs_finish(&d, text));
    struct stat s;
    mode_t mask = umask(0);
    umask(mask);
    CHECK(stat(target, &s) == 0 && (s.st_mode & 0777) == (0666 & ~mask));
    rcrt_npy file;
    if (CHECK(rcrt_npy_open(&file, target, &y, "y", text))) {
      CHECK(!memcmp(values, rcrt_npy_data(&file), sizeof values));
      rcrt_npy_close(&file);
    }
    unlink(target);
  }
  rmdir(folder);
}

int main(void) {
  RUN_TEST(test_f16);
  RUN_TEST(test_bf16);
  RUN_TEST(test_copy);
  RUN_TEST(test_add);
  RUN_TEST(test_tables);
  RUN_TEST(test_boxes);
  RUN_TEST(test_sizes);
  RUN_TEST(test_too_large);
  RUN_TEST(test_npy_headers);
  RUN_TEST(test_npy_mutations);
  RUN_TEST(test_npy_round_trip);
  RUN_TEST(test_fill);
  RUN_TEST(test_cpu_features);
  RUN_TEST(test_mpi_loader_refuses);
  RUN_TEST(test_signal_removes_outputs);
  RUN_TEST(test_output_appears_when_finished);
  return report_tests();
}
