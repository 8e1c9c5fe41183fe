/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The compiler as a C library, libRingConv-C.so. docs/embedding.md shows its
 * use and gives the rules of its ABI. This header needs no other of LLVM or
 * MLIR; ringconv-c/MLIR.h joins it to MLIR's own C API.
 *
 *   RingConvContext   reads programs and keeps diagnostics. One thread at a time.
 *   RingConvModule    a program as MLIR; belongs to its context, ends before it.
 *   RingConvProgram   a compiled program in this process; outlives both. It is
 *                     run by ringconv/Runtime/Session.h: ringconv_ranks_* for
 *                     all ranks as threads on whole arrays, ringconv_session_*
 *                     for one rank on its shards. Any thread.
 *
 * Functions that can fail give RINGCONV_OK or another code; the diagnostics of
 * the context then say why and where. None of them throws, exits or aborts;
 * none prints. Handles that a failed function should have made are NULL.
 * Destroying NULL does nothing.
 */
#ifndef RINGCONV_C_RINGCONV_H
#define RINGCONV_C_RINGCONV_H

#include "ringconv/Runtime/Session.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What this header declares. The library's minor number may be larger. */
#define RINGCONV_C_VERSION_MAJOR 1
#define RINGCONV_C_VERSION_MINOR 0
/* Of the library: major << 16 | minor. */
uint32_t ringconvVersion(void);
/* Version, commit and LLVM of the library, lines of text for people. */
const char *ringconvVersionText(void);

/* Codes of this header; those of Session.h are that header's. */
enum { RINGCONV_OK = 0, RINGCONV_REFUSED = 1, RINGCONV_NO_MEMORY = 2 };

typedef struct RingConvContext RingConvContext;
typedef struct RingConvModule RingConvModule;
typedef struct RingConvProgram RingConvProgram;

/* Text or binary data; a zero follows the last byte. The caller's, to be given
 * to ringconvBytesFree. */
typedef struct RingConvBytes {
  char *data;
  size_t size;
} RingConvBytes;
void ringconvBytesFree(RingConvBytes bytes);

/* ---- Contexts and diagnostics ---- */

enum { RINGCONV_DIAG_NOTE = 0, RINGCONV_DIAG_WARNING = 1, RINGCONV_DIAG_ERROR = 2, RINGCONV_DIAG_REMARK = 3 };

typedef struct RingConvDiagnostic {
  int32_t severity;
  const char *text;
  const char *file;     /* "" where the place is unknown */
  int64_t line, column; /* from 1; 0 where the place is unknown */
} RingConvDiagnostic;

/* With our dialect, those that the pipelines use, and all passes. NULL: out of
 * memory. */
RingConvContext *ringconvContextCreate(void);
void ringconvContextDestroy(RingConvContext *context);

/* Diagnostics of the last call on the context or on one of its modules, notes
 * after what they belong to. `index` is below the number; the texts live until
 * the next such call. */
int64_t ringconvContextNumDiagnostics(const RingConvContext *context);
RingConvDiagnostic ringconvContextDiagnostic(const RingConvContext *context, int64_t index);
/* The first error among them (remarks may come before it); texts are "" if there
 * is none. */
RingConvDiagnostic ringconvContextError(const RingConvContext *context);

/* Called for each diagnostic as it comes, from the thread of the call that
 * causes it; NULL: none. It must not use the context. */
typedef void (*RingConvDiagnosticHandler)(const RingConvDiagnostic *diagnostic, void *data);
void ringconvContextSetDiagnosticHandler(RingConvContext *context, RingConvDiagnosticHandler handler, void *data);

/* ---- Programs as MLIR ---- */

/* Parses and verifies text or MLIR bytecode, `size` bytes; `name` stands for
 * the file in diagnostics (NULL: "-"). */
int32_t ringconvModuleParse(RingConvContext *context, const char *source, size_t size, const char *name,
                            RingConvModule **module);
int32_t ringconvModuleParseFile(RingConvContext *context, const char *path, RingConvModule **module);
int32_t ringconvModuleClone(const RingConvModule *module, RingConvModule **clone);
void ringconvModuleDestroy(RingConvModule *module);

int32_t ringconvModuleToText(const RingConvModule *module, RingConvBytes *text);
int32_t ringconvModuleToBytecode(const RingConvModule *module, RingConvBytes *bytecode);
int32_t ringconvModuleVerify(const RingConvModule *module);

