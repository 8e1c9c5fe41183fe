// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensor maps for bulk tensor copies, with the limits that cuda.h gives.
#include "Api.h"
#include "TensorMap.h"

#include <algorithm>
#include <cstring>

using namespace gpusim;

namespace {

/// Bytes by CUtensorMapDataType; formats of 4 and 6 bits are not simulated.
unsigned elementBytes(int type) {
  static const unsigned bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return type >= 0 && type < 13 ? bytes[type] : 0;
}

/// What both kinds of maps have in common.
CUresult encode(TensorMap &map, int type, unsigned rank, void *address, const unsigned long long *dims,
                const unsigned long long *strides, const unsigned *elementStrides, int interleave, int swizzle,
                int fill) {
  map = TensorMap();
  map.magic = TensorMap::rightMagic;
  map.elementBytes = elementBytes(type);
  NEED(rank >= 1 && rank <= 5 && dims && (strides || rank == 1) && elementStrides, CUDA_ERROR_INVALID_VALUE);
  NEED((uint64_t)address % 16 == 0 && address, CUDA_ERROR_INVALID_VALUE);
  NEED(interleave == 0 && map.elementBytes && swizzle <= 3, CUDA_ERROR_NOT_SUPPORTED);
  NEED(swizzle >= 0 && fill >= 0 && fill <= 1, CUDA_ERROR_INVALID_VALUE);
  map.rank = rank;
  map.swizzleBits = swizzle; // none, 32, 64, 128 bytes
  map.nanFill = fill;
  map.address = (uint64_t)address;
  for (unsigned d = 0; d < rank; ++d) {
    NEED(dims[d] >= 1 && dims[d] < 1ull << 32, CUDA_ERROR_INVALID_VALUE);
    NEED(d == 0 || (elementStrides[d] >= 1 && elementStrides[d] <= 8), CUDA_ERROR_INVALID_VALUE);
    map.dims[d] = dims[d];
    map.elementStrides[d] = d ? elementStrides[d] : 1;
  }
  for (unsigned d = 0; d + 1 < rank; ++d) {
    NEED(strides[d] % 16 == 0 && strides[d] < 1ull << 40, CUDA_ERROR_INVALID_VALUE);
    map.strides[d] = strides[d];
  }
  return CUDA_SUCCESS;
}

/// The innermost rows of a box: whole chunks, within the swizzle.
bool rowFits(const TensorMap &map) {
  const unsigned bytes = map.box[0] * map.elementBytes;
  return bytes % 16 == 0 && (!map.swizzleBits || bytes <= 16u << map.swizzleBits);
}

} // namespace

GPUSIM_EXPORT CUresult cuTensorMapEncodeTiled(CUtensorMap *out, int type, unsigned rank, void *address,
                                              const unsigned long long *dims, const unsigned long long *strides,
                                              const unsigned *box, const unsigned *elementStrides, int interleave,
                                              int swizzle, int, int fill) {
  NEED_INIT;
  NEED(out && box, CUDA_ERROR_INVALID_VALUE);
  TensorMap map;
  if (CUresult r = encode(map, type, rank, address, dims, strides, elementStrides, interleave, swizzle, fill))
    return r;
  for (unsigned d = 0; d < rank; ++d) {
    NEED(box[d] >= 1 && box[d] <= 256, CUDA_ERROR_INVALID_VALUE);
    map.box[d] = box[d];
  }
  NEED(rowFits(map), CUDA_ERROR_INVALID_VALUE);
  memcpy(out, &map, sizeof map);
  return CUDA_SUCCESS;
}

GPUSIM_EXPORT CUresult cuTensorMapEncodeIm2col(CUtensorMap *out, int type, unsigned rank, void *address,
                                               const unsigned long long *dims, const unsigned long long *strides,
                                               const int *lower, const int *upper, unsigned channels, unsigned pixels,
                                               const unsigned *elementStrides, int interleave, int swizzle, int,
                                               int fill) {
  NEED_INIT;
  NEED(out && lower && upper && rank >= 3, CUDA_ERROR_INVALID_VALUE);
  NEED(channels >= 1 && channels <= 256 && pixels >= 1 && pixels <= 1024, CUDA_ERROR_INVALID_VALUE);
  TensorMap map;
  if (CUresult r = encode(map, type, rank, address, dims, strides, elementStrides, interleave, swizzle, fill))
    return r;
  map.im2col = 1;
  map.box[0] = channels;
  map.box[1] = pixels;
  // 16, 8 or 5 bits for each corner, by the number of spatial dimensions.
  const int limit = rank == 3 ? 1 << 15 : rank == 4 ? 1 << 7 : 1 << 4;
  for (unsigned d = 0; d + 2 < rank; ++d) {
    NEED(std::min(lower[d], upper[d]) >= -limit && std::max(lower[d], upper[d]) < limit, CUDA_ERROR_INVALID_VALUE);
    map.lower[d] = lower[d];
    map.upper[d] = upper[d];
  }
  NEED(rowFits(map), CUDA_ERROR_INVALID_VALUE);
  memcpy(out, &map, sizeof map);
  return CUDA_SUCCESS;
}

GPUSIM_EXPORT CUresult cuTensorMapReplaceAddress(CUtensorMap *out, void *address) {
  NEED_INIT;
  NEED(out && address && (uint64_t)address % 16 == 0, CUDA_ERROR_INVALID_VALUE);
  TensorMap map;
  memcpy(&map, out, sizeof map);
  NEED(map.magic == TensorMap::rightMagic, CUDA_ERROR_INVALID_VALUE);
  map.address = (uint64_t)address;
  memcpy(out, &map, sizeof map);
  return CUDA_SUCCESS;
}
