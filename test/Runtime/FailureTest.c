/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Ranks that misbehave, as threads: every other rank ends with a text that
 * names the exchange and the peer, and no memory is read after its time (run
 * under ASan and TSan). */
#include "Harness.h"
#include "Ranks.h"

#include <stdlib.h>
#include <unistd.h>

static outcome o;
static int64_t position_of(void *const *in) { return *(const int64_t *)in[0]; }

#define TRY(call)                                                                                                      \
  do {                                                                                                                 \
    int32_t code_ = (call);                                                                                            \
    if (code_)                                                                                                         \
      return code_;                                                                                                    \
  } while (0)

enum { RANKS = 4 };

static void run_ranks(ringconv_rank_fn run, double timeout) {
  job j = {.run = run, .extents = {1, RANKS}, .timeout = timeout, .sessions = 1, .runs = 1, .other_program = -1};
  run_job(&j, &o);
}

/* A ring of `elements` from heap memory that is freed at once after an error:
 * a peer that still read it would be seen. */
static int32_t ring(ringconv_context *c, void *const *in, int64_t send, int64_t receive) {
  int64_t r = position_of(in), shape[] = {send, 1}, other[] = {receive, 1};
  char *from = malloc(1 << 16), *to = malloc(1 << 16);
  memset(from, (int)r, 1 << 16);
  int32_t code = ringconv_rt_group(c, 7);
  if (!code)
    code = ringconv_rt_send(c, 7, (r + 1) % RANKS, from, 8, 1, shape);
  if (!code)
    code = ringconv_rt_recv(c, 7, (r + RANKS - 1) % RANKS, to, 8, 1, other, 0);
  if (!code)
    code = ringconv_rt_post(c, 7);
  if (!code)
    code = ringconv_rt_wait(c, 7);
  free(from);
  free(to);
  return code;
}

/* ---- A rank that returns an error ---- */

static int32_t rank_2_fails(ringconv_context *c, void *const *in, void *const *out) {
  (void)out;
  if (position_of(in) == 2) {
    usleep(20000);
    return 42;
  }
  return ring(c, in, 8000, 8000);
}

static void test_error_reaches_all(void) {
  run_ranks(rank_2_fails, 60);
  CHECK(o.code[2] == 42);
  CHECK_TEXT(o.text[2], "rank 2: the program failed with code 42");
  CHECK_TEXT(o.text[3], "rank 3: rank 2 failed");
  CHECK_TEXT(o.text[1], "rank 1: rank 2 failed");
}

/* Ranks fail at any point while others copy from them. */
static int32_t fail_at_random(ringconv_context *c, void *const *in, void *const *out) {
  (void)out;
  uint64_t seed = (uint64_t)position_of(in) * 977 + 5;
  for (int i = 0; i < 50; ++i) {
    TRY(ring(c, in, 8000, 8000));
    if (random_below(&seed, 20) == 0)
      return 43;
  }
  return 0;
}

static void test_errors_in_traffic(void) {
  for (int i = 0; i < 50; ++i) {
    run_ranks(fail_at_random, 60);
    int own = 0;
    for (int r = 0; r < RANKS; ++r) {
      CHECK(o.code[r] != 0);
      own += o.code[r] == 43;
    }
    CHECK(own >= 1);
  }
}

/* ---- Ends that differ ---- */

static int32_t sizes_differ(ringconv_context *c, void *const *in, void *const *out) {
  (void)out;
  return ring(c, in, position_of(in) == 0 ? 6 : 5, 5);
}

static void test_sizes_differ(void) {
  run_ranks(sizes_differ, 60);
  CHECK_TEXT(o.text[1], "rank 1: exchange 7: rank 0 sent 48 bytes, expected 40");
}

