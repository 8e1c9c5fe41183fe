/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The header of a .npy file is a Python dictionary. Only what NumPy writes is
 * read: three keys in any order, plain strings, one tuple of numbers. Nothing
 * is evaluated. */
#include "common/Npy.h"

#include "common/DType.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct reader {
  const char *at, *end;
} reader;

static void skip_space(reader *r) {
  while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t'))
    ++r->at;
}

static bool accept(reader *r, const char *word) {
  skip_space(r);
  size_t length = strlen(word);
  if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length))
    return false;
  r->at += length;
  return true;
}

static bool read_string(reader *r, char *text, size_t size) {
  skip_space(r);
  if (r->at == r->end || (*r->at != '\'' && *r->at != '"'))
    return false;
  char quote = *r->at++;
  size_t length = 0;
  for (; r->at < r->end && *r->at != quote; ++r->at) {
    if (length + 1 >= size || (unsigned char)*r->at < ' ' || *r->at == '\\')
      return false;
    text[length++] = *r->at;
  }
  text[length] = 0;
  return r->at++ < r->end;
}

static bool read_number(reader *r, int64_t *number) {
  skip_space(r);
  const char *begin = r->at;
  for (*number = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9'; ++r->at)
    if (__builtin_mul_overflow(*number, 10, number) || __builtin_add_overflow(*number, *r->at - '0', number))
      return false;
  return r->at > begin;
}

static const char *read_shape(reader *r, rcrt_npy_header *header) {
  header->rank = 0;
  if (!accept(r, "("))
    return "no tuple as its shape";
  while (!accept(r, ")")) {
    if (header->rank == RCRT_MAX_RANK)
      return "too many dimensions";
    if (!read_number(r, &header->sizes[header->rank++]))
      return "no number as a size of its shape";
    if (!accept(r, ",") && !(accept(r, ")") && r->at--))
      return "no end of its shape";
  }
  return NULL;
}

static const char *read_entry(reader *r, rcrt_npy_header *header, unsigned *seen) {
  char key[32];
  if (!read_string(r, key, sizeof key) || !accept(r, ":"))
    return "no key in its header";
  if (!strcmp(key, "descr")) {
    *seen |= 1;
    return read_string(r, header->descr, sizeof header->descr) ? NULL : "no simple dtype";
  }
  if (!strcmp(key, "fortran_order")) {
    *seen |= 2;
    header->fortran = accept(r, "True");
    return header->fortran || accept(r, "False") ? NULL : "no True or False for fortran_order";
  }
  if (!strcmp(key, "shape")) {
    *seen |= 4;
    return read_shape(r, header);
  }
  return "an unknown key in its header";
}

const char *rcrt_npy_parse(const char *bytes, size_t size, rcrt_npy_header *header) {
  const unsigned char *u = (const unsigned char *)bytes;
  if (size < 10 || memcmp(bytes, "\x93NUMPY", 6))
    return "not a .npy file";
  if (u[6] < 1 || u[6] > 3)
    return "a .npy version other than 1 to 3";
  size_t begin = u[6] == 1 ? 10 : 12;
  if (size < begin)
    return "ends in its header";
  size_t length = u[6] == 1 ? (size_t)u[8] | (size_t)u[9] << 8
                            : (size_t)u[8] | (size_t)u[9] << 8 | (size_t)u[10] << 16 | (size_t)u[11] << 24;
  if (length > size - begin)
    return "ends in its header";
  reader r = {bytes + begin, bytes + begin + length};
  unsigned seen = 0;
  if (!accept(&r, "{"))
    return "no dictionary as its header";
  while (!accept(&r, "}")) {
    const char *why = read_entry(&r, header, &seen);
    if (why)
      return why;
    if (!accept(&r, ",") && !(accept(&r, "}") && r.at--))
      return "no end of its header";
  }
  if (seen != 7)
    return "no descr, fortran_order or shape in its header";
  header->data = (int64_t)(begin + length);
  return NULL;
}

size_t rcrt_npy_header_text(const ringconv_operand *operand, char *text) {
  char dict[RCRT_NPY_HEADER - 64];
  size_t n = (size_t)snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (",
                              rcrt_dtype_npy(operand->dtype));
  for (int32_t d = 0; d < operand->rank; ++d)
    n += (size_t)snprintf(dict + n, sizeof dict - n, d ? ", %" PRId64 : "%" PRId64, operand->sizes[d]);
  n += (size_t)snprintf(dict + n, sizeof dict - n, operand->rank == 1 ? ",), }" : "), }");
  size_t total = (10 + n + 1 + 63) / 64 * 64; /* data on a multiple of 64, as NumPy does */
  memcpy(text, "\x93NUMPY\x01\x00", 8);
  text[8] = (char)((total - 10) & 255);
  text[9] = (char)((total - 10) >> 8);
  memcpy(text + 10, dict, n);
  memset(text + 10 + n, ' ', total - 10 - n);
  text[total - 1] = '\n';
  return total;
}
