/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "common/Safetensors.h"

#include "common/DType.h"
#include "common/Npy.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors files are mapped as they are: little endian only"
#endif

enum { PREFIX = 8, MAX_NAME = 1024, MAX_NESTING = 8 };

bool rcrt_safetensors_open(rcrt_safetensors *file, const char *path, char *text) {
  *file = (rcrt_safetensors){.path = path};
  if (!rcrt_map_file(&file->map, path, "a safetensors file", text))
    return false;
  uint64_t header = 0;
  if (file->map.size >= PREFIX)
    memcpy(&header, file->map.data, PREFIX);
  if (header >= 2 && header <= file->map.size - PREFIX && file->map.data[PREFIX] == '{') {
    file->header = (size_t)header;
    return true;
  }
  snprintf(text, RCRT_TEXT, "%s: no safetensors file: its header does not fit into %zu bytes", path, file->map.size);
  rcrt_safetensors_close(file);
  return false;
}

void rcrt_safetensors_close(rcrt_safetensors *file) { rcrt_unmap_file(&file->map); }

/* ---- JSON, as far as the header uses it ---- */

typedef struct reader {
  const char *at, *end;
} reader;

static void skip_blanks(reader *r) {
  while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at)
    ++r->at;
}

static bool take(reader *r, char c) {
  skip_blanks(r);
  if (r->at >= r->end || *r->at != c)
    return false;
  ++r->at;
  return true;
}

static bool read_hex(reader *r, uint32_t *code) {
  *code = 0;
  for (int i = 0; i < 4; ++i, ++r->at) {
    const char *digits = "0123456789abcdef0123456789ABCDEF", *digit = NULL;
    if (r->at < r->end && *r->at)
      digit = strchr(digits, *r->at);
    if (!digit)
      return false;
    *code = *code << 4 | (uint32_t)((digit - digits) & 15);
  }
  return true;
}

/* A code point as UTF-8 at `out`; its number of bytes. */
static size_t encode(uint32_t c, char *out) {
  size_t bytes = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  for (size_t i = bytes; i-- > 1; c >>= 6)
    out[i] = (char)(0x80 | (c & 0x3f));
  out[0] = (char)(lead[bytes] | c);
  return bytes;
}

/* One character of a string, escapes undone; the bytes at `out`, 0: an error. */
static size_t read_character(reader *r, char *out) {
  char c = *r->at++;
  *out = c;
  if ((unsigned char)c < 0x20)
    return 0;
  if (c != '\\')
    return 1;
  if (r->at >= r->end)
    return 0;
  c = *r->at++;
  if (c != 'u') {
    const char *from = "\"\\/bfnrt", *to = "\"\\/\b\f\n\r\t", *found = c ? strchr(from, c) : NULL;
    *out = found ? to[found - from] : 0;
    return found != NULL;
  }
  uint32_t code, low;
  if (!read_hex(r, &code))
    return 0;
  if (code >= 0xd800 && code < 0xdc00) { /* half of a pair */
    if (r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u')
      return 0;
    r->at += 2;
    if (!read_hex(r, &low) || low < 0xdc00 || low > 0xdfff)
      return 0;
    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }
  return encode(code, out);
}

/* A string; one that is too long for `text` is read but comes out empty. */
static bool read_string(reader *r, char text[MAX_NAME]) {
  size_t length = 0;
  bool fits = true;
  if (!take(r, '"'))
    return false;
  while (r->at < r->end && *r->at != '"') {
    char bytes[4];
    size_t n = read_character(r, bytes);
    if (!n)
      return false;
    fits = fits && length + n < MAX_NAME;
    if (fits)
      memcpy(text + length, bytes, n);
    length += fits ? n : 0;
  }
  text[fits ? length : 0] = 0;
  return take(r, '"');
}

/* [1, 2, …]: at most `most` numbers that are not negative. */
static bool read_numbers(reader *r, int64_t *numbers, int most, int *count) {
  *count = 0;
  if (!take(r, '['))
    return false;
  if (take(r, ']'))
    return true;
  do {
    skip_blanks(r);
    int64_t value = 0;
    const char *begin = r->at;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; ++r->at)
      if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, *r->at - '0', &value))
        return false;
    if (r->at == begin || *count == most)
      return false;
    numbers[(*count)++] = value;
  } while (take(r, ','));
  return take(r, ']');
}

/* Any value but true, false and null, which headers do not have. */
static bool skip_value(reader *r, int nesting) {
  char text[MAX_NAME];
  skip_blanks(r);
  if (r->at >= r->end || nesting > MAX_NESTING)
    return false;
  char open = *r->at, close = open == '{' ? '}' : ']';
  if (open == '"')
    return read_string(r, text);
  if (open != '{' && open != '[') {
    const char *begin = r->at;
    while (r->at < r->end && *r->at && strchr("+-.0123456789eE", *r->at))
      ++r->at;
    return r->at > begin;
  }
  ++r->at;
  if (take(r, close))
    return true;
  do {
    if (open == '{' && (!read_string(r, text) || !take(r, ':')))
      return false;
    if (!skip_value(r, nesting + 1))
      return false;
  } while (take(r, ','));
  return take(r, close);
}

