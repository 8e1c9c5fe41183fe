/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "common/Fill.h"

#include "common/Copy.h"
#include "common/DType.h"

/* The finaliser of SplitMix64 (Steele, Lea, Flood 2014): each input bit changes
 * each output bit with probability near one half. */
static uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
  return x ^ x >> 31;
}

/* k / 2^(bits - 1) - 1 for a random k of `bits` bits: exact in every type with
 * a significand of that many bits. */
static double unit(uint64_t hash, int bits) {
  return (double)(hash >> (64 - bits)) / (double)(UINT64_C(1) << (bits - 1)) - 1.0;
}

static void store(int32_t dtype, void *data, int64_t at, uint64_t hash) {
  switch (dtype) {
  case RINGCONV_F64:
    ((double *)data)[at] = unit(hash, 53);
    return;
  case RINGCONV_F32:
    ((float *)data)[at] = (float)unit(hash, 24);
    return;
  case RINGCONV_F16:
    rcrt_store(dtype, data, at, unit(hash, 11));
    return;
  case RINGCONV_BF16:
    rcrt_store(dtype, data, at, unit(hash, 8));
    return;
  case RINGCONV_I1:
    ((uint8_t *)data)[at] = (uint8_t)(hash >> 63);
    return;
  default:
    rcrt_store(dtype, data, at, (double)((int64_t)((hash >> 32) * 9 >> 32) - 4));
    return;
  }
}

void rcrt_fill(const ringconv_operand *operand, int64_t argument, uint64_t seed, const int64_t *offsets,
               const int64_t *sizes, void *data) {
  int64_t elements, strides[RCRT_MAX_RANK], index[RCRT_MAX_RANK] = {0}, linear = 0;
  int64_t rank = operand->rank;
  if (!rcrt_product(sizes, rank, &elements) || elements == 0)
    return;
  rcrt_dense_strides(rank, operand->sizes, strides);
  for (int64_t d = 0; d < rank; ++d)
    linear += offsets[d] * strides[d];
  uint64_t base = mix(mix(seed + UINT64_C(0x9e3779b97f4a7c15)) ^ (uint64_t)argument * UINT64_C(0xd1342543de82ef95));
  for (int64_t at = 0; at < elements; ++at) {
    store(operand->dtype, data, at, mix(base + (uint64_t)linear * UINT64_C(0x9e3779b97f4a7c15)));
    for (int64_t d = rank - 1; d >= 0; --d) {
      linear += strides[d];
      if (++index[d] < sizes[d])
        break;
      linear -= sizes[d] * strides[d];
      index[d] = 0;
    }
  }
}
