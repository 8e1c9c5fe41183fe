/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C API where the example does not go: mistakes, bytecode, pipelines,
 * options of other versions, MLIR's own C API on our context, ranks of a
 * session each. Prints "ok NAME" per test; FileCheck looks for all of them. */
#include "ringconv-c/MLIR.h"
#include "ringconv-c/RingConv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static RingConvContext *context;
static const char *current;

static void check(int ok, const char *what, int line) {
  if (ok)
    return;
  printf("FAILED %s, line %d: %s\n", current, line, what);
  for (int64_t i = 0; i < ringconvContextNumDiagnostics(context); ++i)
    printf("  %s\n", ringconvContextDiagnostic(context, i).text);
  exit(1);
}
#define CHECK(condition) check(!!(condition), #condition, __LINE__)

/* One dimension: y[o] = x[o] + 10 x[o + 1], the end of x reads as 0. */
static const char source[] =
    "ringconv.mesh @ring = <[\"x\" = 2]>\n"
    "func.func @f(%a: tensor<1x1x5xf32> {ringconv.sharding = #ringconv.sharding<@ring, [{}, {}, {\"x\"}]>,\n"
    "                                    ringconv.name = \"a\"},\n"
    "             %k: tensor<1x1x2xf32> {ringconv.parameter}) -> tensor<1x1x5xf32> {\n"
    "  %y = ringconv.conv %a, %k dims [b, f, 0] x [o, i, 0] -> [b, f, 0] window {pad = [[0, 1]]}\n"
    "     : (tensor<1x1x5xf32>, tensor<1x1x2xf32>) -> tensor<1x1x5xf32>\n"
    "  return %y : tensor<1x1x5xf32>\n"
    "}\n";

static RingConvModule *parse(void) {
  RingConvModule *module;
  CHECK(ringconvModuleParse(context, source, strlen(source), "f.mlir", &module) == RINGCONV_OK);
  return module;
}

static void has_error(const char *text) {
  RingConvDiagnostic d = ringconvContextError(context);
  if (d.severity == RINGCONV_DIAG_ERROR && strstr(d.text, text))
    return;
  printf("wanted '%s'\n", text);
  CHECK(!"the text of an error");
}

static void mistakes(void) {
  RingConvModule *module;
  const char *bad = "func.func @f() {\n  ringconv.nothing\n}\n";
  CHECK(ringconvModuleParse(context, bad, strlen(bad), "bad.mlir", &module) == RINGCONV_REFUSED && !module);
  has_error("nothing");
  RingConvDiagnostic d = ringconvContextDiagnostic(context, 0);
  CHECK(!strcmp(d.file, "bad.mlir") && d.line == 2 && d.column == 3);
  CHECK(ringconvContextDiagnostic(context, 99).text[0] == 0);
  CHECK(!ringconvModuleParse(context, "", 0, NULL, &module) && ringconvContextError(context).text[0] == 0);
  ringconvModuleDestroy(module);

  const char *unfit = "ringconv.mesh @m = <[\"x\" = 0]>";
  CHECK(ringconvModuleParse(context, unfit, strlen(unfit), NULL, &module) && !module);
  has_error("mesh_c1");
  CHECK(ringconvModuleParseFile(context, "/nowhere.mlir", &module) && !module);
  has_error("/nowhere.mlir: No such file");
  CHECK(ringconvModuleParse(context, "ML\xefR garbage", 10, NULL, &module) && !module);
  CHECK(ringconvContextNumDiagnostics(context) > 0);
}

static int handled;
static void handler(const RingConvDiagnostic *d, void *data) { handled += d->line == 1 && data == &handled; }

static void diagnostic_handler(void) {
  RingConvModule *module;
  ringconvContextSetDiagnosticHandler(context, handler, &handled);
  CHECK(ringconvModuleParse(context, "%", 1, NULL, &module) && handled == 1);
  ringconvContextSetDiagnosticHandler(context, NULL, NULL);
  CHECK(ringconvModuleParse(context, "%", 1, NULL, &module) && handled == 1);
}

