/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "common/DType.h"

#include <math.h>
#include <string.h>

static const struct {
  const char *name, *npy;
  int8_t size;
  bool is_float;
} types[] = {
    [RINGCONV_F64] = {"f64", "<f8", 8, true},  [RINGCONV_F32] = {"f32", "<f4", 4, true},
    [RINGCONV_F16] = {"f16", "<f2", 2, true},  [RINGCONV_BF16] = {"bf16", "<u2", 2, true},
    [RINGCONV_I8] = {"i8", "|i1", 1, false},   [RINGCONV_I32] = {"i32", "<i4", 4, false},
    [RINGCONV_I64] = {"i64", "<i8", 8, false}, [RINGCONV_I1] = {"i1", "|b1", 1, false},
};

bool rcrt_dtype_valid(int32_t dtype) { return dtype >= 0 && dtype < (int32_t)(sizeof types / sizeof *types); }
bool rcrt_dtype_is_float(int32_t dtype) { return types[dtype].is_float; }
int64_t rcrt_dtype_size(int32_t dtype) { return types[dtype].size; }
const char *rcrt_dtype_name(int32_t dtype) { return rcrt_dtype_valid(dtype) ? types[dtype].name : "?"; }
const char *rcrt_dtype_npy(int32_t dtype) { return types[dtype].npy; }

static double from_bits(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint64_t to_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* A float of `mantissa` stored bits and a bias; all small types are subsets of
 * double, so that widening is exact, denormals included. */
static double widen(uint32_t bits, int mantissa, int exponent_bits) {
  int bias = (1 << (exponent_bits - 1)) - 1;
  uint32_t top = (1u << exponent_bits) - 1;
  uint32_t fraction = bits & ((1u << mantissa) - 1);
  uint32_t exponent = (bits >> mantissa) & top;
  uint64_t sign = (uint64_t)(bits >> (mantissa + exponent_bits) & 1) << 63;
  if (exponent == top)
    return from_bits(sign | UINT64_C(0x7ff) << 52 | (uint64_t)fraction << (52 - mantissa));
  double magnitude = exponent ? ldexp(fraction + (1u << mantissa), (int)exponent - bias - mantissa)
                              : ldexp(fraction, 1 - bias - mantissa);
  return sign ? -magnitude : magnitude;
}

/* Rounds once, from the double's own bits: going through float would round
 * twice and break ties wrongly. */
static uint16_t narrow(double value, int mantissa, int exponent_bits) {
  int bias = (1 << (exponent_bits - 1)) - 1;
  uint32_t top = (1u << exponent_bits) - 1;
  uint64_t bits = to_bits(value);
  uint16_t sign = (uint16_t)(bits >> 63 << 15);
  uint64_t magnitude = bits & ~(UINT64_C(1) << 63);
  if (magnitude > UINT64_C(0x7ff) << 52) /* NaN, made quiet, its upper payload kept */
    return (uint16_t)(sign | top << mantissa | 1u << (mantissa - 1) |
                      ((magnitude >> (52 - mantissa)) & ((1u << mantissa) - 1)));
  int exponent = (int)(magnitude >> 52) - 1023 + bias;
  if (exponent >= (int)top)
    return (uint16_t)(sign | top << mantissa);
  uint64_t fraction = (magnitude & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
  int shift = 52 - mantissa;
  if (exponent <= 0) { /* denormal: the point moves, the leading one is stored */
    shift += 1 - exponent;
    exponent = 0;
    if (shift > 60)
      return sign;
  } else {
    fraction &= (UINT64_C(1) << 52) - 1;
  }
  uint64_t kept = fraction >> shift, rest = fraction & ((UINT64_C(1) << shift) - 1), half = UINT64_C(1) << (shift - 1);
  kept += rest > half || (rest == half && (kept & 1));
  /* A carry out of the fraction moves into the exponent, up to infinity. */
  return (uint16_t)(sign | (((uint32_t)exponent << mantissa) + (uint32_t)kept));
}

double rcrt_f16_to_double(uint16_t bits) { return widen(bits, 10, 5); }
uint16_t rcrt_double_to_f16(double value) { return narrow(value, 10, 5); }
double rcrt_bf16_to_double(uint16_t bits) { return widen(bits, 7, 8); }
uint16_t rcrt_double_to_bf16(double value) { return narrow(value, 7, 8); }

double rcrt_load(int32_t dtype, const void *data, int64_t index) {
  switch (dtype) {
  case RINGCONV_F64:
    return ((const double *)data)[index];
  case RINGCONV_F32:
    return ((const float *)data)[index];
  case RINGCONV_F16:
    return rcrt_f16_to_double(((const uint16_t *)data)[index]);
  case RINGCONV_BF16:
    return rcrt_bf16_to_double(((const uint16_t *)data)[index]);
  case RINGCONV_I8:
    return ((const int8_t *)data)[index];
  case RINGCONV_I32:
    return ((const int32_t *)data)[index];
  case RINGCONV_I64:
    return (double)((const int64_t *)data)[index];
  default:
    return ((const uint8_t *)data)[index];
  }
}

void rcrt_store(int32_t dtype, void *data, int64_t index, double value) {
  switch (dtype) {
  case RINGCONV_F64:
    ((double *)data)[index] = value;
    return;
  case RINGCONV_F32:
    ((float *)data)[index] = (float)value;
    return;
  case RINGCONV_F16:
    ((uint16_t *)data)[index] = rcrt_double_to_f16(value);
    return;
  case RINGCONV_BF16:
    ((uint16_t *)data)[index] = rcrt_double_to_bf16(value);
    return;
  case RINGCONV_I8:
    ((int8_t *)data)[index] = (int8_t)value;
    return;
  case RINGCONV_I32:
    ((int32_t *)data)[index] = (int32_t)value;
    return;
  case RINGCONV_I64:
    ((int64_t *)data)[index] = (int64_t)value;
    return;
  default:
    ((uint8_t *)data)[index] = value != 0;
    return;
  }
}
