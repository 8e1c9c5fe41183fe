/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * .npy files: refused with a reason, or every element that the header promises
 * can be read. */
#include "Fuzz.h"
#include "common/DType.h"
#include "common/Npy.h"

static const int32_t dtypes[] = {RINGCONV_F64, RINGCONV_F32, RINGCONV_F16, RINGCONV_BF16, RINGCONV_I8, RINGCONV_I64};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  /* The parser alone, where a byte beyond the header is seen. */
  rcrt_npy_header header;
  char *bytes = fuzz_copy(data, size);
  const char *why = rcrt_npy_parse(bytes, size, &header);
  free(bytes);
  if (why)
    return expect(*why);
  expect(header.rank >= 0 && header.rank <= RCRT_MAX_RANK && header.data >= 10 && (size_t)header.data <= size);
  expect(memchr(header.descr, 0, sizeof header.descr) != NULL);
  char path[FUZZ_PATH];
  int file = fuzz_file(data, size, path);
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; ++i) {
    ringconv_operand operand = {"x", dtypes[i], (int32_t)header.rank, header.sizes, NULL, 0};
    rcrt_npy npy;
    char text[RCRT_TEXT] = "";
    if (!rcrt_npy_open(&npy, path, &operand, "input 0 (x)", text)) {
      expect(strncmp(text, path, strlen(path)) == 0 && !strchr(text, '\n'));
      continue;
    }
    int64_t elements;
    expect(rcrt_product(header.sizes, header.rank, &elements));
    fuzz_read(rcrt_npy_data(&npy), (size_t)elements * (size_t)rcrt_dtype_size(dtypes[i]), npy.map.data, npy.map.size);
    rcrt_npy_close(&npy);
  }
  close(file);
  return 0;
}
