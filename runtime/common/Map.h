/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Files mapped into memory, read-only. */
#ifndef RINGCONV_COMMON_MAP_H
#define RINGCONV_COMMON_MAP_H

#include "common/Base.h"

typedef struct rcrt_map {
  const char *data; /* NULL: nothing is mapped */
  size_t size;
} rcrt_map;

/* `kind` is what is expected, for errors: "a .npy file". Refuses what is no
 * plain file, and empty files. false: `text` says why, after the path. */
bool rcrt_map_file(rcrt_map *map, const char *path, const char *kind, char *text);
void rcrt_unmap_file(rcrt_map *map);

#endif