static int differing_case;
static int32_t pieces_differ(ringconv_context *c, void *const *in, void *const *out) {
  (void)out;
  int64_t six[] = {6, 1}, box[] = {2, 3, 3, 1}, two[] = {2, 1}, four[] = {4, 1}, turned[] = {3, 2, 2, 1};
  float from[6] = {0}, to[6];
  bool sends = position_of(in) == 0;
  if (position_of(in) > 1)
    return 0;
  TRY(ringconv_rt_group(c, 7));
  if (differing_case == 0 && sends) {
    TRY(ringconv_rt_send(c, 7, 1, from, 4, 1, six));
  } else if (differing_case == 0) {
    TRY(ringconv_rt_recv(c, 7, 0, to, 4, 1, two, 0));
    TRY(ringconv_rt_recv(c, 7, 0, to + 2, 4, 1, four, 0));
  } else if (differing_case == 1 && sends) {
    TRY(ringconv_rt_send(c, 7, 1, from, 4, 1, two));
    TRY(ringconv_rt_send(c, 7, 1, from, 4, 1, four));
  } else if (differing_case == 1) {
    TRY(ringconv_rt_recv(c, 7, 0, to, 4, 1, four, 0));
    TRY(ringconv_rt_recv(c, 7, 0, to + 4, 4, 1, two, 0));
  } else if (sends) {
    TRY(ringconv_rt_send(c, 7, 1, from, 4, 2, box));
  } else {
    TRY(ringconv_rt_recv(c, 7, 0, to, 4, 2, turned, 0));
  }
  TRY(ringconv_rt_post(c, 7));
  return ringconv_rt_wait(c, 7);
}

static void test_pieces_differ(void) {
  static const char *const texts[] = {"rank 1: exchange 7: rank 0 sent 1 pieces, expected 2",
                                      "piece 0 from rank 0 has 2 elements of 4 bytes, expected 4 of 4",
                                      "piece 0 from rank 0 has another shape at its two ends"};
  for (differing_case = 0; differing_case < 3; ++differing_case) {
    run_ranks(pieces_differ, 60);
    CHECK_TEXT(o.text[1], texts[differing_case]);
  }
}

/* ---- Peers that do not come ---- */

static int32_t never_sends(ringconv_context *c, void *const *in, void *const *out) {
  (void)out;
  if (position_of(in) == 1) {
    sleep(1);
    return 0;
  }
  return ring(c, in, 5, 5);
}

static void test_never_sends(void) {
  run_ranks(never_sends, 0.2);
  int named = 0; /* by rank 2, or by rank 0, whose message nobody takes, whoever is first */
  named += strstr(o.text[2], "rank 2: exchange 7: no message from rank 1 within 0.2 s") != NULL;
  named += strstr(o.text[0], "rank 0: exchange 7: the message to rank 1 was not taken within 0.2 s") != NULL;
  CHECK(named >= 1);
  CHECK(o.code[0] && o.code[2]);
}

static int32_t nobody_receives(ringconv_context *c, void *const *in, void *const *out) {
  (void)out;
  int64_t one[] = {1, 1};
  char byte = 0;
  if (position_of(in) != 3)
    return 0;
  TRY(ringconv_rt_group(c, 9));
  TRY(ringconv_rt_send(c, 9, 0, &byte, 1, 1, one));
  TRY(ringconv_rt_post(c, 9));
  return ringconv_rt_wait(c, 9);
}

static void test_nobody_receives(void) {
  run_ranks(nobody_receives, 0.2);
  CHECK_TEXT(o.text[3], "rank 3: exchange 9: the message to rank 0 was not taken within 0.2 s");
  CHECK(o.code[0] == 0);
}

static int32_t sum_alone(ringconv_context *c, void *const *in, void *const *out) {
  (void)out;
  int64_t shape[] = {3, 1};
  double data[3] = {0};
  if (position_of(in) == 2) {
    sleep(1);
    return 0;
  }
  return ringconv_rt_all_reduce(c, 11, 2, RINGCONV_F64, data, 1, shape);
}

static void test_sum_alone(void) {
  run_ranks(sum_alone, 0.2);
  int named = 0;
  for (int r = 0; r < RANKS; ++r)
    named += strstr(o.text[r], "exchange 11: no message from rank 2 within 0.2 s") != NULL;
  CHECK(named >= 1);
}

/* ---- Programs that use the calls wrongly ---- */

