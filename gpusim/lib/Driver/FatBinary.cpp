// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The container that fatbinary writes. fatbinary_section.h of the toolkit
// declares the wrapper; the layout of the entries was read off files that
// CUDA 13.0's fatbinary made, one with and one without compression.
#include "FatBinary.h"

#include <cstdint>
#include <cstring>

using namespace gpusim;

namespace {

struct Wrapper {
  uint32_t magic, version;
  const void *data;
  void *more;
};
struct Header {
  uint32_t magic;
  uint16_t version, headerSize;
  uint64_t size; ///< of all entries
};
struct Entry {
  uint16_t kind, version; ///< kind 1: PTX, 2: ELF
  uint32_t headerSize;
  uint64_t size;
  uint32_t compressedSize; ///< 0 if not compressed
  uint32_t optionsOffset;
  uint16_t minor, major;
  uint32_t arch;
};

constexpr uint32_t wrapperMagic = 0x466243b1, headerMagic = 0xba55ed50, elfMagic = 0x464c457f;

} // namespace

static CUresult fromFatBinary(const uint8_t *at, unsigned arch, std::string &ptx, std::string &why) {
  Header h;
  memcpy(&h, at, sizeof h);
  if (h.headerSize < sizeof h)
    return CUDA_ERROR_INVALID_IMAGE;
  const uint8_t *p = at + h.headerSize, *end = p + h.size;
  unsigned best = 0;
  bool compressed = false, tooNew = false;
  while (p + sizeof(Entry) <= end) {
    Entry e;
    memcpy(&e, p, sizeof e);
    if (e.headerSize < sizeof e || e.headerSize > (uint64_t)(end - p) || e.size > (uint64_t)(end - p) - e.headerSize)
      return CUDA_ERROR_INVALID_IMAGE;
    if (e.kind == 1) {
      if (e.compressedSize)
        compressed = true;
      else if (e.arch > arch)
        tooNew = true;
      else if (e.arch >= best) {
        best = e.arch;
        const char *text = (const char *)p + e.headerSize;
        ptx.assign(text, strnlen(text, e.size));
      }
    }
    p += e.headerSize + e.size;
  }
  if (best)
    return CUDA_SUCCESS;
  why = compressed ? "the fat binary's PTX is compressed: make it with "
                     "fatbinary --compress=false"
        : tooNew   ? "the fat binary has PTX for newer devices only"
                   : "the fat binary has no PTX";
  return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

CUresult gpusim::ptxFromImage(const void *image, unsigned arch, std::string &ptx, std::string &why) {
  uint32_t magic;
  memcpy(&magic, image, 4);
  if (magic == elfMagic) {
    why = "machine code cannot be simulated; the program should fall back to "
          "its PTX";
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  if (magic == wrapperMagic) {
    Wrapper w;
    memcpy(&w, image, sizeof w);
    image = w.data;
    memcpy(&magic, image, 4);
  }
  if (magic == headerMagic)
    return fromFatBinary((const uint8_t *)image, arch, ptx, why);
  ptx = (const char *)image;
  return CUDA_SUCCESS;
}