static void bytecode(void) {
  RingConvModule *module = parse(), *again, *clone;
  RingConvBytes text, bytes, same;
  CHECK(!ringconvModuleToBytecode(module, &bytes) && bytes.size > 4 && !memcmp(bytes.data, "ML\xefR", 4));
  CHECK(!ringconvModuleParse(context, bytes.data, bytes.size, "f.mlirbc", &again));
  CHECK(!ringconvModuleClone(again, &clone));
  CHECK(!ringconvModuleToText(module, &text) && !ringconvModuleToText(clone, &same));
  CHECK(!strcmp(text.data, same.data) && strstr(text.data, "ringconv.conv"));
  CHECK(!ringconvModuleVerify(clone));
  ringconvBytesFree(text);
  ringconvBytesFree(bytes);
  ringconvBytesFree(same);
  ringconvModuleDestroy(clone);
  ringconvModuleDestroy(again);
  ringconvModuleDestroy(module);
}

/* The version stands in the bytes as two varints, 1 and 0. Where it is made 2, a
 * library of today must say so; at other places of these bytes it may read on. */
static void bytecode_of_a_later_version(void) {
  RingConvModule *module = parse(), *read;
  RingConvBytes bytes;
  int refused = 0;
  CHECK(!ringconvModuleToBytecode(module, &bytes));
  for (size_t i = 0; i + 1 < bytes.size && !refused; ++i)
    if (bytes.data[i] == 3 && bytes.data[i + 1] == 1) {
      bytes.data[i] = 5;
      if (ringconvModuleParse(context, bytes.data, bytes.size, NULL, &read))
        for (int64_t d = 0; d < ringconvContextNumDiagnostics(context); ++d)
          refused |= strstr(ringconvContextDiagnostic(context, d).text, "version 2.0, this build reads up to 1.0") != 0;
      ringconvModuleDestroy(read);
      bytes.data[i] = 3;
    }
  CHECK(refused);
  ringconvBytesFree(bytes);
  ringconvModuleDestroy(module);
}

/* Passes take effect, whichever way the pipeline is written. */
static void pipelines(void) {
  RingConvModule *module = parse();
  RingConvBytes text;
  CHECK(ringconvModuleRunPipeline(module, "builtin.module(no-such-pass)"));
  has_error("no-such-pass");
  CHECK(ringconvModuleRunPipeline(module, "func.func(cse)"));
  has_error("expected builtin.module(...)");
  CHECK(ringconvModuleRunPipeline(module, "builtin.module(ringconv-partition-pipeline{mesh=y=2})"));
  has_error("no axis \"y\"");
  ringconvModuleDestroy(module);
  module = parse();
  CHECK(!ringconvModuleRunPipeline(module, "builtin.module(ringconv-partition-pipeline{mesh=x=5},cse)"));
  CHECK(!ringconvModuleToText(module, &text) && strstr(text.data, "ringconv.local_conv"));
  CHECK(strstr(text.data, "\"x\" = 5"));
  ringconvBytesFree(text);
  ringconvModuleDestroy(module);
}

static void partition(void) {
  RingConvModule *module = parse(), *local;
  RingConvBytes text;
  RingConvCompileOptions options = {.size = sizeof options, .mesh = "x=5"};
  CHECK(!ringconvPartition(module, &options, &local));
  CHECK(!ringconvModuleToText(local, &text) && strstr(text.data, "ringconv.local_conv"));
  ringconvBytesFree(text);
  ringconvModuleDestroy(local);
  CHECK(!ringconvModuleToText(module, &text) && strstr(text.data, "ringconv.conv "));
  ringconvBytesFree(text);
  options.entry = "g";
  CHECK(ringconvPartition(module, &options, &local) && !local);
  has_error("no public function @g");
  ringconvModuleDestroy(module);
}

