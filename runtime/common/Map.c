/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "common/Map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool rcrt_map_file(rcrt_map *map, const char *path, const char *kind, char *text) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a named pipe must not block */
  struct stat s;
  if (fd < 0 || fstat(fd, &s)) {
    snprintf(text, RCRT_TEXT, "%s: %s", path, strerror(errno));
    if (fd >= 0)
      close(fd);
    return false;
  }
  void *data = NULL;
  bool regular = S_ISREG(s.st_mode);
  if (regular && s.st_size > 0)
    data = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  int error = errno;
  close(fd);
  if (!regular)
    snprintf(text, RCRT_TEXT, "%s: %s, expected %s", path, S_ISDIR(s.st_mode) ? "a folder" : "no plain file", kind);
  else if (s.st_size == 0)
    snprintf(text, RCRT_TEXT, "%s: empty, expected %s", path, kind);
  else if (data == MAP_FAILED)
    snprintf(text, RCRT_TEXT, "%s: %s", path, strerror(error));
  if (!data || data == MAP_FAILED)
    return false;
  *map = (rcrt_map){data, (size_t)s.st_size};
  return true;
}

void rcrt_unmap_file(rcrt_map *map) {
  if (map->data)
    munmap((void *)(uintptr_t)map->data, map->size);
  map->data = NULL;
}
