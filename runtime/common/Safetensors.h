/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Named tensors in one file, mapped read-only: the safetensors format. Eight
 * bytes, the length of a JSON header; the header, which maps names to dtype,
 * shape and data_offsets; raw data, little endian, C order. */
#ifndef RINGCONV_COMMON_SAFETENSORS_H
#define RINGCONV_COMMON_SAFETENSORS_H

#include "common/Map.h"

typedef struct rcrt_safetensors {
  rcrt_map map;
  const char *path; /* the caller's */
  size_t header;    /* bytes of JSON */
} rcrt_safetensors;

/* false: `text` is one line that begins with the path. */
bool rcrt_safetensors_open(rcrt_safetensors *file, const char *path, char *text);
/* Address of the whole tensor that has the operand's name, or NULL: `text` says
 * why. It must have the operand's type and shape, and lies in the mapping.
 * `what` names the operand in errors: "input 0 (x)". */
const void *rcrt_safetensors_find(const rcrt_safetensors *file, const ringconv_operand *operand, const char *what,
                                  char *text);
void rcrt_safetensors_close(rcrt_safetensors *file);

#endif
