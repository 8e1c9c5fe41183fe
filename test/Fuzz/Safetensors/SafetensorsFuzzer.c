/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Files of parameters: refused with a reason, or the tensor can be read whole. */
#include "Fuzz.h"
#include "common/Safetensors.h"

static void find(const rcrt_safetensors *file) {
  static const int64_t sizes[] = {2, 3};
  for (int32_t rank = 0; rank <= 2; ++rank) {
    ringconv_operand operand = {"w", RINGCONV_F32, rank, sizes, NULL, RINGCONV_PARAMETER};
    char text[RCRT_TEXT] = "";
    const char *tensor = rcrt_safetensors_find(file, &operand, "input 1 (w)", text);
    if (tensor)
      fuzz_read(tensor, rank == 0 ? 4 : rank == 1 ? 8 : 24, file->map.data, file->map.size);
    else
      expect(strncmp(text, file->path, strlen(file->path)) == 0);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  char path[FUZZ_PATH], text[RCRT_TEXT] = "";
  int descriptor = fuzz_file(data, size, path);
  rcrt_safetensors file;
  if (!rcrt_safetensors_open(&file, path, text)) {
    close(descriptor);
    return expect(strncmp(text, path, strlen(path)) == 0);
  }
  /* Once more as it lies in memory, where a byte beyond it is seen. */
  char *bytes = fuzz_copy(data, size);
  find(&(rcrt_safetensors){{bytes, size}, path, file.header});
  free(bytes);
  find(&file);
  rcrt_safetensors_close(&file);
  close(descriptor);
  return 0;
}

/* The length before the header fits it, but for one change in eight: others are
 * refused by their first bytes. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  size = LLVMFuzzerMutate(data, size, most);
  uint8_t *end = size > 8 ? memchr(data + 8, 0, size - 8) : NULL; /* where the data begin */
  uint64_t header = size > 8 ? (uint64_t)((end ? end : data + size) - data - 8) : 0;
  if (header && seed % 8)
    memcpy(data, &header, sizeof header);
  return size;
}