static void annotations(void) {
  RingConvModule *module;
  RingConvBytes text;
  const char *plain = "func.func @f(%a: tensor<6xf32>) -> tensor<6xf32> {\n  return %a : tensor<6xf32>\n}\n";
  const char *halves = "#ringconv.sharding<@m, [{\"x\"}]>", *name = "ringconv.sharding";
  CHECK(!ringconvModuleParse(context, plain, strlen(plain), NULL, &module));
  CHECK(ringconvModuleAnnotate(module, "f", 0, name, halves));
  has_error("no mesh named @m");
  CHECK(ringconvModuleAddMesh(module, "m", "<[\"x\" = 0]>") && ringconvModuleAddMesh(module, "f", "<[]>"));
  CHECK(!ringconvModuleAddMesh(module, "m", "<[\"x\" = 2]>") && ringconvModuleAddMesh(module, "n", "<[]>"));
  CHECK(!ringconvModuleAnnotate(module, "f", 0, name, halves) && !ringconvModuleAnnotate(module, "f", 1, name, halves));
  CHECK(!ringconvModuleAnnotate(module, "f", 0, "ringconv.parameter", ""));
  CHECK(ringconvModuleAnnotate(module, "f", 2, name, halves) && ringconvModuleAnnotate(module, "g", 0, name, halves));
  CHECK(ringconvModuleAnnotate(module, "f", 0, name, "#ringconv.sharding<@m, [{}, {}]>"));
  CHECK(ringconvModuleAnnotate(module, "f", 0, name, "nonsense"));
  CHECK(!ringconvModuleAnnotate(module, "f", 1, name, NULL));
  CHECK(!ringconvModuleToText(module, &text) &&
        strstr(text.data,
               "%arg0: tensor<6xf32> {ringconv.parameter, ringconv.sharding = #ringconv.sharding<@m, [{\"x\"}]>})"
               " -> tensor<6xf32> {"));
  ringconvBytesFree(text);
  ringconvModuleDestroy(module);
}

static void options_of_other_versions(void) {
  RingConvModule *module = parse();
  RingConvProgram *program;
  struct {
    RingConvCompileOptions known;
    int64_t later;
  } newer = {.known = {.size = sizeof newer, .mesh = "x=1"}, .later = 7};
  CHECK(!ringconvCompile(module, &newer.known, &program));
  CHECK(ringconvProgramNumRanks(program) == 1);
  ringconvProgramDestroy(program);
  RingConvCompileOptions none = {0};
  CHECK(ringconvCompile(module, &none, &program) && !program);
  has_error("size of 0");
  RingConvCompileOptions target = {.size = sizeof target, .target = "abacus"};
  CHECK(ringconvCompile(module, &target, &program) && !program);
  has_error("abacus");
  RingConvCompileOptions cpu = {.size = sizeof cpu, .targetCpu = "abacus"};
  CHECK(ringconvCompile(module, &cpu, &program) && !program);
  has_error("unknown target cpu 'abacus'");
  CHECK(ringconvCompileToFile(module, NULL, RINGCONV_EMIT_OBJECT, "/nowhere/f.o"));
  has_error("/nowhere/f.o");
  CHECK(ringconvCompileToFile(module, NULL, 77, "f.o"));
  ringconvModuleDestroy(module);
  CHECK(ringconvVersion() >> 16 == RINGCONV_C_VERSION_MAJOR && strstr(ringconvVersionText(), "LLVM"));
}

static const float input[5] = {1, 2, 3, 4, 5}, kernel[2] = {1, 10};
static const float expected[5] = {21, 32, 43, 54, 5};

static RingConvProgram *compile(void) {
  RingConvModule *module = parse();
  RingConvProgram *program;
  CHECK(!ringconvCompile(module, NULL, &program));
  ringconvModuleDestroy(module);
  return program;
}

static void operands(void) {
  RingConvProgram *program = compile();
  int64_t offset[3], size[3];
  CHECK(!strcmp(ringconvProgramEntry(program), "f") && ringconvProgramNumRanks(program) == 2);
  CHECK(ringconvProgramNumInputs(program) == 2 && ringconvProgramNumOutputs(program) == 1);
  RingConvOperand a = ringconvProgramOperand(program, 0), k = ringconvProgramOperand(program, 1);
  CHECK(!strcmp(a.name, "a") && a.rank == 3 && a.sizes[2] == 5 && a.dtype == RINGCONV_F32 && !a.isParameter);
  CHECK(!strcmp(k.name, "") && k.isParameter && strstr(a.cut, "\"x\""));
  CHECK(ringconvProgramOperand(program, 3).dtype == -1 && ringconvProgramOperand(program, -1).dtype == -1);
  CHECK(!ringconvProgramShard(program, 1, 0, offset, size) && offset[2] == 3 && size[2] == 2);
  CHECK(ringconvProgramShard(program, 2, 0, offset, size) && ringconvProgramShard(program, 0, 3, offset, size));
  CHECK(strstr(ringconvProgramReport(program), "\"operations\""));
  const void *in[] = {input, kernel};
  float y[5];
  void *out[] = {y};
  CHECK(ringconvProgramRunReference(program, in, out)); /* not compiled in */
  ringconvProgramDestroy(program);
}

