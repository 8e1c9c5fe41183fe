/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "common/Npy.h"

#include "common/DType.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

bool rcrt_npy_open(rcrt_npy *file, const char *path, const ringconv_operand *operand, const char *what, char *text) {
  if (!rcrt_map_file(&file->map, path, "a .npy file", text))
    return false;
  rcrt_npy_header header = {0};
  const char *why = rcrt_npy_parse(file->map.data, file->map.size, &header);
  if (why)
    snprintf(text, RCRT_TEXT, "%s: %s, for %s", path, why, what);
  if (why || !check_header(&header, (int64_t)file->map.size, path, operand, what, text)) {
    rcrt_npy_close(file);
    return false;
  }
  file->data = header.data;
  return true;
}

void rcrt_npy_close(rcrt_npy *file) { rcrt_unmap_file(&file->map); }
