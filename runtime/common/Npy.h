/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * .npy files of global tensors: headers 1.0, 2.0 and 3.0, C order, little
 * endian. Errors are one line that begins with the file's name. */
#ifndef RINGCONV_COMMON_NPY_H
#define RINGCONV_COMMON_NPY_H

#include "common/Map.h"

typedef struct rcrt_npy {
  rcrt_map map;
  int64_t data; /* offset of element 0 */
} rcrt_npy;

/* What a header says; `descr` without its quotes. */
typedef struct rcrt_npy_header {
  char descr[32];
  bool fortran;
  int64_t rank, sizes[RCRT_MAX_RANK];
  int64_t data;
} rcrt_npy_header;

/* NULL, or what is wrong with the header in the first `size` bytes of a file. */
const char *rcrt_npy_parse(const char *bytes, size_t size, rcrt_npy_header *header);

/* Bytes of the header that a file of this operand begins with, at most 4096. */
enum { RCRT_NPY_HEADER = 4096 };
size_t rcrt_npy_header_text(const ringconv_operand *operand, char *text);

/* `what` names the operand in errors: "input 0 (x)". false: `text` says why. */
bool rcrt_npy_open(rcrt_npy *file, const char *path, const ringconv_operand *operand, const char *what, char *text);
/* The whole tensor, in the mapping. */
static inline const void *rcrt_npy_data(const rcrt_npy *file) { return file->map.data + file->data; }
void rcrt_npy_close(rcrt_npy *file);

/* "[8, 3, 224]" */
void rcrt_shape_text(int64_t rank, const int64_t *sizes, char *text, size_t size);

#endif
