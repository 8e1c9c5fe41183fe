/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "common/Npy.h"

#include "common/Copy.h"
#include "common/DType.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error ".npy files are mapped as they are: little endian only"
#endif

void rcrt_shape_text(int64_t rank, const int64_t *sizes, char *text, size_t size) {
  size_t n = (size_t)snprintf(text, size, "[");
  for (int64_t d = 0; d < rank && n < size; ++d)
    n += (size_t)snprintf(text + n, size - n, d ? ", %" PRId64 : "%" PRId64, sizes[d]);
  if (n < size)
    snprintf(text + n, size - n, "]");
}

/* bf16 has no type in NumPy: uint16, or the raw pairs that ml_dtypes saves. */
static bool dtype_fits(const char *descr, int32_t dtype) {
  const char *wanted = rcrt_dtype_npy(dtype);
  if (dtype == RINGCONV_BF16 && (!strcmp(descr, "<V2") || !strcmp(descr, "|V2")))
    return true;
  if (rcrt_dtype_size(dtype) == 1) /* one byte has no order */
    return strlen(descr) == 3 && strchr("<|=>", descr[0]) && !strcmp(descr + 1, wanted + 1);
  return !strcmp(descr, wanted);
}

static bool check_header(const rcrt_npy_header *h, int64_t size, const char *path, const ringconv_operand *operand,
                         const char *what, char *text) {
  if (!dtype_fits(h->descr, operand->dtype)) {
    snprintf(text, RCRT_TEXT, "%s: dtype '%s', expected '%s' for %s", path, h->descr, rcrt_dtype_npy(operand->dtype),
             what);
    return false;
  }
  bool same = h->rank == operand->rank;
  for (int64_t d = 0; same && d < h->rank; ++d)
    same = h->sizes[d] == operand->sizes[d];
  if (!same) {
    char has[160], wanted[160];
    rcrt_shape_text(h->rank, h->sizes, has, sizeof has);
    rcrt_shape_text(operand->rank, operand->sizes, wanted, sizeof wanted);
    snprintf(text, RCRT_TEXT, "%s: shape %s, expected %s for %s", path, has, wanted, what);
    return false;
  }
  if (h->fortran) {
    snprintf(text, RCRT_TEXT, "%s: Fortran order, expected C order for %s", path, what);
    return false;
  }
  int64_t bytes;
  bool fits = rcrt_product(h->sizes, h->rank, &bytes) &&
              !__builtin_mul_overflow(bytes, rcrt_dtype_size(operand->dtype), &bytes);
  if (fits && size - h->data == bytes)
    return true;
  if (fits)
    snprintf(text, RCRT_TEXT, "%s: %" PRId64 " bytes of data, expected %" PRId64 " for %s", path, size - h->data, bytes,
             what);
  else
    snprintf(text, RCRT_TEXT, "%s: more elements than can be counted for %s", path, what);
  return false;
}

static bool map_file(rcrt_npy *file, const char *path, char *text) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a named pipe must not block */
  struct stat s;
  if (fd < 0 || fstat(fd, &s)) {
    snprintf(text, RCRT_TEXT, "%s: %s", path, strerror(errno));
    if (fd >= 0)
      close(fd);
    return false;
  }
  void *map = NULL;
  bool regular = S_ISREG(s.st_mode);
  if (regular && s.st_size > 0)
    map = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  int error = errno;
  close(fd);
  if (!regular)
    snprintf(text, RCRT_TEXT, "%s: %s, expected a .npy file", path, S_ISDIR(s.st_mode) ? "a folder" : "no plain file");
  else if (s.st_size == 0)
    snprintf(text, RCRT_TEXT, "%s: empty, expected a .npy file", path);
  else if (map == MAP_FAILED)
    snprintf(text, RCRT_TEXT, "%s: %s", path, strerror(error));
  if (!map || map == MAP_FAILED)
    return false;
  file->map = map;
  file->size = (size_t)s.st_size;
  return true;
}

bool rcrt_npy_open(rcrt_npy *file, const char *path, const ringconv_operand *operand, const char *what, char *text) {
  if (!map_file(file, path, text))
    return false;
  rcrt_npy_header header = {0};
  const char *why = rcrt_npy_parse(file->map, file->size, &header);
  if (why)
    snprintf(text, RCRT_TEXT, "%s: %s, for %s", path, why, what);
  if (why || !check_header(&header, (int64_t)file->size, path, operand, what, text)) {
    rcrt_npy_close(file);
    return false;
  }
  file->data = header.data;
  return true;
}

void rcrt_npy_read(const rcrt_npy *file, const ringconv_operand *operand, const int64_t *offsets, const int64_t *sizes,
                   void *data) {
  int64_t to[RCRT_MAX_RANK], from[RCRT_MAX_RANK], begin = 0, size = rcrt_dtype_size(operand->dtype);
  rcrt_dense_strides(operand->rank, sizes, to);
  rcrt_dense_strides(operand->rank, operand->sizes, from);
  for (int32_t d = 0; d < operand->rank; ++d)
    begin += offsets[d] * from[d];
  /* The source is only read. */
  rcrt_view source = {(char *)(uintptr_t)file->map + file->data + begin * size, from};
  rcrt_copy((rcrt_view){data, to}, source, size, operand->rank, sizes);
}

void rcrt_npy_close(rcrt_npy *file) {
  munmap((void *)(uintptr_t)file->map, file->size);
  file->map = NULL;
}
