// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What cuTensorMapEncode* packs and bulk tensor copies unpack. The layout is
// gpusim's own; only its size is that of a CUtensorMap.
#ifndef GPUSIM_PTX_TENSORMAP_H
#define GPUSIM_PTX_TENSORMAP_H

#include <cstdint>

namespace gpusim {

struct TensorMap {
  static constexpr uint32_t rightMagic = 0x70616d67;
  uint32_t magic;
  uint8_t elementBytes, rank;
  uint8_t im2col;      ///< 0: tiles
  uint8_t swizzleBits; ///< chunks of 16 bytes change places in 16 << bits
  uint64_t address;
  uint64_t strides[4]; ///< bytes, of all dimensions but the innermost
  uint32_t dims[5];    ///< elements, innermost first
  /// Elements of a box in each dimension; of im2col [0] channels and [1] pixels.
  uint16_t box[5];
  uint8_t elementStrides[5];
  uint8_t nanFill;
  /// Of im2col: the first pixels of the bounding box, and what its ends are
  /// beyond those of the tensor; width first.
  int16_t lower[3], upper[3];
  uint8_t unused[32];
};
static_assert(sizeof(TensorMap) == 128, "the size of a CUtensorMap");

} // namespace gpusim

#endif // GPUSIM_PTX_TENSORMAP_H