/* Adds the mesh `name`; `mesh` is its MLIR text: "<[\"dp\" = 2, \"sp\" = 4]>". */
int32_t ringconvModuleAddMesh(RingConvModule *module, const char *name, const char *mesh);

/* Sets an attribute of an argument or, counted after the arguments, of a result
 * of a function: "ringconv.sharding", "ringconv.name", "ringconv.parameter" ...
 * `attribute` is its MLIR text, "" for one that only stands there, NULL to
 * remove it. What does not verify is not set. */
int32_t ringconvModuleAnnotate(RingConvModule *module, const char *function, int32_t operand, const char *name,
                               const char *attribute);

/* Runs passes on the module in place, in mlir-opt's words:
 * "builtin.module(ringconv-partition-pipeline{mesh=w=8},cse)". After a failure
 * the module may be anything between the passes; destroy it. */
int32_t ringconvModuleRunPipeline(RingConvModule *module, const char *pipeline);

/* ---- Compilation ---- */

/* Zero or NULL: as the tools do by default. New fields are added at the end. */
typedef struct RingConvCompileOptions {
  size_t size;           /* sizeof(RingConvCompileOptions) of the caller */
  const char *target;    /* "host" */
  const char *entry;     /* function; default: main, else the only public one */
  const char *mesh;      /* "axis=extent,...": other extents */
  const char *targetCpu; /* LLVM's name or "native"; default: native in memory, x86-64-v3 in files */
  int32_t noVectorize, noMergeHalos, noOverlap, alwaysOverlap;
  int32_t reference; /* compile the uncut program too, for ringconvProgramRunReference */
  int32_t countMultiplyAdds;
  const char *cacheDir; /* folder that keeps compiled programs, made if need be; not for LLVM IR */
} RingConvCompileOptions;

/* The program of one rank, as a new module; options may be NULL. */
int32_t ringconvPartition(const RingConvModule *module, const RingConvCompileOptions *options,
                          RingConvModule **partitioned);

enum { RINGCONV_EMIT_LLVM = 1, RINGCONV_EMIT_OBJECT = 2, RINGCONV_EMIT_LIBRARY = 3, RINGCONV_EMIT_EXECUTABLE = 4 };

/* Compiles to a file: LLVM IR as text, an object file or a shared library with
 * the functions of the emitted C header (which is written beside the library),
 * or an executable with the run flags. Linking calls the system's C compiler. */
int32_t ringconvCompileToFile(const RingConvModule *module, const RingConvCompileOptions *options, int32_t emit,
                              const char *path);

/* Compiles into this process. */
int32_t ringconvCompile(const RingConvModule *module, const RingConvCompileOptions *options, RingConvProgram **program);
/* After the last ringconv_ranks and ringconv_session of the program. */
void ringconvProgramDestroy(RingConvProgram *program);

/* ---- Compiled programs ---- */

/* For the functions of ringconv/Runtime/Session.h; as long as the program. */
const ringconv_program *ringconvProgramGet(const RingConvProgram *program);

/* Whole-tensor view of an operand: `index` counts inputs, then outputs. */
typedef struct RingConvOperand {
  const char *name; /* ringconv.name, "" if it has none */
  const char *cut;  /* how it is cut, as MLIR text */
  int32_t dtype;    /* ringconv_dtype */
  int32_t rank;
  const int64_t *sizes;
  int32_t isParameter;
} RingConvOperand;
const char *ringconvProgramEntry(const RingConvProgram *program);
const char *ringconvProgramTarget(const RingConvProgram *program); /* "host" or "cuda" */
int64_t ringconvProgramNumRanks(const RingConvProgram *program);
int32_t ringconvProgramNumInputs(const RingConvProgram *program);
int32_t ringconvProgramNumOutputs(const RingConvProgram *program);
RingConvOperand ringconvProgramOperand(const RingConvProgram *program, int32_t index);

/* The box of an operand that a rank owns: offsets and sizes, one per dimension.
 * RINGCONV_REFUSED for a rank or operand that does not exist. */
int32_t ringconvProgramShard(const RingConvProgram *program, int64_t rank, int32_t operand, int64_t *offsets,
                             int64_t *sizes);

/* JSON: what was chosen per operation and rank, as `ringconv-compile --report`. */
const char *ringconvProgramReport(const RingConvProgram *program);

/* The uncut program by plain loops, on all whole inputs and outputs.
 * RINGCONV_REFUSED if it was not compiled in. */
int32_t ringconvProgramRunReference(const RingConvProgram *program, const void *const *in, void *const *out);

#ifdef __cplusplus
}
#endif
#endif
