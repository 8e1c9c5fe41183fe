/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The compiler inside a C program: reads a program over whole tensors, compiles
 * it in memory, runs its three ranks as threads and compares with the uncut
 * program.
 *
 *   cc -std=c11 smooth.c -IPREFIX/include -LPREFIX/lib -lRingConv-C -Wl,-rpath,PREFIX/lib -o smooth && ./smooth
 */
#include <ringconv-c/RingConv.h>

#include <stdio.h>
#include <string.h>

enum { ROWS = 4, COLUMNS = 10, SIZE = ROWS * COLUMNS };

/* Sums over 3x3 windows; columns are cut over three ranks, 4 + 3 + 3. */
static const char source[] =
    "ringconv.mesh @ring = <[\"x\" = 3]>\n"
    "func.func @smooth(\n"
    "    %a: tensor<1x1x4x10xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{}, {}, {}, {\"x\"}]>},\n"
    "    %k: tensor<1x1x3x3xf32> {ringconv.parameter})\n"
    "    -> (tensor<1x1x4x10xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{}, {}, {}, {\"x\"}]>}) {\n"
    "  %y = ringconv.conv %a, %k dims [b, f, 0, 1] x [o, i, 0, 1] -> [b, f, 0, 1] window {pad = [[1, 1], [1, 1]]}\n"
    "     : (tensor<1x1x4x10xf32>, tensor<1x1x3x3xf32>) -> tensor<1x1x4x10xf32>\n"
    "  return %y : tensor<1x1x4x10xf32>\n"
    "}\n";

/* What the last call on the context found wrong; 1. */
static int explain(const RingConvContext *context) {
  RingConvDiagnostic d = ringconvContextError(context);
  fprintf(stderr, "%s:%lld:%lld: %s\n", d.file, (long long)d.line, (long long)d.column, d.text);
  return 1;
}

static int compile(RingConvContext *context, RingConvProgram **program) {
  RingConvModule *module;
  if (ringconvModuleParse(context, source, strlen(source), "smooth.mlir", &module))
    return explain(context);
  RingConvCompileOptions options = {.size = sizeof options, .reference = 1};
  int failed = ringconvCompile(module, &options, program) ? explain(context) : 0;
  ringconvModuleDestroy(module);
  return failed;
}

static int run(const RingConvProgram *program) {
  float a[SIZE], kernel[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1}, y[SIZE], uncut[SIZE];
  for (int i = 0; i < SIZE; ++i)
    a[i] = (float)(i * i % 17);
  for (int64_t rank = 0; rank < ringconvProgramNumRanks(program); ++rank) {
    int64_t offsets[4], sizes[4];
    if (ringconvProgramShard(program, rank, 0, offsets, sizes))
      return 1;
    printf("rank %lld owns columns [%lld, %lld)\n", (long long)rank, (long long)offsets[3],
           (long long)(offsets[3] + sizes[3]));
  }

  ringconv_ranks *ranks;
  const void *parameters[] = {kernel}, *inputs[] = {a}, *all[] = {a, kernel};
  void *outputs[] = {y}, *reference[] = {uncut};
  if (ringconv_ranks_create(ringconvProgramGet(program), &ranks, NULL) ||
      ringconv_ranks_set_parameters(ranks, parameters) || ringconv_ranks_run(ranks, inputs, outputs)) {
    fprintf(stderr, "%s\n", ringconv_ranks_error(ranks));
    ringconv_ranks_destroy(ranks);
    return 1;
  }
  ringconv_ranks_destroy(ranks);
  if (ringconvProgramRunReference(program, all, reference))
    return 1;
  for (int i = 0; i < SIZE; ++i)
    if (y[i] != uncut[i]) {
      fprintf(stderr, "element %d: %g, the uncut program has %g\n", i, y[i], uncut[i]);
      return 1;
    }
  printf("three ranks agree with the uncut program at all %d elements\n", SIZE);
  return 0;
}

int main(void) {
  RingConvContext *context = ringconvContextCreate();
  RingConvProgram *program = NULL;
  int failed = !context || compile(context, &program);
  ringconvContextDestroy(context);
  failed = failed || run(program);
  ringconvProgramDestroy(program);
  return failed;
}