static int misuse_case;
static int32_t misuse(ringconv_context *c, void *const *in, void *const *out) {
  (void)in, (void)out;
  int64_t one[] = {1, 1}, none[] = {0, 1};
  char byte = 0;
  switch (misuse_case) {
  case 0:
    TRY(ringconv_rt_group(c, 1));
    return ringconv_rt_group(c, 1);
  case 1:
    return ringconv_rt_wait(c, 1);
  case 2:
    return ringconv_rt_post(c, 1);
  case 3:
    TRY(ringconv_rt_group(c, 1));
    return ringconv_rt_send(c, 1, RANKS, &byte, 1, 1, one);
  case 4:
    TRY(ringconv_rt_group(c, 1));
    return ringconv_rt_recv(c, 1, -1, &byte, 1, 1, one, 0);
  case 5:
    TRY(ringconv_rt_group(c, 1));
    return ringconv_rt_send(c, 1, 0, &byte, 1, 1, none);
  case 6:
    TRY(ringconv_rt_group(c, 1));
    return ringconv_rt_send(c, 1, 0, &byte, 1, 65, one);
  case 7:
    TRY(ringconv_rt_group(c, 1));
    TRY(ringconv_rt_post(c, 1));
    return 0;
  case 8:
    return ringconv_rt_all_reduce(c, 1, 1, RINGCONV_F16, &byte, 1, one);
  default: /* an error that the program swallowed */
    ringconv_rt_wait(c, 5);
    return 0;
  }
}

static void test_misuse(void) {
  static const char *const texts[] = {"exchange 1: begun again before its wait",
                                      "exchange 1: waited for, but not posted",
                                      "exchange 1: used outside of its group",
                                      "exchange 1: send to rank 4 of 4",
                                      "exchange 1: receive from rank -1 of 4",
                                      "a piece without elements",
                                      "a piece with 65 dimensions, at most 64",
                                      "exchange 1: never waited for",
                                      "exchange 1: no sums of f16",
                                      "exchange 5: waited for, but not posted"};
  for (misuse_case = 0; misuse_case < 10; ++misuse_case) {
    job j = {.run = misuse, .extents = {1, RANKS}, .timeout = 5, .sessions = 1, .runs = 1, .other_program = -1};
    run_job(&j, &o);
    int named = 0;
    for (int r = 0; r < RANKS; ++r)
      named += strstr(o.text[r], texts[misuse_case]) != NULL;
    CHECK(named >= 1);
  }
}

/* ---- Sessions ---- */

static int32_t nothing(ringconv_context *c, void *const *in, void *const *out) {
  (void)c, (void)in, (void)out;
  return 0;
}

static void test_other_program(void) {
  job j = {.run = rank_2_fails, .extents = {1, RANKS}, .timeout = 60, .sessions = 1, .runs = 1, .other_program = 1};
  run_job(&j, &o);
  int named = 0;
  for (int r = 0; r < RANKS; ++r) {
    CHECK(o.code[r] != 0);
    named += strstr(o.text[r], "runs another program (hash 00000000000000") != NULL;
  }
  CHECK(named >= 1);
}

static const char *const names[] = {"a"};
static const int64_t two[] = {2}, sizes[] = {4};
static const ringconv_cut whole[] = {{0}};
static const ringconv_operand operands[] = {{"x", RINGCONV_F32, 1, sizes, whole, 0},
                                            {"w", RINGCONV_F32, 1, sizes, whole, RINGCONV_PARAMETER},
                                            {"z", RINGCONV_F32, 1, sizes, whole, 0}};

static int32_t see_inputs(ringconv_context *c, void *const *in, void *const *out) {
  (void)c;
  *(float *)out[0] = *(float *)in[0] + 10 * *(float *)in[1] + 100 * *(float *)in[2];
  return 0;
}

static ringconv_program small_program(void) {
  return (ringconv_program){.abi_version = RINGCONV_ABI_VERSION,
                            .entry = "main",
                            .cpu_features = "",
                            .num_inputs = 3,
                            .num_outputs = 1,
                            .inputs = operands,
                            .outputs = operands,
                            .run = see_inputs};
}

