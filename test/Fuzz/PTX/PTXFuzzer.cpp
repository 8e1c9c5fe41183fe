// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX into gpusim: the text is refused, or its kernels run or fault.
#include "Mutation.h"

#include <algorithm>
#include <cstring>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  gpusim::Random rng(size);
  gpusim::Tally tally;
  gpusim::runAll(std::string(data, data + size), rng, tally);
  return 0;
}

static size_t copyOut(const std::string &text, uint8_t *data, size_t maxSize) {
  const size_t size = std::min(text.size(), maxSize);
  memcpy(data, text.data(), size);
  return size;
}

/// Most changes are of tokens and lines: bytes alone rarely leave valid PTX.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  if (seed % 4 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  gpusim::Random rng(seed);
  const std::string text(data, data + size);
  return copyOut(gpusim::mutate(text, text, rng), data, maxSize);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *other, size_t otherSize,
                                            uint8_t *out, size_t maxSize, unsigned seed) {
  gpusim::Random rng(seed);
  return copyOut(gpusim::mutate({data, data + size}, {other, other + otherSize}, rng), out, maxSize);
}