/* ---- Entries ---- */

typedef struct entry {
  char dtype[MAX_NAME];
  int rank, num_offsets;
  int64_t sizes[RCRT_MAX_RANK], offsets[2];
} entry;

static bool read_entry(reader *r, entry *e) {
  char key[MAX_NAME];
  *e = (entry){.rank = -1};
  if (!take(r, '{'))
    return false;
  do {
    if (!read_string(r, key) || !take(r, ':'))
      return false;
    bool ok = !strcmp(key, "dtype")          ? read_string(r, e->dtype)
              : !strcmp(key, "shape")        ? read_numbers(r, e->sizes, RCRT_MAX_RANK, &e->rank)
              : !strcmp(key, "data_offsets") ? read_numbers(r, e->offsets, 2, &e->num_offsets)
                                             : skip_value(r, 0);
    if (!ok)
      return false;
  } while (take(r, ','));
  return take(r, '}') && e->dtype[0] && e->rank >= 0 && e->num_offsets == 2;
}

/* 1: `e` is the entry of that name, 0: there is none, -1: the header is wrong. */
static int find_entry(const rcrt_safetensors *file, const char *name, entry *e) {
  reader r = {file->map.data + PREFIX, file->map.data + PREFIX + file->header};
  char key[MAX_NAME];
  if (!take(&r, '{'))
    return -1;
  if (take(&r, '}'))
    return 0;
  do {
    if (!read_string(&r, key) || !take(&r, ':'))
      return -1;
    if (!strcmp(key, name))
      return read_entry(&r, e) ? 1 : -1;
    if (!skip_value(&r, 0))
      return -1;
  } while (take(&r, ','));
  return take(&r, '}') ? 0 : -1;
}

static const char *dtype_word(int32_t dtype) {
  static const char *const words[] = {
      [RINGCONV_F64] = "F64", [RINGCONV_F32] = "F32", [RINGCONV_F16] = "F16", [RINGCONV_BF16] = "BF16",
      [RINGCONV_I8] = "I8",   [RINGCONV_I32] = "I32", [RINGCONV_I64] = "I64", [RINGCONV_I1] = "BOOL"};
  return words[dtype];
}

/* Whether the entry is the operand's tensor and lies in the file. */
static bool check_entry(const rcrt_safetensors *file, const entry *e, const ringconv_operand *operand,
                        const char *what, char *text) {
  if (strcmp(e->dtype, dtype_word(operand->dtype))) {
    snprintf(text, RCRT_TEXT, "%s: '%s' has dtype %.16s, expected %s for %s", file->path, operand->name, e->dtype,
             dtype_word(operand->dtype), what);
    return false;
  }
  if (e->rank != operand->rank || memcmp(e->sizes, operand->sizes, (size_t)e->rank * sizeof *e->sizes)) {
    char has[160], wanted[160];
    rcrt_shape_text(e->rank, e->sizes, has, sizeof has);
    rcrt_shape_text(operand->rank, operand->sizes, wanted, sizeof wanted);
    snprintf(text, RCRT_TEXT, "%s: '%s' has shape %s, expected %s for %s", file->path, operand->name, has, wanted,
             what);
    return false;
  }
  int64_t bytes, room = (int64_t)(file->map.size - PREFIX - file->header);
  bool counted = rcrt_product(e->sizes, e->rank, &bytes) &&
                 !__builtin_mul_overflow(bytes, rcrt_dtype_size(operand->dtype), &bytes);
  if (counted && e->offsets[0] <= e->offsets[1] && e->offsets[1] <= room && e->offsets[1] - e->offsets[0] == bytes)
    return true;
  snprintf(text, RCRT_TEXT, "%s: '%s' lies at bytes %" PRId64 " to %" PRId64 " of %" PRId64 ", which cannot be", file->path,
           operand->name, e->offsets[0], e->offsets[1], room);
  return false;
}

const void *rcrt_safetensors_find(const rcrt_safetensors *file, const ringconv_operand *operand, const char *what,
                                  char *text) {
  if (!operand->name || !*operand->name) {
    snprintf(text, RCRT_TEXT, "%s: %s has no name to look for", file->path, what);
    return NULL;
  }
  entry e;
  int found = find_entry(file, operand->name, &e);
  if (found < 0)
    snprintf(text, RCRT_TEXT, "%s: no safetensors file: its header is no JSON of tensors", file->path);
  else if (!found)
    snprintf(text, RCRT_TEXT, "%s: no tensor is called '%s', for %s", file->path, operand->name, what);
  if (found <= 0 || !check_entry(file, &e, operand, what, text))
    return NULL;
  return file->map.data + PREFIX + file->header + e.offsets[0];
}