static void whole_arrays(void) {
  RingConvProgram *program = compile();
  ringconv_ranks *ranks;
  float y[5] = {0};
  const void *in[] = {input}, *parameters[] = {kernel}, *none[] = {NULL};
  void *out[] = {y};
  CHECK(!ringconv_ranks_create(ringconvProgramGet(program), &ranks, NULL));
  CHECK(ringconv_ranks_run(ranks, in, out) && strstr(ringconv_ranks_error(ranks), "run before set_parameters"));
  CHECK(!ringconv_ranks_set_parameters(ranks, parameters));
  CHECK(ringconv_ranks_run(ranks, none, out) && strstr(ringconv_ranks_error(ranks), "input 0 is NULL"));
  for (int i = 0; i < 3; ++i) {
    memset(y, 0, sizeof y);
    CHECK(!ringconv_ranks_run(ranks, in, out) && !memcmp(y, expected, sizeof y));
  }
  ringconv_counters counters = {0};
  ringconv_ranks_counters(ranks, 1, &counters);
  CHECK(counters.messages_sent == 3 && counters.bytes_sent == 12);
  ringconv_ranks_destroy(ranks);
  CHECK(ringconv_ranks_create(NULL, &ranks, NULL) && strstr(ringconv_ranks_error(ranks), "no program"));
  ringconv_ranks_destroy(ranks);
  ringconv_options options = {.abi_version = 77};
  CHECK(ringconv_ranks_create(ringconvProgramGet(program), &ranks, &options));
  CHECK(strstr(ringconv_ranks_error(ranks), "ABI version 77"));
  ringconv_ranks_destroy(ranks);
  ringconvProgramDestroy(program);
}

/* Two programs at once, one of them loaded and unloaded in between. */
static void unloading(void) {
  RingConvProgram *kept = compile(), *other = compile();
  ringconvProgramDestroy(other);
  ringconv_ranks *ranks;
  float y[5];
  const void *in[] = {input}, *parameters[] = {kernel};
  void *out[] = {y};
  CHECK(!ringconv_ranks_create(ringconvProgramGet(kept), &ranks, NULL));
  CHECK(!ringconv_ranks_set_parameters(ranks, parameters) && !ringconv_ranks_run(ranks, in, out));
  CHECK(!memcmp(y, expected, sizeof y));
  ringconv_ranks_destroy(ranks);
  ringconvProgramDestroy(kept);
}

/* A module made by MLIR's C API, taken over; and our dialect in its context. */
static void mlir_c(void) {
  MlirContext mlir = ringconvContextGetMlir(context);
  MlirModule made = mlirModuleCreateEmpty(mlirLocationUnknownGet(mlir));
  RingConvModule *module, *parsed = parse();
  CHECK(!ringconvModuleFromMlir(context, made, &module) && !ringconvModuleVerify(module));
  ringconvModuleDestroy(module);
  CHECK(mlirOperationVerify(mlirModuleGetOperation(ringconvModuleGetMlir(parsed))));
  ringconvModuleDestroy(parsed);

  MlirContext own = mlirContextCreate();
  mlirDialectHandleRegisterDialect(mlirGetDialectHandle__ringconv__(), own);
  CHECK(!mlirDialectIsNull(mlirContextGetOrLoadDialect(own, mlirStringRefCreateFromCString("ringconv"))));
  CHECK(ringconvModuleFromMlir(context, mlirModuleCreateEmpty(mlirLocationUnknownGet(own)), &module) && !module);
  mlirContextDestroy(own);
}

#define RUN(test) (current = #test, test(), printf("ok %s\n", #test))

int main(void) {
  context = ringconvContextCreate();
  RUN(mistakes);
  RUN(diagnostic_handler);
  RUN(bytecode);
  RUN(bytecode_of_a_later_version);
  RUN(pipelines);
  RUN(partition);
  RUN(annotations);
  RUN(options_of_other_versions);
  RUN(operands);
  RUN(whole_arrays);
  RUN(unloading);
  RUN(mlir_c);
  ringconvContextDestroy(context);
  return 0;
}
