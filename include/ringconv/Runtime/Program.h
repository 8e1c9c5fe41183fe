/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What the compiler tells the runtime about one compiled entry: constant data
 * in the emitted object, read by the runtime and by libRingConv-C.so. Plain C, no
 * MLIR. Everything here is immutable and lives as long as the program.
 */
#ifndef RINGCONV_RUNTIME_PROGRAM_H
#define RINGCONV_RUNTIME_PROGRAM_H

#include "ringconv/Runtime/Types.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum ringconv_dtype {
  RINGCONV_F64 = 0,
  RINGCONV_F32 = 1,
  RINGCONV_F16 = 2,
  RINGCONV_BF16 = 3, /* stored as uint16 in .npy files */
  RINGCONV_I8 = 4,
  RINGCONV_I32 = 5,
  RINGCONV_I64 = 6,
  RINGCONV_I1 = 7 /* one byte per element, 0 or 1; bool in .npy files */
} ringconv_dtype;

/* An integer function of a part number, as runs that are linear:
 * f(c) = base + slope * (c - begin) of the last run with begin <= c.
 * The first run begins at 0. Even cuts need one run however large the mesh. */
typedef struct ringconv_run {
  int64_t begin, base, slope;
} ringconv_run;

typedef struct ringconv_table {
  int64_t num_runs;
  const ringconv_run *runs;
} ringconv_table;

/* How one dimension is cut: by which mesh axes (positions in the mesh, major
 * first) and where. `bounds` is a function of 0 .. number of parts: part c owns
 * [bounds(c), bounds(c + 1)). num_axes == 0: the dimension is whole. */
typedef struct ringconv_cut {
  int32_t num_axes;
  const int32_t *axes;
  ringconv_table bounds;
} ringconv_cut;

enum { RINGCONV_PARAMETER = 1u };

/* An argument or a result of the entry, as the user wrote it. */
typedef struct ringconv_operand {
  const char *name; /* ringconv.name, or NULL */
  int32_t dtype;    /* ringconv_dtype */
  int32_t rank;
  const int64_t *sizes;     /* global sizes, `rank` of them */
  const ringconv_cut *cuts; /* `rank` of them */
  uint32_t flags;           /* RINGCONV_PARAMETER */
} ringconv_operand;

/* Ranks are row-major positions in the mesh, the last axis fastest. */
typedef struct ringconv_mesh {
  int32_t num_axes; /* 0: one rank */
  const char *const *names;
  const int64_t *extents;
  const int64_t *device_ids; /* process, thread or GPU of each position; NULL: the position */
} ringconv_mesh;

/* For reports: an operation with a window, in one of its cut dimensions.
 * The tables are functions of the part number of `axes`. */
typedef struct ringconv_op_dim {
  int32_t dim; /* dimension of the input tensor */
  int32_t num_axes;
  const int32_t *axes;
  ringconv_table own_begin, own_end;   /* input elements the rank owns */
  ringconv_table need_begin, need_end; /* positions its windows reach, before border modes map them */
} ringconv_op_dim;

typedef struct ringconv_op {
  const char *label;    /* for a table: kind, kernel and stride */
  const char *location; /* file:line:col of the user's program */
  int32_t exchange;     /* its exchange, or -1 */
  int32_t num_dims;
  const ringconv_op_dim *dims;
} ringconv_op;

typedef struct ringconv_context ringconv_context;

/* What a program returns where it gets no memory. */
enum { RINGCONV_RT_NO_MEMORY = 2 };

/* The program of one rank. `in` and `out` are local shards (of device memory
 * where the target is cuda), dense and row-major, owned by the caller; inputs
 * are only read. 0, RINGCONV_RT_NO_MEMORY, or the code that a runtime call gave:
 * then the context holds the text. */
typedef int32_t (*ringconv_rank_fn)(ringconv_context *context, void *const *in, void *const *out);

/* The uncut program, by plain loops with f64 accumulation, on global tensors: 0
 * or RINGCONV_RT_NO_MEMORY. */
typedef int32_t (*ringconv_reference_fn)(void *const *in, void *const *out);

/* ---- Programs for GPUs ---- */

/* The kernels, once for an architecture: machine code (a cubin), or PTX text
 * that ends with a zero and that newer GPUs take too. */
typedef struct ringconv_image {
  int32_t arch; /* 80 for sm_80 */
  int32_t is_text;
  int64_t bytes;
  const void *data;
} ringconv_image;

typedef struct ringconv_kernel {
  const char *name;
  int32_t shared_bytes; /* the most dynamic shared memory of a launch */
} ringconv_kernel;

typedef struct ringconv_constant {
  const void *data;
  int64_t bytes;
} ringconv_constant;

/* What a session makes before the first run. */
typedef struct ringconv_cuda_program {
  int64_t arena_bytes; /* device memory of all buffers, on the rank that needs most */
  int32_t has_boxes;   /* there is a kernel `ringconv_boxes`: see runtime/cuda/Boxes.h */
  int32_t num_images, num_kernels, num_constants, num_sums;
  int32_t uses_cudnn; /* there are calls of ringconv_cuda_convolve */
  const ringconv_image *images;
  const ringconv_kernel *kernels;
  const ringconv_constant *constants;
  const uint64_t *sums; /* the mesh axes of each communicator for sums (bit a: axis a) */
} ringconv_cuda_program;

typedef struct ringconv_program {
  uint32_t abi_version;
  const char *entry;
  uint64_t hash; /* of program, mesh and target: ranks agree on it before the first message */
  const char *target;       /* "host" or "cuda" */
  const char *cpu_features; /* comma separated features the code needs ("avx2,fma"), "" for none */
  ringconv_mesh mesh;
  int32_t num_inputs, num_outputs, num_ops, num_exchanges;
  const ringconv_operand *inputs, *outputs;
  const ringconv_op *ops;
  ringconv_rank_fn run;
  ringconv_reference_fn reference; /* NULL if it was not compiled in */
  const ringconv_cuda_program *cuda; /* NULL for host */
} ringconv_program;

#ifdef __cplusplus
}
#endif
#endif