static void test_parameters(void) {
  ringconv_program p = small_program();
  ringconv_session *s;
  ringconv_world world = {.size = 1};
  float x[4] = {1}, w[4] = {2}, z[4] = {3}, y[4] = {0};
  const void *in[] = {x, z}, *parameters[] = {w}, *missing[] = {NULL};
  void *out[] = {y};
  CHECK(ringconv_session_create(&p, &s, &world, NULL) == 0);
  CHECK(ringconv_session_run(s, NULL, in, out) != 0);
  CHECK_TEXT(ringconv_session_error(s), "run before set_parameters");
  CHECK(ringconv_session_set_parameters(s, missing) != 0);
  CHECK_TEXT(ringconv_session_error(s), "input 1 is NULL");
  CHECK(ringconv_session_set_parameters(s, parameters) == 0);
  CHECK(ringconv_session_run(s, NULL, in, out) == 0 && y[0] == 321); /* such mistakes do not end a session */
  CHECK(!strcmp(ringconv_session_error(s), ""));
  CHECK(ringconv_session_run(s, &p, in, out) != 0);
  CHECK_TEXT(ringconv_session_error(s), "a stream given to a program for the host");
  CHECK(ringconv_session_run(s, NULL, in, NULL) != 0);
  CHECK_TEXT(ringconv_session_error(s), "output 0 is NULL");
  ringconv_session_destroy(s);
}

static void expect_refused(ringconv_program p, ringconv_world world, const ringconv_options *options,
                           const char *text) {
  ringconv_session *s = NULL;
  CHECK(ringconv_session_create(&p, &s, &world, options) != 0);
  CHECK_TEXT(ringconv_session_error(s), text);
  CHECK(ringconv_session_run(s, NULL, NULL, NULL) != 0);
  CHECK_TEXT(ringconv_session_error(s), text);
  ringconv_session_destroy(s);
}

static void test_create_refuses(void) {
  ringconv_program p = small_program(), q = p;
  ringconv_world world = {.size = 1}, pair = {.size = 2};
  ringconv_options old = {.abi_version = 7}, negative = {.abi_version = RINGCONV_ABI_VERSION, .timeout = -1};
  expect_refused(p, pair, NULL, "mesh <[]> has size 1, but the number of threads is 2");
  expect_refused(p, world, &old, "the caller was compiled for ABI version 7, the runtime has");
  expect_refused(p, world, &negative, "a timeout of -1 s");
  expect_refused(p, (ringconv_world){.rank = 1, .size = 1}, NULL, "rank 1 of 1");
  expect_refused(p, (ringconv_world){.size = 1, .transport = 9}, NULL, "no transport 9");
  q.abi_version = 9;
  expect_refused(q, world, NULL, "the program was compiled for ABI version 9");
  q = p;
  q.mesh = (ringconv_mesh){1, names, two, NULL};
  expect_refused(q, pair, NULL, "2 threads without a team");
  expect_refused(q, world, NULL, "mesh <[\"a\" = 2]> has size 2, but the number of threads is 1");
}

/* A session whose run failed stays failed. */
static void test_dead_session(void) {
  ringconv_program p = small_program();
  p.num_inputs = 1;
  p.run = nothing;
  ringconv_session *s;
  float x[4] = {0};
  const void *in[] = {x};
  void *out[] = {x};
  CHECK(ringconv_session_create(&p, &s, &(ringconv_world){.size = 1}, NULL) == 0);
  CHECK(ringconv_session_run(s, NULL, in, out) == 0);
  ringconv_session_destroy(s);
  p.run = rank_2_fails; /* rank 0: a ring with ranks that do not exist */
  CHECK(ringconv_session_create(&p, &s, &(ringconv_world){.size = 1}, NULL) == 0);
  int64_t position = 2;
  const void *two_in[] = {&position};
  CHECK(ringconv_session_run(s, NULL, two_in, out) == 42);
  CHECK(ringconv_session_run(s, NULL, two_in, out) == 42);
  CHECK_TEXT(ringconv_session_error(s), "the program failed with code 42");
  ringconv_session_destroy(s);
  ringconv_session_destroy(NULL);
}

int main(void) {
  RUN_TEST(test_error_reaches_all);
  RUN_TEST(test_errors_in_traffic);
  RUN_TEST(test_sizes_differ);
  RUN_TEST(test_pieces_differ);
  RUN_TEST(test_never_sends);
  RUN_TEST(test_nobody_receives);
  RUN_TEST(test_sum_alone);
  RUN_TEST(test_misuse);
  RUN_TEST(test_other_program);
  RUN_TEST(test_parameters);
  RUN_TEST(test_create_refuses);
  RUN_TEST(test_dead_session);
  return report_tests();
}
